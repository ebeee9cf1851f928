"""Trait prediction of each method over the folds of a comparison."""

import textwrap

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from stillome.exceptions import InputError
from stillome.methods.method_words import method_name
from stillome.plot.palette import Look, method_looks
from stillome.plot.style import GREY, INK, house_style

_COLUMNS = ("method", "trait", "r_mean", "r_sd", "r_min", "r_max")
_MOST_COLUMNS = 4


def plot_trait_prediction(summary: pd.DataFrame) -> Figure:
    """Draw the correlation of predicted and observed traits per method: mean, sd, min and max.

    Parameters
    ----------
    summary : pandas.DataFrame
        As `ComparisonResult.summary`: one row per method and trait with ``r_mean``, ``r_sd``,
        ``r_min`` and ``r_max`` over folds. A method without ``r_mean`` is shown as failed.

    Returns
    -------
    matplotlib.figure.Figure
        One panel per trait, all on one axis; methods in one order and with one look everywhere.

    Examples
    --------
    >>> table = pd.DataFrame(
    ...     {"method": ["gate", "inv-fa"], "trait": "IQ", "r_mean": [0.2, 0.3]}
    ... ).assign(r_sd=0.05, r_min=0.1, r_max=0.4)
    >>> figure = plot_trait_prediction(table)
    >>> [tick.get_text() for tick in figure.axes[0].get_yticklabels()]
    ['inv-FA', 'GATE']
    """
    _check_summary(summary)
    looks = method_looks(summary["method"].astype(str))
    traits = list(dict.fromkeys(summary["trait"].astype(str)))
    n_columns = min(len(traits), _MOST_COLUMNS)
    n_rows = -(-len(traits) // n_columns)
    width = 4.2 if n_columns == 1 else 2.4 * n_columns
    height = n_rows * (0.75 + 0.26 * len(looks)) + 0.6
    with house_style():
        figure = Figure(figsize=(width + 1.6, max(2.2, height)))
        grid = figure.subplots(n_rows, n_columns, squeeze=False, sharex=True, sharey=True)
        for axes, trait in zip(grid.flat, traits, strict=False):
            rows = summary[summary["trait"].astype(str) == trait]
            _draw_trait(axes, rows.set_index(rows["method"].astype(str)), looks)
            axes.set_title("\n".join(textwrap.wrap(_cut(trait, 48), 26)), fontsize=9)
        for axes in grid.flat[len(traits) :]:
            axes.set_visible(False)
        for column in range(n_columns):
            # Above an empty place at the end of the grid, the panel keeps its tick labels.
            last = grid[(len(traits) - 1 - column) // n_columns, column]
            last.tick_params(axis="x", labelbottom=True)
        figure.supxlabel(
            "r of observed and predicted: mean (marker), ± sd (thick), min to max (thin)",
            fontsize=9,
        )
    return figure


def _check_summary(summary: pd.DataFrame) -> None:
    if not isinstance(summary, pd.DataFrame) or not set(_COLUMNS) <= set(summary.columns):
        have = list(summary.columns) if isinstance(summary, pd.DataFrame) else type(summary)
        raise InputError(
            f"summary: {have}; expected a table with {', '.join(_COLUMNS)}, as "
            "compare_methods(...).summary."
        )
    if not len(summary):
        raise InputError("summary: an empty table; compare at least one method on one trait.")
    if summary.duplicated(["method", "trait"]).any():
        raise InputError("summary: a method occurs twice for one trait; give one row for each.")


def _draw_trait(axes: Axes, rows: pd.DataFrame, looks: dict[str, Look]) -> None:
    axes.axvline(0, color=GREY, linewidth=0.8, zorder=0)
    for place, (method, look) in enumerate(looks.items()):
        if method not in rows.index:
            continue
        row = rows.loc[method]
        if not np.isfinite(row["r_mean"]):
            axes.text(0, place, " failed", color=INK, fontsize=7, va="center", style="italic")
            continue
        spread = 0.0 if np.isnan(row["r_sd"]) else row["r_sd"]
        middle = [row["r_mean"] - spread, row["r_mean"] + spread]
        axes.plot([row["r_min"], row["r_max"]], [place, place], color=look.colour, linewidth=1)
        axes.plot(
            middle, [place, place], color=look.colour, alpha=0.4, linewidth=6, solid_capstyle="butt"
        )
        axes.plot(row["r_mean"], place, marker=look.marker, markersize=5.5, color=look.colour)
    axes.set_yticks(range(len(looks)), [_cut(method_name(method), 28) for method in looks])
    axes.set_ylim(len(looks) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    axes.locator_params(axis="x", nbins=4)


def _cut(name: str, longest: int) -> str:
    """Shorten a name in its middle: names of one study differ at their ends."""
    if len(name) <= longest:
        return name
    half = (longest - 1) // 2
    return f"{name[:half]}…{name[-half:]}"
