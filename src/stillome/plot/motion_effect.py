"""One figure of what motion does to a cohort: who moved, which edges changed, how much is lost."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import SymLogNorm
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator
from numpy.typing import NDArray

from stillome.evaluate.motion_effects import MotionEffects
from stillome.plot.style import (
    DIFFERENCE,
    GREY,
    INK,
    LARGE_MOTION,
    MAIN,
    SMALL_MOTION,
    house_style,
)

LOBES = ("frontal", "insula", "parietal", "temporal", "occipital")
_UNITS = {"mm": "mm", "rad": "rad", "deg": "°"}


def plot_motion_effects(effects: MotionEffects) -> Figure:
    """Draw the difference matrix, the motion, the fibre totals and QC–SC of one cohort.

    Parameters
    ----------
    effects : MotionEffects
        Regions are ordered by hemisphere and lobe where these are known.

    Returns
    -------
    matplotlib.figure.Figure
        11 × 7 inches, four panels.
    """
    with house_style():
        figure = Figure(figsize=(11, 7))
        # Sub-figures, so that the colour bar under the matrix leaves the right side its room.
        grid = figure.add_gridspec(1, 2, width_ratios=[1.6, 1])
        left, right = figure.add_subfigure(grid[0]), figure.add_subfigure(grid[1])
        motion, totals, qcsc = right.subplots(3, 1)
        _draw_difference(left.subplots(), effects)
        _draw_motion(motion, effects)
        _draw_totals(totals, effects)
        _draw_qcsc(qcsc, effects)
    return figure


def region_order(regions: pd.DataFrame) -> NDArray[np.intp]:
    """Return the order of regions by hemisphere, then lobe; as they stand where unknown.

    Examples
    --------
    >>> table = pd.DataFrame({"hemisphere": ["R", "L", "L"], "lobe": ["frontal"] * 2 + ["insula"]})
    >>> region_order(table).tolist()
    [1, 2, 0]
    """
    if not {"hemisphere", "lobe"} <= set(regions.columns):
        return np.arange(len(regions))
    places = {lobe: place for place, lobe in enumerate(LOBES)}
    keys = pd.DataFrame(
        {
            "hemisphere": regions["hemisphere"].astype(str),
            "known": regions["lobe"].map(places).fillna(len(places)),
            "lobe": regions["lobe"].astype(str),
        }
    )
    return keys.sort_values(["hemisphere", "known", "lobe"], kind="stable").index.to_numpy()


def _draw_difference(axes: Axes, effects: MotionEffects) -> None:
    order = region_order(effects.regions)
    matrix = effects.difference[np.ix_(order, order)].copy()
    np.fill_diagonal(matrix, np.nan)
    largest = float(np.nanmax(np.abs(matrix))) or 1.0
    # Counts span orders of magnitude; below a hundredth of the largest change all is pale.
    norm = SymLogNorm(linthresh=largest / 100, vmin=-largest, vmax=largest, base=10)
    image = axes.imshow(matrix, cmap=DIFFERENCE, norm=norm, interpolation="nearest")
    bar = axes.figure.colorbar(image, ax=axes, shrink=0.7, aspect=35, pad=0.01, location="bottom")
    ticks = [sign * _round_down(largest * part) for part in (1, 0.1, 0.01) for sign in (-1, 1)]
    bar.ax.xaxis.set_major_locator(FixedLocator(sorted([*ticks, 0])))
    bar.ax.xaxis.set_minor_locator(NullLocator())
    bar.ax.xaxis.set_major_formatter(FuncFormatter(_signed))
    bar.set_label("fibres: mean of large-motion group − mean of small-motion group")
    bar.outline.set_visible(False)
    axes.set_title("A  Change of every edge")
    axes.set(xticks=[], yticks=[])
    axes.spines[:].set_visible(False)
    if {"hemisphere", "lobe"} <= set(effects.regions.columns):
        _mark_lobes(axes, effects.regions.iloc[order])


def _signed(value: float, _: int | None = None) -> str:
    """Write a tick with its sign: −1,000, 0, +0.5."""
    return f"{value:+,.10g}".replace("-", "−") if value else "0"


def _round_down(value: float) -> float:
    """Return 1, 2 or 5 times a power of ten, at most `value`."""
    power = 10.0 ** np.floor(np.log10(value))
    return float(max(step for step in (1, 2, 5) if step * power <= value * (1 + 1e-9)) * power)


def _mark_lobes(axes: Axes, regions: pd.DataFrame) -> None:
    """Draw lines between hemispheres and lobes, and name them along one side."""
    lobes = (regions["hemisphere"].astype(str) + " " + regions["lobe"].astype(str)).to_numpy()
    starts = np.flatnonzero(np.r_[True, lobes[1:] != lobes[:-1]])
    ends = np.r_[starts[1:], len(lobes)]
    for start in starts[1:]:
        other_hemisphere = lobes[start].split(" ")[0] != lobes[start - 1].split(" ")[0]
        for line in (axes.axhline, axes.axvline):
            line(start - 0.5, color=INK, linewidth=1.2 if other_hemisphere else 0.3)
    axes.set_yticks((starts + ends - 1) / 2, lobes[starts])
    axes.tick_params(axis="y", length=0)


def _draw_motion(axes: Axes, effects: MotionEffects) -> None:
    groups = effects.groups
    bins = np.histogram_bin_edges(effects.motion, bins=40).tolist()
    axes.hist(effects.motion, bins=bins, color="#c4c4c4")
    share = len(groups.small) / len(effects.motion)
    for cutoff, colour, line, name, members in (
        (groups.low_cutoff, SMALL_MOTION, "--", "small", groups.small),
        (groups.high_cutoff, LARGE_MOTION, "-", "large", groups.large),
    ):
        axes.hist(effects.motion[members], bins=bins, color=colour)
        axes.axvline(
            cutoff,
            color=colour,
            linestyle=line,
            linewidth=1.5,
            label=f"{name} motion: {'below' if name == 'small' else 'above'} {cutoff:.2f}",
        )
    axes.legend(
        loc="upper right", title=f"{share:.0%} at each end", alignment="left", title_fontsize=8
    )
    axes.set_title("B  Who moved")
    axes.set(xlabel=_motion_label(effects.column), ylabel="subjects")


def _draw_totals(axes: Axes, effects: MotionEffects) -> None:
    totals = effects.totals
    axes.errorbar(
        totals["group"],
        totals["fibres_mean"] / 1000,
        yerr=1.96 * totals["fibres_se"] / 1000,
        color=MAIN,
        marker="o",
        markersize=4,
        linewidth=1.2,
        capsize=2,
    )
    axes.set_ylim(bottom=0)
    axes.set_xticks(totals["group"])
    axes.set_title(f"C  Fibres per subject: {effects.share_lost:.0%} lost")
    axes.set(xlabel="group by motion, 1 = least (mean, 95 % interval)", ylabel="thousand fibres")


def _draw_qcsc(axes: Axes, effects: MotionEffects) -> None:
    qcsc = effects.qcsc
    axes.set_title(f"D  QC–SC: median |r| = {qcsc.median_absolute:.2f}")
    axes.set_ylabel("r with motion")
    if qcsc.lengths is None:
        axes.hist(qcsc.correlations[~np.isnan(qcsc.correlations)], bins=40, color=MAIN)
        axes.set(xlabel="r with motion", ylabel="edges")
        return
    known = (qcsc.lengths > 0) & ~np.isnan(qcsc.correlations)
    lengths, correlations = qcsc.lengths[known], qcsc.correlations[known]
    axes.scatter(lengths, correlations, s=4, color=MAIN, alpha=0.25, linewidths=0, rasterized=True)
    axes.axhline(0, color=GREY, linewidth=0.8)
    order = np.array_split(np.argsort(lengths), 12)
    axes.plot(
        [np.median(lengths[part]) for part in order],
        [np.median(correlations[part]) for part in order],
        color=INK,
        linewidth=1.6,
        label="running median",
    )
    axes.legend(loc="lower right")
    axes.set_xlabel("fibre length (mm)")


def _motion_label(column: str) -> str:
    """Read the unit off the column's name: ``rms_mm`` is rms motion in mm."""
    name, _, unit = column.rpartition("_")
    return f"motion: {name} ({_UNITS[unit]})" if name and unit in _UNITS else f"motion: {column}"
