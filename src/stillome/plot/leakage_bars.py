"""R² of every probe before and after adjustment, beside its null distribution."""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from stillome.cohort.confound_coding import in_words
from stillome.cohort.validation import check_share
from stillome.evaluate.words import number, p_value
from stillome.exceptions import InputError
from stillome.methods.method_words import method_name
from stillome.methods.registry import METHODS
from stillome.plot.drawn_tables import check_columns
from stillome.plot.palette import Look, method_looks
from stillome.plot.style import INK, house_style

_COLUMNS = ("r2", "p_holm", "null_95")
_SPARE = ("p", "*", "d", "8")
_NULL = "#dcdcdc"
_SIZE = 5.5
# R² has no lower bound; how far it lies below 0 is of no interest.
_FLOOR = -0.1


class _Row(NamedTuple):
    """One probe on one set of features: its place in the figure, and its results."""

    place: float
    label: str
    r2: float
    p_holm: float
    null_95: float


def plot_leakage(
    certificates: Mapping[str, pd.DataFrame],
    *,
    level: float = 0.05,
    others: Sequence[str] = (),
) -> Figure:
    """Draw the R² of every probe that predicts motion from several sets of features.

    Parameters
    ----------
    certificates : mapping of str to pandas.DataFrame
        The table of a `LeakageCertificate` by the name of what was probed, in the order in which
        they are drawn. A name that begins with that of a method ("edgewise z") has its colour.
        Each is indexed by probe, with ``r2``, ``p_holm`` and ``null_95``; probes may differ.
    level : float, default=0.05
        A probe detects motion where its corrected p-value is at most this; its marker is filled.
    others : sequence of str
        Confounds that were probed besides motion (site, scanner), named in the labels.

    Returns
    -------
    matplotlib.figure.Figure
        7 inches wide; its height depends on the number of rows. The grey band ends at the 95th
        percentile of permuted motion. R² below −0.1 stands at −0.1, with an arrow.

    Examples
    --------
    >>> raw = pd.DataFrame({"r2": [0.6], "p_holm": [0.002], "null_95": [0.02]}, index=["ridge"])
    >>> ours = pd.DataFrame({"r2": [-0.01], "p_holm": [0.8], "null_95": [0.02]}, index=["ridge"])
    >>> figure = plot_leakage({"raw": raw, "inv-fa": ours})
    >>> [tick.get_text() for tick in figure.axes[0].get_yticklabels()]
    ['ridge']
    """
    level = check_share(level, "level")
    _check(certificates)
    rows, probes = _rows(certificates)
    with house_style():
        figure = Figure(figsize=(7, 1.6 + 0.17 * (len(rows) + len(probes))))
        axes = figure.subplots()
        _draw_null(axes, rows)
        _draw_scores(axes, rows, list(certificates), level)
        _write_numbers(axes, rows)
        axes.set_yticks(list(probes.values()), list(probes))
        axes.tick_params(axis="y", length=0)
        axes.set_ylim(rows[-1].place + 0.8, -0.8)
        axes.spines["left"].set_visible(False)
        sought = in_words(others, "and")
        axes.set_xlabel(f"R² of {sought} predicted in held-out subjects")
        _explain(figure, list(certificates), level, others)
    return figure


def _check(certificates: Mapping[str, pd.DataFrame]) -> None:
    if not certificates:
        raise InputError("certificates: none given; there is nothing to draw. Pass at least one.")
    for label, table in certificates.items():
        check_columns(
            table, f"certificates: {label!r}", _COLUMNS, "the table of a leakage certificate"
        )


def _rows(certificates: Mapping[str, pd.DataFrame]) -> tuple[list[_Row], dict[str, float]]:
    """Place rows from above, by probe and then by label; also the middle of every probe."""
    names = dict.fromkeys(str(name) for table in certificates.values() for name in table.index)
    rows: list[_Row] = []
    probes: dict[str, float] = {}
    for name in names:
        start = rows[-1].place + 2 if rows else 0.0
        having = {label: t.loc[name] for label, t in certificates.items() if name in t.index}
        for offset, (label, found) in enumerate(having.items()):
            rows.append(_Row(start + offset, label, *(float(found[key]) for key in _COLUMNS)))
        probes[name] = start + (len(having) - 1) / 2
    return rows, probes


def _draw_null(axes: Axes, rows: list[_Row]) -> None:
    scores = np.array([row.r2 for row in rows])
    nulls = np.array([row.null_95 for row in rows])
    lowest = max(np.nanmin([*scores, *nulls, 0]), _FLOOR) - 0.04
    axes.barh(
        [row.place for row in rows],
        np.nan_to_num(nulls, nan=lowest) - lowest,
        left=lowest,
        height=1.0,
        color=_NULL,
    )
    axes.axvline(0, color=INK, linewidth=0.8)
    axes.set_xlim(lowest, max(np.nanmax([*scores, *nulls]), 0.1) * 1.06)


def _draw_scores(axes: Axes, rows: list[_Row], labels: list[str], level: float) -> None:
    looks = _looks(labels)
    for row in rows:
        colour, marker = looks[row.label]
        shown = max(row.r2, _FLOOR) if np.isfinite(row.r2) else np.nan
        axes.plot([0, shown], [row.place] * 2, color=colour, linewidth=0.8, zorder=2)
        axes.plot(
            [shown],
            [row.place],
            color=colour,
            marker=marker,
            markersize=_SIZE,
            markerfacecolor=colour if row.p_holm <= level else "white",
            linestyle="",
        )
        if row.r2 < _FLOOR:
            axes.plot([_FLOOR - 0.025], [row.place], color=colour, marker="<", markersize=3)


def _looks(labels: list[str]) -> dict[str, Look]:
    """Give "edgewise z" the look of edgewise, with another marker where that is taken."""
    methods = {label: _method(label) for label in labels}
    of_method = method_looks(methods.values())
    looks: dict[str, Look] = {}
    for label, method in methods.items():
        look = of_method[method]
        taken = {other.marker for other in looks.values()}
        if look in looks.values():
            spare = next((marker for marker in _SPARE if marker not in taken), _SPARE[0])
            look = look._replace(marker=spare)
        looks[label] = look
    return looks


def _method(label: str) -> str:
    known = [name for name in ("raw", *METHODS) if re.match(rf"{re.escape(name)}\b", label)]
    return max(known, key=len, default=label)


def _write_numbers(axes: Axes, rows: list[_Row]) -> None:
    """Write R² and p beside every row, also where an arrow replaces the marker."""
    across = axes.get_yaxis_transform()
    columns = ((1.08, "R²"), (1.21, "p (Holm)"))
    for x, head in columns:
        axes.text(x, -1.1, head, transform=across, ha="right", va="center", fontsize=8)
    for row in rows:
        for (x, _), text in zip(columns, (number(row.r2), p_value(row.p_holm)), strict=True):
            axes.text(x, row.place, text, transform=across, ha="right", va="center", fontsize=7)


def _explain(figure: Figure, labels: list[str], level: float, others: Sequence[str]) -> None:
    figure.legend(
        handles=[
            *(_key(method_name(label), *look) for label, look in _looks(labels).items()),
            Patch(color=_NULL, label=f"95 % of permuted {in_words(others, 'and')}"),
            _key(f"filled: {in_words(others)} detected (p ≤ {level:g})", INK, "o"),
            _key("open: not detected", INK, "o", fill="white"),
            _key(f"below {number(_FLOOR)}", INK, "<", size=3),
        ],
        loc="outside upper left",
        ncols=3 if max(map(len, [*labels, in_words(others)])) <= 24 else 2,
    )


def _key(
    label: str, colour: str, marker: str, *, fill: str | None = None, size: float = _SIZE
) -> Line2D:
    return Line2D(
        [],
        [],
        color=colour,
        marker=marker,
        markerfacecolor=fill or colour,
        markersize=size,
        linestyle="",
        label=label,
    )
