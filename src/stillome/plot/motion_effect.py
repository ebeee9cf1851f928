"""Effects of motion on a cohort in one figure: motion, changed edges, fibre totals, QC–SC."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from stillome.evaluate.motion_effects import MotionEffects
from stillome.plot.fibre_totals import draw_totals
from stillome.plot.matrices import draw_difference
from stillome.plot.motion_histogram import draw_motion_histogram
from stillome.plot.style import GREY, INK, MAIN, house_style

_DIFFERENCE_LABEL = "fibres: mean of large-motion group − mean of small-motion group"


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

    Examples
    --------
    >>> from stillome import simulate_cohort
    >>> from stillome.evaluate import describe_motion_effects
    >>> cohort = simulate_cohort(40, "thinning", random_state=0).cohort
    >>> figure = plot_motion_effects(describe_motion_effects(cohort, "rms_mm"))
    >>> sorted(axes.get_title(loc="left")[:1] for axes in figure.axes[:4])
    ['A', 'B', 'C', 'D']
    """
    with house_style():
        figure = Figure(figsize=(11, 7))
        # Sub-figures, so that the colour bar under the matrix takes no room from the right side.
        grid = figure.add_gridspec(1, 2, width_ratios=[1.6, 1])
        left, right = figure.add_subfigure(grid[0]), figure.add_subfigure(grid[1])
        motion, totals, qcsc = right.subplots(3, 1)
        matrix = left.subplots()
        draw_difference(matrix, effects.difference, effects.regions, _DIFFERENCE_LABEL)
        matrix.set_title("A  Change of every edge")
        draw_motion_histogram(motion, effects.motion, effects.groups, effects.column)
        motion.set_title("B  Distribution of motion")
        _draw_totals(totals, effects)
        _draw_qcsc(qcsc, effects)
    return figure


def _draw_totals(axes: Axes, effects: MotionEffects) -> None:
    draw_totals(axes, {"raw": effects}, "fibres")
    axes.set_title(f"C  Fibres per subject: {effects.share_lost:.0%} lost")


def _draw_qcsc(axes: Axes, effects: MotionEffects) -> None:
    qcsc = effects.qcsc
    axes.set_title(f"D  QC–SC: median |r| = {qcsc.median_absolute:.2f}")
    axes.set_ylabel("r with motion")
    varying = ~np.isnan(qcsc.correlations)
    if qcsc.lengths is None or not (varying & (qcsc.lengths > 0)).any():
        axes.hist(qcsc.correlations[varying], bins=40, color=MAIN)
        axes.set(xlabel="r with motion", ylabel="edges")
        return
    known = varying & (qcsc.lengths > 0)
    lengths, correlations = qcsc.lengths[known], qcsc.correlations[known]
    axes.scatter(lengths, correlations, s=4, color=MAIN, alpha=0.25, linewidths=0, rasterized=True)
    axes.axhline(0, color=GREY, linewidth=0.8)
    order = np.array_split(np.argsort(lengths), min(12, len(lengths)))
    axes.plot(
        [np.median(lengths[part]) for part in order],
        [np.median(correlations[part]) for part in order],
        color=INK,
        linewidth=1.6,
        label="running median",
    )
    axes.legend(loc="lower right")
    axes.set_xlabel("fibre length (mm)")
