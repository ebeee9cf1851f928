"""Separation of two groups of subjects in a feature space, with a permutation test."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.decomposition import PCA

from stillome.arrays import Floats
from stillome.cohort.validation import as_floats, check_count, check_features, check_random_state
from stillome.exceptions import InputError

_SAME = 1e-10  # share of the largest singular value below which a direction is empty


class Separation(NamedTuple):
    """Outcome of `group_separation`.

    Attributes
    ----------
    distance : float
        Mahalanobis distance of the group means: standard deviations within groups.
    r2 : float
        Share of the variance of the best linear combination that the groups explain; its
        expectation by chance is about (number of features) / (number of subjects).
    p_value : float
        Share of permutations with at least this separation.

    Examples
    --------
    >>> groups = np.repeat([0, 1], 50)
    >>> features = np.random.default_rng(0).normal(size=(100, 2))
    >>> found = group_separation(features, groups)
    >>> found.p_value > 0.05, found.distance < 1
    (True, True)
    """

    distance: float
    r2: float
    p_value: float


def group_separation(
    features: ArrayLike,
    groups: ArrayLike,
    *,
    n_permutations: int = 999,
    random_state: int | np.random.Generator | None = 0,
) -> Separation:
    """Measure the distance of two groups, invariant to scaling and rotation of the features.

    Parameters
    ----------
    features : array-like of shape (n, p)
        Fewer than subjects, e.g. the first three components.
    groups : array-like of shape (n,)
        Two different values, each at least twice. The p-value is valid only if the features were
        not fitted to the groups, as latents trained on the trait are.
    n_permutations : int, default=999
    random_state : int, numpy.random.Generator or None, default=0

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> groups = np.repeat([0, 1], 100)
    >>> found = group_separation(rng.normal(size=(200, 3)) + 2 * groups[:, None], groups)
    >>> round(found.distance), found.p_value
    (4, 0.001)
    """
    values = check_features(features, name="features")
    member = _membership(groups, len(values))
    rng = check_random_state(random_state)
    n_permutations = check_count(n_permutations, "n_permutations", minimum=1)
    axes = _orthonormal(values)
    if len(values) < axes.shape[1] + 3:
        raise InputError(
            f"features: {axes.shape[1]} directions of {len(values)} subjects; give fewer, as the "
            "first components."
        )
    shuffled = rng.permuted(np.tile(member, (n_permutations, 1)), axis=1)
    r2 = float(((member @ axes) ** 2).sum())
    null = ((shuffled @ axes) ** 2).sum(axis=1)
    p_value = (1 + int((null >= r2 - 1e-12).sum())) / (1 + n_permutations)
    share = float((member > 0).mean())
    unexplained = max(1 - r2, 1e-12)
    scale = (len(values) - 2) / (len(values) * share * (1 - share))
    return Separation(float(np.sqrt(scale * r2 / unexplained)), r2, p_value)


def trait_separation(
    latent: ArrayLike,
    trait: ArrayLike,
    *,
    n_extremes: int = 100,
    n_components: int = 3,
    n_permutations: int = 999,
    random_state: int | np.random.Generator | None = 0,
) -> Separation:
    """Measure the separation of low and high scorers in the first components (Figure 7).

    Parameters
    ----------
    latent : array-like of shape (n, K)
        Fitted without the trait; otherwise the p-value is not valid.
    trait : array-like of shape (n,)
        NaN is missing.
    n_extremes : int, default=100
        Number of subjects with the lowest, and with the highest scores; at most half of those who
        have the trait.
    n_components : int, default=3
        Principal components of all n subjects, as `stillome.plot.plot_trait_components` shows.
    n_permutations, random_state
        See `group_separation`.

    Examples
    --------
    >>> latent = np.random.default_rng(0).normal(size=(300, 2))
    >>> trait_separation(latent, latent[:, 0]).p_value
    0.001
    """
    values, scores = check_features(latent, name="latent"), as_floats(trait, "trait")
    if scores.shape != (len(values),):
        raise InputError(f"trait: shape {scores.shape}; expected one for {len(values)} subjects.")
    order = np.argsort(scores, kind="stable")[: int(np.isfinite(scores).sum())]  # NaN comes last
    size = min(check_count(n_extremes, "n_extremes", minimum=2), len(order) // 2)
    if size < 2:
        raise InputError(f"trait: {len(order)} known scores; two ends need at least four.")
    chosen = np.r_[order[:size], order[-size:]]
    shown = values - values.mean(axis=0)
    if np.ptp(values, axis=0).any():
        most = min(check_count(n_components, "n_components", minimum=1), *values.shape)
        shown = PCA(most, random_state=0).fit_transform(values)
    return group_separation(
        shown[chosen],
        np.repeat([0, 1], size),
        n_permutations=n_permutations,
        random_state=random_state,
    )


def _membership(groups: ArrayLike, n_subjects: int) -> Floats:
    """Return membership of the second group, centred and of unit length."""
    labels = np.asarray(groups)
    if labels.shape != (n_subjects,):
        raise InputError(f"groups: shape {labels.shape}; expected one for {n_subjects} subjects.")
    names, member = np.unique(labels, return_inverse=True)
    if len(names) != 2 or np.bincount(member).min() < 2:
        raise InputError(f"groups: {len(names)} different; expected two of at least two subjects.")
    centred = member - member.mean()
    return np.asarray(centred / np.linalg.norm(centred))


def _orthonormal(features: Floats) -> Floats:
    """Return an orthonormal basis (n, rank) of the centred features."""
    centred = features - features.mean(axis=0)
    axes, sizes, _ = np.linalg.svd(centred, full_matrices=False)
    noise = _SAME * max(float(sizes[0]), float(np.abs(features).max()))
    return np.asarray(axes[:, sizes > noise])
