"""Distribution of motion, with the groups of small and large motion."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from stillome.arrays import Floats
from stillome.cohort.motion_groups import MotionGroups
from stillome.cohort.validation import as_floats
from stillome.exceptions import InputError
from stillome.plot.labels import motion_label
from stillome.plot.style import LARGE_MOTION, SMALL_MOTION, house_style


def plot_motion_histogram(
    motion: ArrayLike, groups: MotionGroups, *, measure: str = "rms_mm"
) -> Figure:
    """Draw the distribution of motion, with the two groups and their cut-offs.

    Parameters
    ----------
    motion : array-like of shape (n,)
        One motion measure; NaN is unknown and left out.
    groups : MotionGroups
        Of `Cohort.motion_groups`; positions refer to `motion`.
    measure : str, default="rms_mm"
        The measure's column name, from which the unit is read.

    Returns
    -------
    matplotlib.figure.Figure
        6 × 3.2 inches.

    Examples
    --------
    >>> groups = MotionGroups(np.array([0]), np.array([3]), 0.12, 0.75)
    >>> figure = plot_motion_histogram([0.1, 0.2, 0.4, 0.9], groups)
    >>> [float(line.get_xdata()[0]) for line in figure.axes[0].lines]
    [0.12, 0.75]
    """
    values = check_motion(motion)
    with house_style():
        figure = Figure(figsize=(6, 3.2))
        axes = figure.subplots()
        draw_motion_histogram(axes, values, groups, measure)
        axes.set_title("Distribution of motion")
    return figure


def check_motion(motion: ArrayLike, n_subjects: int | None = None) -> Floats:
    """Return one value per subject as (n,) floats; NaN is unknown.

    Examples
    --------
    >>> check_motion([0.1, None]).tolist()
    [0.1, nan]
    """
    values = as_floats(motion, "motion")
    if values.ndim != 1 or not np.isfinite(values).any():
        raise InputError(
            f"motion: shape {values.shape} with {np.isfinite(values).sum()} known values; "
            "expected (n,), one value per subject."
        )
    if n_subjects is not None and len(values) != n_subjects:
        raise InputError(
            f"motion: {len(values)} values for {n_subjects} subjects. Give one for each."
        )
    values[np.isinf(values)] = np.nan
    return values


def draw_motion_histogram(axes: Axes, motion: Floats, groups: MotionGroups, measure: str) -> None:
    """Draw the histogram into axes; see `plot_motion_histogram`."""
    known = motion[~np.isnan(motion)]
    bins = np.histogram_bin_edges(known, bins=40).tolist()
    axes.hist(known, bins=bins, color="#c4c4c4")
    for cutoff, colour, line, words, members in (
        (groups.low_cutoff, SMALL_MOTION, "--", "small motion: up to", groups.small),
        (groups.high_cutoff, LARGE_MOTION, "-", "large motion: from", groups.large),
    ):
        axes.hist(motion[members], bins=bins, color=colour)
        label = f"{words} {cutoff:.2g} (n = {len(members)})"
        axes.axvline(cutoff, color=colour, linestyle=line, linewidth=1.5, label=label)
    axes.legend(loc="upper right")
    axes.set(xlabel=motion_label(measure), ylabel="subjects")
