"""Power of a certificate: the smallest leakage that it would have detected."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from stillome.arrays import Floats
from stillome.cohort.edges import matrices_to_edges
from stillome.cohort.validation import check_random_state
from stillome.evaluate.leakage.outcomes import ProbeResult, joined
from stillome.evaluate.leakage.probe_data import prepare_probes
from stillome.evaluate.leakage.probes import Shuffler, probe_ridge

_STEPS = 6  # bisections: the share is found to 1/64


class Power(NamedTuple):
    """The smallest leakage that ridge regression on all edges would have detected.

    Attributes
    ----------
    share : float
        Share of the motion effect. With this share left in the connectomes, or more, the probe is
        significant. 0 if it is significant without any; NaN if not even the raw connectomes are
        enough.
    r2 : float
        R² of the probe at that share; of the raw connectomes where `share` is NaN.
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
    """Find how much of the motion effect must be left for the ridge probe to be significant.

    A known leakage is put into the connectomes that were certified: on the scale of log(1 + count),
    a share s of the difference between raw and adjusted is added to the adjusted connectomes. The
    smallest s at which the probe is significant is found by bisection, in the same subjects, folds
    and permutations as in the certificate.

    At that share leakage is just significant in these subjects. In other subjects of the same
    number it would be detected in about half of the cohorts, since R² varies from sample to
    sample: leakage well above it would rarely be missed, leakage below it often.

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
    >>> 0 < power.share < 1 and 0 < power.r2 < 0.3
    True
    """
    before = np.log1p(matrices_to_edges(raw), dtype=np.float64)
    after = [np.log1p(matrices_to_edges(one), dtype=np.float64) for one in adjusted]

    labels = [None] * len(after) if within is None else within

    def probe(share: float) -> ProbeResult:
        rng = check_random_state(random_state)
        data = [
            prepare_probes(
                _mixed(one, before, share),
                *(confounds, "features", nuisance, groups, n_folds, rng, label),
            )
            for one, label in zip(after, labels, strict=True)
        ]
        first = data[0]
        orders = Shuffler(first.groups).draw_many(n_permutations, rng)
        outcomes = [probe_ridge(one.features, one.confounds, one.blocks, orders) for one in data]
        return joined(outcomes, first.confounds, first.groups, 0)

    found = probe(0.0)
    if found.p_value <= level:
        return Power(0.0, found.r2)
    found = probe(1.0)
    if not found.p_value <= level:
        return Power(float("nan"), found.r2)
    low, high = 0.0, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        tried = probe(middle)
        if tried.p_value <= level:
            high, found = middle, tried
        else:
            low = middle
    return Power(high, found.r2)


def _mixed(after: Floats, before: Floats, share: float) -> Floats:
    return np.asarray(after + share * (before - after))
