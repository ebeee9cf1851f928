"""Distances between subjects' latents, within and between levels of motion."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from numpy.typing import ArrayLike, NDArray

from stillome.arrays import Floats
from stillome.exceptions import InputError
from stillome.plot.labels import measure_label, spread
from stillome.plot.matrices import MEANS
from stillome.plot.motion_histogram import check_motion
from stillome.plot.region_order import check_matrix
from stillome.plot.style import INK, house_style

_MOST_LEVELS = 8
_SIDE_INCHES = 4.6


def plot_distances(
    distances: ArrayLike,
    motion: ArrayLike,
    *,
    measure: str = "motion",
    label: str = "KL divergence (nats)",
) -> Figure:
    """Draw the distances between all pairs of subjects, ordered by motion, and their block means.

    If latents are free of motion, blocks off the diagonal look like those on it.

    Parameters
    ----------
    distances : array-like of shape (n, n)
        Not negative; the diagonal is ignored. KL of the posteriors, or any other distance.
    motion : array-like of shape (n,)
        The level of motion of each subject. Where it has more than eight different values,
        subjects are parted into fifths.
    measure : str, default="motion"
        Its column name, from which the unit is read.
    label : str, default="KL divergence (nats)"
        What the colours mean.

    Returns
    -------
    matplotlib.figure.Figure
        Left the matrix, right the mean of every block.

    Examples
    --------
    >>> distances = np.abs(np.subtract.outer(range(4), range(4)))
    >>> figure = plot_distances(distances, [0, 0, 1, 1])
    >>> [text.get_text() for text in figure.axes[1].texts]
    ['1', '2', '2', '1']
    """
    matrix = check_matrix(distances, "distances")
    np.fill_diagonal(matrix, np.nan)
    if np.nanmin(matrix) < 0:
        raise InputError("distances: a negative value; distances and divergences are ≥ 0.")
    moved = check_motion(motion, len(matrix))
    if np.isnan(moved).any():
        raise InputError("motion: unknown for some subjects; leave these out of the distances.")
    levels, names = _levels(moved)
    order = np.lexsort((moved, levels))
    means = _block_means(matrix, levels, len(names))
    # The top colour is the 99th percentile, so that an outlier does not set the scale.
    norm = Normalize(0, float(np.nanpercentile(matrix, 99)) or 1.0)
    with house_style():
        figure = Figure(figsize=(2 * _SIDE_INCHES + 1.6, _SIDE_INCHES + 0.9))
        left, right = figure.subplots(1, 2)
        image = left.imshow(
            matrix[np.ix_(order, order)], cmap=MEANS, norm=norm, interpolation="nearest"
        )
        _mark_levels(left, levels[order], names)
        _draw_means(right, means, names, norm)
        left.set_title("A  Every pair of subjects")
        right.set_title("B  Mean of every block")
        for axes in (left, right):
            axes.set_xlabel(measure_label(measure))
        left.set_ylabel(measure_label(measure))
        bar = figure.colorbar(image, ax=[left, right], extend="max", aspect=30, pad=0.02)
        bar.set_label(label)
        bar.outline.set_visible(False)
    return figure


def _levels(motion: Floats) -> tuple[NDArray[np.intp], list[str]]:
    """Return each subject's level, 0, 1, …, and what the levels are called."""
    values, levels = np.unique(motion, return_inverse=True)
    if len(values) <= _MOST_LEVELS:
        return levels, [f"{value:.4g}" for value in values]
    cuts = np.quantile(motion, [0.2, 0.4, 0.6, 0.8])
    levels = np.unique(np.searchsorted(cuts, motion, side="right"), return_inverse=True)[1]
    parts = [motion[levels == level] for level in range(levels.max() + 1)]
    return levels, [f"{part.min():.2g}–{part.max():.2g}" for part in parts]


def _block_means(matrix: Floats, levels: NDArray[np.intp], n_levels: int) -> Floats:
    means = np.full((n_levels, n_levels), np.nan)
    for a, b in np.ndindex(n_levels, n_levels):
        block = matrix[np.ix_(levels == a, levels == b)]
        if np.isfinite(block).any():
            means[a, b] = np.nanmean(block)
    return means


def _mark_levels(axes: Axes, levels: NDArray[np.intp], names: list[str]) -> None:
    """Draw lines between the blocks and name them at both sides."""
    starts = np.searchsorted(levels, np.arange(len(names)))
    ends = np.r_[starts[1:], len(levels)]
    for start in starts[1:]:
        axes.axhline(start - 0.5, color=INK, linewidth=0.6)
        axes.axvline(start - 0.5, color=INK, linewidth=0.6)
    gap = len(levels) * 12 / (72 * _SIDE_INCHES)
    places = spread((starts + ends - 1) / 2, gap, -0.5, len(levels) - 0.5)
    axes.set_yticks(places, names)
    axes.set_xticks(places, names, rotation=_rotation(names))
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)


def _draw_means(axes: Axes, means: Floats, names: list[str], norm: Normalize) -> None:
    axes.imshow(means, cmap=MEANS, norm=norm)
    for (i, j), mean in np.ndenumerate(means):
        dark = norm(mean) > 0.62
        axes.text(
            j,
            i,
            "–" if np.isnan(mean) else f"{mean:.3g}",
            ha="center",
            va="center",
            fontsize=8,
            color="white" if dark else INK,
        )
    axes.set_yticks(range(len(names)), names)
    axes.set_xticks(range(len(names)), names, rotation=_rotation(names))
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)


def _rotation(names: list[str]) -> int:
    """Turn names upright where they would run into each other; a letter takes 5.5 points."""
    return 90 if 5.5 * (max(map(len, names)) + 2) * len(names) > 72 * _SIDE_INCHES else 0
