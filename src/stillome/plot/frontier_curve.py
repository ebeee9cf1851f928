"""What more invariance costs: leakage, fit and trait prediction of held-out subjects."""

from typing import NamedTuple

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import ScalarFormatter

from stillome.evaluate.invariance_frontier import best_leakage, smallest_passing
from stillome.exceptions import InputError
from stillome.plot.drawn_tables import check_columns
from stillome.plot.style import GREY, LARGE_MOTION, MAIN, house_style

_NEEDED = ("weight", "worst_r2", "passed", "log_likelihood")


class _Panel(NamedTuple):
    """A column of the table, and the least span of its axis: smaller differences look flat."""

    column: str
    title: str
    unit: str
    least_span: float


_PANELS = (
    _Panel("worst_r2", "Invariance: leakage", "largest R² of any probe", 0.1),
    _Panel("log_likelihood", "Fidelity", "log-likelihood (nats per subject)", 2.0),
    _Panel("trait_r", "Traits", "mean r of predicted and observed", 0.1),
)


def plot_frontier(frontier: pd.DataFrame, *, chosen: float | None = None) -> Figure:
    """Draw leakage, log-likelihood and trait prediction against the invariance weight.

    Parameters
    ----------
    frontier : pandas.DataFrame
        The ``table`` of `choose_invariance_weight`: one row per weight with ``weight``,
        ``worst_r2``, ``passed``, ``log_likelihood`` and, where known, ``trait_r`` and ``n_test``.
    chosen : float, optional
        The weight that was used; by default the one the rule chooses: the smallest that passes
        or, where none does, the smallest within one standard error of the best.

    Returns
    -------
    matplotlib.figure.Figure
        One panel each, without that of the traits where none was predicted. A vertical line
        marks the chosen weight; open markers are weights that pass the certificate. Where none
        does, a band shows what is within one standard error of the best.

    Examples
    --------
    >>> table = pd.DataFrame(
    ...     {
    ...         "weight": [0.0, 0.5, 1.0],
    ...         "worst_r2": [0.3, 0.01, 0.0],
    ...         "passed": [False, True, True],
    ...         "log_likelihood": [-5600.0, -5604.0, -5611.0],
    ...     }
    ... )
    >>> plot_frontier(table).get_suptitle()
    'Chosen weight: 0.5, the smallest that passes'
    """
    table = _checked(frontier)
    ruled = _ruled(table)
    rule = "that passes" if table["passed"].any() else "within one standard error of the best"
    if chosen is None and ruled is None:
        raise InputError(
            "frontier: no weight passes and there is no column 'n_test' to choose one by; "
            "give chosen=."
        )
    weight = ruled if chosen is None else float(chosen)
    panels = [p for p in _PANELS if p.column in table and table[p.column].notna().any()]
    with house_style():
        figure = Figure(figsize=(3.1 * len(panels) + 0.4, 3.4))
        figure.suptitle(
            f"Chosen weight: {weight:g}" + (f", the smallest {rule}" if weight == ruled else ""),
            fontsize=10,
            x=0.01,
            ha="left",
        )
        row = figure.subplots(1, len(panels), squeeze=False)[0]
        for letter, axes, panel in zip("ABC", row, panels, strict=False):
            chosen_line = axes.axvline(
                weight, color=LARGE_MOTION, linestyle="--", zorder=1, label="chosen weight"
            )
            _draw(axes, table, panel)
            axes.set_title(f"{letter}  {panel.title}")
        _explain(row[0], table, chosen_line)
    return figure


def _checked(frontier: pd.DataFrame) -> pd.DataFrame:
    advice = "the table of choose_invariance_weight"
    check_columns(frontier, "frontier", _NEEDED, advice)
    return frontier.assign(passed=frontier["passed"].astype(bool)).sort_values("weight")


def _ruled(table: pd.DataFrame) -> float | None:
    """Return what the rule chooses, where the columns allow to tell."""
    return smallest_passing(table) if table["passed"].any() or "n_test" in table else None


def _draw(axes: Axes, table: pd.DataFrame, panel: _Panel) -> None:
    weights, values = table["weight"].to_numpy(), table[panel.column].to_numpy(dtype=float)
    axes.plot(weights, values, color=MAIN, linewidth=1.2)
    for passed, fill in ((False, MAIN), (True, "white")):
        own = table["passed"].to_numpy() == passed
        axes.plot(
            weights[own],
            values[own],
            color=MAIN,
            marker="o",
            markersize=6,
            markerfacecolor=fill,
            linestyle="",
            gid="passed" if passed else "failed",
        )
    known = values[np.isfinite(values)]
    middle = (known.min() + known.max()) / 2
    half = max(np.ptp(known), panel.least_span) * 0.6
    axes.set_ylim(middle - half, middle + half)
    axes.set_xticks(weights)
    axes.set(xlabel="invariance weight", ylabel=panel.unit)
    axes.yaxis.set_major_formatter(ScalarFormatter(useOffset=False))


def _explain(axes: Axes, table: pd.DataFrame, chosen_line: Line2D) -> None:
    """Say what markers mean and, where nothing passes, how far the best is uncertain."""
    handles: list[Artist] = [chosen_line]
    for fill, label in (("white", "passes"), (MAIN, "motion is read")):
        handles.append(
            Line2D([], [], color=MAIN, marker="o", linestyle="", markerfacecolor=fill, label=label)
        )
    if not table["passed"].any() and "n_test" in table:
        best = best_leakage(table)
        band = axes.axhspan(best.r2, best.high, color=GREY, alpha=0.25, linewidth=0, zorder=0)
        band.set_label("within one standard error of the best")
        axes.set_ylim(top=max(axes.get_ylim()[1], best.high + 0.1 * (best.high - best.r2)))
        handles.append(band)
    axes.figure.legend(handles=handles, loc="outside lower left", ncols=4)
