"""Power of a certificate: the smallest leakage that it would have detected."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import norm

from stillome.arrays import Floats
from stillome.cohort.edges import matrices_to_edges
from stillome.cohort.exchange import Shuffler
from stillome.cohort.residuals import residualised
from stillome.cohort.validation import check_confounds, check_features, check_random_state
from stillome.evaluate.leakage.outcomes import joined
from stillome.evaluate.leakage.probe_data import prepare_probes
from stillome.evaluate.leakage.probes import probe_ridge

POWER = 0.8  # the probability with which leakage of the size that is told is detected
_STEPS = 6  # bisections: the share is found to 1/64
_MOST_OF_Z = 0.98  # of the variance of motion; all of it would be an infinite effect
_SURER = float(norm.isf(1 - POWER))
_EMPTY = 1e-6  # spread of a unit of z without information, relative to that of all


class Power(NamedTuple):
    """The smallest leakage that ridge regression on all features detects in 80 % of cohorts.

    Attributes
    ----------
    share : float
        In connectomes, share of what adjusting changed; in latents, share of the variance of motion
        that they hold. NaN if not even the largest share is detected.
    r2 : float
        R² of the probe at that share; at the largest where `share` is NaN.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> motion = rng.gamma(2.0, 0.2, 60)
    >>> few = smallest_detected_in_latents([rng.standard_normal((60, 3))], motion, level=0.01)
    >>> isinstance(few, Power), bool(few.share > 0.1)
    (True, True)
    """

    share: float
    r2: float


def smallest_detected(
    adjusted: Sequence[ArrayLike],
    raw: ArrayLike,
    confounds: ArrayLike,
    *,
    level: float,
    within: Sequence[ArrayLike] | None = None,
    nuisance: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    n_permutations: int = 500,
    n_folds: int = 5,
    random_state: int = 0,
) -> Power:
    """Find how much of the motion effect must be left for the ridge probe to detect it.

    A known leakage is put into connectomes without any. On the scale of log(1 + count), a share s
    of the difference between raw and adjusted is added to the adjusted connectome of another
    subject, from which the confounds have been regressed, so that what adjusting has left does not
    count. The smallest s that is detected is found by bisection, in the folds and permutations of
    the certificate.

    Detected means: R² less 0.84 of its standard deviation (bootstrap over subjects) is still
    significant. R² varies from cohort to cohort; this much is exceeded in 80 % of them.

    Parameters
    ----------
    adjusted : sequence of arrays of shape (n, V, V) or (n, E)
        One for each repeat of the cross-fitting.
    raw : array-like of shape (n, V, V) or (n, E)
    confounds, within, nuisance, groups, n_permutations, n_folds, random_state
        As for `repeated_certificate`.
    level : float
        At which one probe must be significant: that of the certificate divided by the number of
        its probes, which is what Holm's correction asks of the smallest p-value.

    Returns
    -------
    Power

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> motion = rng.gamma(2.0, 0.2, 120)
    >>> free = rng.poisson(50.0, (120, 15))
    >>> raw = rng.binomial(free, np.exp(-motion)[:, None])
    >>> power = smallest_detected([free], raw, motion, level=0.01)
    >>> 0 < power.share < 1 and 0 < power.r2 < 0.4
    True
    """
    before = np.log1p(matrices_to_edges(raw), dtype=np.float64)
    after = [np.log1p(matrices_to_edges(one), dtype=np.float64) for one in adjusted]
    labels = _labels(within, len(after), len(before))
    bases = [
        _of_others(one, label, confounds, random_state)
        for one, label in zip(after, labels, strict=True)
    ]

    def leaking(share: float) -> list[Floats]:
        return [base + share * (before - one) for base, one in zip(bases, after, strict=True)]

    given = (confounds, level, labels, nuisance, groups, n_permutations, n_folds, random_state)
    return _smallest(leaking, 1.0, *given)


def smallest_detected_in_latents(
    latents: Sequence[ArrayLike],
    confounds: ArrayLike,
    *,
    level: float,
    within: Sequence[ArrayLike] | None = None,
    nuisance: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    n_permutations: int = 500,
    n_folds: int = 5,
    random_state: int = 0,
) -> Power:
    """Find how much of motion latents must hold for the ridge probe to detect it.

    Every subject gets the latents of another subject, from which the confounds have been regressed,
    and motion is added in one direction, drawn at random in every part among the leading principal
    components. The share of the variance of motion that a regression on these latents explains is
    then known.

    Parameters
    ----------
    latents : sequence of arrays of shape (n, K)
        One for each repeat of the cross-fitting.
    confounds : array-like of shape (n,) or (n, C)
        The first is put in.
    level, within, nuisance, groups, n_permutations, n_folds, random_state
        As for `smallest_detected`.

    Returns
    -------
    Power

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> motion, Z = rng.gamma(2.0, 0.2, 120), rng.standard_normal((120, 5))
    >>> 0 < smallest_detected_in_latents([Z], motion, level=0.01).share < 0.4
    True
    """
    tables = [check_features(one) for one in latents]
    labels = _labels(within, len(tables), len(tables[0]))
    motion = check_confounds(confounds, n_subjects=len(tables[0]))[:, 0]
    motion = (motion - motion.mean()) / motion.std()
    bases = [
        _of_others(one, label, confounds, random_state)
        for one, label in zip(tables, labels, strict=True)
    ]
    mixed = [
        (base, _in_one_direction(base, label, motion, random_state))
        for base, label in zip(bases, labels, strict=True)
    ]

    def leaking(share: float) -> list[Floats]:
        return [base + np.sqrt(share / (1 - share)) * leak for base, leak in mixed]

    given = (confounds, level, labels, nuisance, groups, n_permutations, n_folds, random_state)
    return _smallest(leaking, _MOST_OF_Z, *given)


def _smallest(
    leaking: Callable[[float], list[Floats]],
    most: float,
    confounds: ArrayLike,
    level: float,
    labels: Sequence[NDArray[np.intp]],
    nuisance: ArrayLike | None,
    groups: ArrayLike | None,
    n_permutations: int,
    n_folds: int,
    random_state: int,
) -> Power:
    """Find the smallest share by bisection between 0 and `most`."""

    def probe(share: float) -> tuple[bool, float]:
        rng = check_random_state(random_state)
        data = [
            prepare_probes(one, confounds, "features", nuisance, groups, n_folds, rng, label)
            for one, label in zip(leaking(share), labels, strict=True)
        ]
        first = data[0]
        orders = Shuffler(first.groups).draw_many(n_permutations, rng)
        outcomes = [probe_ridge(one.features, one.confounds, one.blocks, orders) for one in data]
        found = joined(outcomes, first.confounds, first.groups, random_state)
        null = np.mean([one.scores[1:] for one in outcomes], axis=0).max(axis=1)
        deviation = (found.high - found.low) / (2 * norm.isf(0.025))
        p_value = (1 + (null >= found.r2 - _SURER * deviation).sum()) / (1 + len(null))
        return bool(p_value <= level), found.r2

    detected, r2 = probe(most)
    if not detected:
        return Power(float("nan"), r2)
    low, high = 0.0, most
    for _ in range(_STEPS):
        middle = (low + high) / 2
        detected, tried = probe(middle)
        if detected:
            high, r2 = middle, tried
        else:
            low = middle
    return Power(high, r2)


def _labels(
    within: Sequence[ArrayLike] | None, n_repeats: int, n_subjects: int
) -> list[NDArray[np.intp]]:
    if within is None:
        return [np.zeros(n_subjects, dtype=np.intp)] * n_repeats
    return [np.unique(np.asarray(one), return_inverse=True)[1] for one in within]


def _of_others(values: Floats, labels: NDArray[np.intp], confounds: ArrayLike, seed: int) -> Floats:
    """Give every subject the features of another one of the same part, less their confounds."""
    given = check_confounds(confounds, n_subjects=len(values))
    rng = np.random.default_rng([seed, 1])
    others = np.empty_like(values)
    for part in np.unique(labels):
        members = np.flatnonzero(labels == part)
        # A cycle through the part in random order: nobody keeps what is their own.
        order = rng.permutation(members)
        others[np.roll(order, 1)] = residualised(values[order], given[order])
    return others


def _in_one_direction(
    latents: Floats, labels: NDArray[np.intp], motion: Floats, seed: int
) -> Floats:
    """Return motion in one direction in every part, in units of the spread of z; shape (n, K)."""
    rng = np.random.default_rng([seed, 2])
    leak = np.zeros_like(latents)
    for part in np.unique(labels):
        members = labels == part
        block = latents[members] - latents[members].mean(axis=0)
        # Units without information are 0: a rounding error in them would be motion alone.
        used = block.std(axis=0) > _EMPTY * block.std()
        _, sizes, axes = np.linalg.svd(block[:, used], full_matrices=False)
        # Spreads of the last of many components are estimated badly, and too small.
        rank = int((sizes > _EMPTY * sizes.max(initial=0)).sum())
        n_axes = max(1, min(rank, len(block) // 3))
        weights = rng.standard_normal(n_axes)
        weights *= sizes[:n_axes] / np.sqrt(len(block)) / np.linalg.norm(weights)
        leak[np.ix_(members, used)] = np.outer(motion[members], weights @ axes[:n_axes])
    return leak
