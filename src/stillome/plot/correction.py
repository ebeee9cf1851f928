"""Change of fibre counts by an adjustment, at small and at large motion."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator
from numpy.typing import ArrayLike

from stillome.arrays import Floats
from stillome.cohort.edges import matrices_to_edges
from stillome.cohort.motion_groups import MotionGroups
from stillome.cohort.validation import check_connectomes
from stillome.exceptions import InputError
from stillome.plot.labels import signed
from stillome.plot.style import GREY, LARGE_MOTION, SMALL_MOTION, house_style

_BINS_PER_SIDE = 24
_FEWEST_FIBRES = 3.0  # counts whose largest change is below this are weights, or hardly change


def plot_correction(
    raw: ArrayLike,
    adjusted: ArrayLike,
    groups: MotionGroups,
    *,
    title: str = "Correction",
    measure: str = "fibres",
) -> Figure:
    """Draw histograms of adjusted − raw over all edges of the subjects of both groups.

    An adjustment for motion should change the large-motion group more than the small-motion group.

    Parameters
    ----------
    raw, adjusted : array-like of shape (n, V, V) or (n, E)
        Fibre counts of the same subjects.
    groups : MotionGroups
        Of `Cohort.motion_groups`; positions refer to the rows of `raw`.
    title : str, default="Correction"
    measure : str, default="fibres"
        What an edge counts.

    Returns
    -------
    matplotlib.figure.Figure
        6.5 × 3.4 inches. Changes on a scale that is linear between −1 and +1 fibre (for small
        weights, a thousandth of the largest change) and logarithmic beyond; the share of edges is
        logarithmic too, for large corrections are rare.

    Examples
    --------
    >>> groups = MotionGroups(np.array([0]), np.array([1]), 0.1, 0.9)
    >>> figure = plot_correction([[5, 3, 9], [5, 3, 9]], [[5, 3, 9], [9, 4, 12]], groups)
    >>> figure.axes[0].get_xlabel()
    'change of an edge (fibres, adjusted − raw)'
    """
    before = matrices_to_edges(check_connectomes(raw, name="raw"), check=False)
    after = matrices_to_edges(check_connectomes(adjusted, name="adjusted"), check=False)
    if before.shape != after.shape:
        raise InputError(
            f"adjusted: {after.shape} subjects and edges, raw {before.shape}; give the same."
        )
    parts = [after[members] - before[members].astype(float) for members in groups[:2]]
    largest = max(float(np.abs(part).max()) for part in parts)
    # Counts change by whole fibres; weights may be small, and have no unit of their own.
    unit = 1.0 if largest >= _FEWEST_FIBRES or not largest else _power_below(largest / 1000)
    bins = unit * _bins(largest / unit)
    with house_style():
        figure = Figure(figsize=(6.5, 3.4))
        axes = figure.subplots()
        _draw_group(axes, parts[0], bins, SMALL_MOTION, "small motion", "--")
        _draw_group(axes, parts[1], bins, LARGE_MOTION, "large motion", "-")
        axes.axvline(0, color=GREY, linewidth=0.8, zorder=0)
        axes.set_xscale("symlog", linthresh=unit)
        lowest, highest = min(map(np.min, parts)), max(map(np.max, parts))
        reach = 10.0 * unit
        axes.set_xlim(1.2 * min(lowest, -reach), 1.2 * max(highest, reach))
        ticks = [unit * tick for tick in _ticks(largest / unit)]
        axes.xaxis.set_major_locator(FixedLocator(ticks))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter(FuncFormatter(signed))
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.10g}"))
        axes.set_ylim(top=150)
        axes.set(xlabel=f"change of an edge ({measure}, adjusted − raw)", ylabel="edges (%)")
        axes.set_title(title)
        figure.legend(loc="outside lower center", ncols=1)
    return figure


def _bins(largest: float) -> Floats:
    """Return edges of bins: about equally wide as drawn, between whole numbers, one around 0."""
    outer = np.geomspace(0.5, max(largest, 10.0) * 1.05, _BINS_PER_SIDE + 1)
    outer = np.unique(np.floor(outer) + 0.5)
    return np.r_[-outer[::-1], outer]


def _power_below(value: float) -> float:
    return float(10.0 ** np.floor(np.log10(value)))


def _ticks(largest: float) -> list[float]:
    powers = 10.0 ** np.arange(np.floor(np.log10(max(largest, 10.0))) + 1)
    powers = powers[:: 1 if len(powers) <= 5 else 2]
    return [*(-powers[::-1]), 0.0, *powers]


def _draw_group(
    axes: Axes, change: Floats, bins: Floats, colour: str, name: str, line: str
) -> None:
    percent = 100 * np.histogram(change, bins)[0] / change.size
    mean = signed(float(f"{change.mean():.3g}"))
    label = f"{name} (n = {len(change)}): {mean} per edge on average"
    axes.stairs(percent, bins, color=colour, fill=True, alpha=0.25)
    axes.stairs(percent, bins, color=colour, linestyle=line, linewidth=1.5, label=label)
