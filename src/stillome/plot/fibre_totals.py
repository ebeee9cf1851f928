"""Motion of a cohort, and fibres per subject by groups of growing motion."""

from collections.abc import Mapping

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from stillome.evaluate.motion_effects import MotionEffects
from stillome.exceptions import InputError
from stillome.plot.motion_histogram import draw_motion_histogram
from stillome.plot.style import GREY, MAIN, house_style

_LOOKS = ((GREY, "o", "--"), (MAIN, "D", "-"))
_MANY = 10_000  # from this total on, the axis is in thousands


def plot_fibre_totals(records: Mapping[str, MotionEffects], *, measure: str = "fibres") -> Figure:
    """Draw the distribution of motion, and fibres per subject by motion, before and after.

    Parameters
    ----------
    records : mapping of str to MotionEffects
        One or two, of the same subjects, by title ("as scanned", "adjusted").
    measure : str, default="fibres"
        What an edge counts.

    Returns
    -------
    matplotlib.figure.Figure
        9.5 × 3.4 inches, two panels.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from stillome.cohort.cohort import Cohort
    >>> from stillome.evaluate.motion_effects import describe_motion_effects
    >>> counts = np.zeros((8, 2, 2), dtype=int)
    >>> counts[:, 0, 1] = counts[:, 1, 0] = np.arange(80, 0, -10)
    >>> motion = pd.DataFrame({"rms_mm": np.arange(8) / 10})
    >>> cohort = Cohort([f"{i}" for i in range(8)], counts, motion=motion)
    >>> effects = describe_motion_effects(cohort, "rms_mm", n_groups=4)
    >>> plot_fibre_totals({"as scanned": effects}).axes[1].get_ylabel()
    'fibres per subject'
    """
    if not 1 <= len(records) <= len(_LOOKS):
        raise InputError(f"records: {len(records)} given; expected one or two.")
    effects = next(iter(records.values()))
    with house_style():
        figure = Figure(figsize=(9.5, 3.4))
        motion, totals = figure.subplots(1, 2)
        draw_motion_histogram(motion, effects.motion, effects.groups, effects.column)
        motion.set_title("A  Distribution of motion")
        draw_totals(totals, records, measure)
        totals.set_title(f"B  {measure.capitalize()} per subject")
        totals.legend(loc="lower left")
    return figure


def draw_totals(axes: Axes, records: Mapping[str, MotionEffects], measure: str) -> None:
    """Draw totals by groups of growing motion into axes, with 95 % intervals of the means."""
    largest = max(float(record.totals["fibres_mean"].max()) for record in records.values())
    unit = 1000 if largest >= _MANY else 1
    for (title, record), (colour, marker, line) in zip(records.items(), _LOOKS, strict=False):
        totals = record.totals
        axes.errorbar(
            totals["group"],
            totals["fibres_mean"] / unit,
            yerr=1.96 * totals["fibres_se"] / unit,
            color=colour,
            marker=marker,
            linestyle=line,
            markersize=4,
            linewidth=1.2,
            capsize=2,
            label=title,
        )
    axes.set_ylim(bottom=0)
    axes.set_xticks(next(iter(records.values())).totals["group"])
    axes.set_xlabel("group by motion, 1 = least (mean, 95 % interval)")
    axes.set_ylabel(f"{'thousand ' if unit == 1000 else ''}{measure} per subject")
