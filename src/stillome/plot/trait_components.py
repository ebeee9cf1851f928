"""Low and high scorers of a trait in the first components of a latent space."""

import itertools
from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike, NDArray

from stillome.arrays import Floats
from stillome.cohort.validation import as_floats, check_count, check_features
from stillome.exceptions import InputError
from stillome.plot.component_plane import Projection
from stillome.plot.style import house_style

Indices = NDArray[np.intp]

_LOWEST, _HIGHEST = "#0072b2", "#e69f00"


def plot_trait_components(
    latents: Mapping[str, ArrayLike],
    trait: ArrayLike,
    *,
    trait_name: str = "trait",
    n_extremes: int = 100,
) -> Figure:
    """Draw the first three components of latents for the subjects at both ends of a trait.

    Three plane views show all points; a view in space would hide some.

    Parameters
    ----------
    latents : mapping of method to array-like of shape (n, k)
        At least two columns; components are those of all n subjects, for each method its own.
    trait : array-like of shape (n,)
        NaN is missing; such subjects are left out of both groups.
    trait_name : str, default="trait"
    n_extremes : int, default=100
        Subjects in each group; at most half of those who have the trait.

    Returns
    -------
    matplotlib.figure.Figure
        A row per method: components 1–2, 1–3 and 2–3.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> figure = plot_trait_components({"z": rng.normal(size=(50, 4))}, rng.normal(size=50))
    >>> [len(dots.get_offsets()) for dots in figure.axes[0].collections]
    [25, 25]
    """
    sets = _check_latents(latents)
    low, high = _ends(trait, len(next(iter(sets.values()))), n_extremes)
    projections = {name: Projection.of(features, 3) for name, features in sets.items()}
    most = max(len(projection.shares) for projection in projections.values())
    pairs = list(itertools.combinations(range(most), 2))
    with house_style():
        figure = Figure(figsize=(max(4.4, 3.0 * len(pairs)), 2.9 * len(sets) + 0.3))
        grid = figure.subplots(len(sets), len(pairs), squeeze=False)
        for row, (name, features) in zip(grid, sets.items(), strict=True):
            scores = projections[name].scores(features)
            for axes, pair in zip(row, pairs, strict=True):
                if max(pair) >= scores.shape[1]:
                    axes.set_visible(False)
                    continue
                _draw_pair(axes, scores, pair, projections[name].shares, low, high)
            row[0].set_title(name)
        handles, _ = grid[0, 0].get_legend_handles_labels()
        words = [f"{len(low)} lowest", f"{len(high)} highest"]
        figure.legend(
            handles, words, title=trait_name, loc="outside upper right", ncols=2, markerscale=1.5
        )
    return figure


def _check_latents(latents: Mapping[str, ArrayLike]) -> dict[str, Floats]:
    if not isinstance(latents, Mapping) or not latents:
        raise InputError("latents: expected a mapping of method to (n, k) with at least one.")
    sets = {str(name): check_features(z, name=f"latents {name!r}") for name, z in latents.items()}
    sizes = {name: len(features) for name, features in sets.items()}
    if len(set(sizes.values())) > 1:
        raise InputError(f"latents: {sizes} subjects; give the same subjects in each.")
    for name, features in sets.items():
        if min(features.shape) < 2:
            raise InputError(
                f"latents {name!r}: shape {features.shape}; needs two subjects and two columns."
            )
    return sets


def _ends(trait: ArrayLike, n_subjects: int, n_extremes: int) -> tuple[Indices, Indices]:
    """Find the subjects with the lowest and the highest scores."""
    scores = as_floats(trait, "trait")
    if scores.shape != (n_subjects,):
        raise InputError(f"trait: shape {scores.shape}; expected one score for {n_subjects}.")
    known = np.flatnonzero(np.isfinite(scores))
    size = min(check_count(n_extremes, "n_extremes", minimum=1), len(known) // 2)
    if not size:
        raise InputError(
            f"trait: {len(known)} known scores; two ends need at least two. Choose another trait."
        )
    order = known[np.argsort(scores[known], kind="stable")]
    return order[:size], order[-size:]


def _draw_pair(
    axes: Axes,
    scores: Floats,
    pair: tuple[int, int],
    shares: Floats,
    low: Indices,
    high: Indices,
) -> None:
    looks = ((low, _LOWEST, "o", "lowest"), (high, _HIGHEST, "^", "highest"))
    for members, colour, marker, label in looks:
        x, y = scores[members][:, pair].T
        axes.scatter(x, y, s=14, color=colour, marker=marker, alpha=0.8, linewidths=0, label=label)
    for members, colour, marker, _ in looks:
        x, y = scores[members][:, pair].mean(axis=0)
        axes.plot(x, y, marker, color=colour, markersize=10, markeredgecolor="black")
    axes.set_xlabel(f"PC {pair[0] + 1} ({shares[pair[0]]:.0%})")
    axes.set_ylabel(f"PC {pair[1] + 1} ({shares[pair[1]]:.0%})")
    axes.locator_params(nbins=4)
