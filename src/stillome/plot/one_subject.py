"""One subject before and after adjustment: both matrices, their difference, every edge."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import SymLogNorm
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullLocator
from numpy.typing import ArrayLike

from stillome.arrays import Floats
from stillome.cohort.edges import matrices_to_edges
from stillome.exceptions import InputError
from stillome.plot.labels import signed
from stillome.plot.matrices import MEANS, draw_difference
from stillome.plot.region_order import check_matrix, check_regions, mark_lobes, region_order
from stillome.plot.style import GREY, INK, MAIN, house_style

_MATRIX_INCHES = 3.4
_LONGEST_TICK = 6


def plot_subject(
    raw: ArrayLike,
    adjusted: ArrayLike,
    regions: pd.DataFrame | None = None,
    *,
    name: str = "",
    measure: str = "fibres",
) -> Figure:
    """Draw one subject's connectome as observed and as adjusted.

    Parameters
    ----------
    raw, adjusted : array-like of shape (V, V)
        Both matrices have one colour scale.
    regions : pandas.DataFrame, optional
        One row per region; ordered by ``hemisphere`` and ``lobe`` where these are known.
    name : str, default=""
        Title of the figure: the subject, its motion.
    measure : str, default="fibres"
        What an edge counts.

    Returns
    -------
    matplotlib.figure.Figure
        9.5 × 8.6 inches, four panels.

    Examples
    --------
    >>> figure = plot_subject([[0, 40], [40, 0]], [[0, 50], [50, 0]], name="sub-01")
    >>> figure.axes[1].get_title(loc="left")
    'B  Adjusted: 50 fibres (+25 %)'
    """
    before, after = check_matrix(raw, "raw"), check_matrix(adjusted, "adjusted")
    if before.shape != after.shape:
        raise InputError(
            f"adjusted: {len(after)} regions, but raw has {len(before)}; give the same subject."
        )
    table = check_regions(regions, len(before))
    with house_style():
        figure = Figure(figsize=(9.5, 8.6))
        figure.suptitle(name, x=0.01, ha="left", fontsize=11)
        (first, second), (third, fourth) = figure.subplots(2, 2)
        norm = _count_norm(before, after)
        for axes, matrix in ((first, before), (second, after)):
            _draw_counts(axes, matrix, table, norm)
        second.set_yticks([])  # the same rows as beside it
        bar = figure.colorbar(
            first.images[0], ax=[first, second], location="right", shrink=0.8, aspect=30
        )
        _plain_ticks(bar.ax, norm)
        bar.set_label(f"{measure} per edge")
        bar.outline.set_visible(False)
        _write_totals(first, second, before, after, measure)
        draw_difference(third, after - before, table, f"{measure}: adjusted − raw")
        third.set_title("C  Change")
        _thin_ticks(figure.axes[-1])
        _draw_edges(fourth, before, after, norm, measure)
    return figure


def _count_norm(before: Floats, after: Floats) -> SymLogNorm:
    edges = matrices_to_edges(np.stack([before, after]), check=False)
    largest = float(edges.max()) if edges.max() > 0 else 1.0
    # Linear below one fibre (or a thousandth of the largest), so that zero can be drawn.
    return SymLogNorm(linthresh=min(1.0, largest / 1000), vmin=0, vmax=largest, base=10)


def _draw_counts(axes: Axes, matrix: Floats, regions: pd.DataFrame, norm: SymLogNorm) -> None:
    order = region_order(regions)
    shown = matrix[np.ix_(order, order)].copy()
    np.fill_diagonal(shown, np.nan)
    axes.imshow(shown, cmap=MEANS, norm=norm, interpolation="nearest")
    axes.set(xticks=[], yticks=[])
    axes.spines[:].set_visible(False)
    mark_lobes(axes, regions.iloc[order], side_inches=_MATRIX_INCHES)


def _plain_ticks(axes: Axes, norm: SymLogNorm) -> None:
    """Put 0 and the powers of ten on the axis of a colour bar, written as plain numbers."""
    axes.set_yticks(_powers(norm))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))


def _thin_ticks(axes: Axes) -> None:
    """Leave the ends and the middle of a colour bar where longer numbers would touch."""
    axes.tick_params(labelsize=7)
    ticks = axes.get_xticks()
    if max(len(signed(tick)) for tick in ticks) > _LONGEST_TICK:
        axes.set_xticks(ticks[[0, len(ticks) // 2, -1]])


def _powers(norm: SymLogNorm) -> list[float]:
    lowest = int(np.ceil(np.log10(norm.linthresh) - 1e-9))
    highest = int(np.floor(np.log10(float(norm.vmax or 1)) + 1e-9))
    step = 1 if highest - lowest < 6 else 2
    return [0.0, *(10.0**power for power in range(lowest, highest + 1, step))]


def _write_totals(first: Axes, second: Axes, before: Floats, after: Floats, measure: str) -> None:
    totals = [float(np.triu(matrix, k=1).sum()) for matrix in (before, after)]
    written = [f"{total:,.0f}" if total >= 100 else f"{total:.3g}" for total in totals]
    change = f" ({signed(round(100 * (totals[1] / totals[0] - 1)))} %)" if totals[0] > 0 else ""
    first.set_title(f"A  Raw: {written[0]} {measure}")
    second.set_title(f"B  Adjusted: {written[1]} {measure}{change}")


def _draw_edges(axes: Axes, before: Floats, after: Floats, norm: SymLogNorm, measure: str) -> None:
    x, y = matrices_to_edges(np.stack([before, after]), check=False)
    for scale in (axes.set_xscale, axes.set_yscale):
        scale("symlog", linthresh=norm.linthresh)
    low, high = min(0.0, x.min(), y.min()), float(norm.vmax or 1) * 1.5
    axes.plot([low, high], [low, high], color=GREY, linewidth=0.8, label="no change")
    axes.scatter(
        x, y, s=6 if len(x) > 200 else 20, color=MAIN, alpha=0.35, linewidths=0, rasterized=True
    )
    margin = norm.linthresh * 0.3
    axes.set(xlim=(low - margin, high), ylim=(low - margin, high), aspect="equal")
    for axis, tick in ((axes.xaxis, axes.set_xticks), (axes.yaxis, axes.set_yticks)):
        tick(_powers(norm))
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    axes.set(xlabel=f"raw ({measure})", ylabel=f"adjusted ({measure})")
    axes.set_title("D  Every edge")
    axes.legend(loc="upper left", labelcolor=INK)
