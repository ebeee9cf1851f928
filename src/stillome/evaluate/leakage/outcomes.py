"""From what a probe found in every repeat to one R², its interval, and one p-value."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from stillome.arrays import Floats
from stillome.evaluate.leakage.probes import Outcome

_N_BOOTSTRAP = 1000
_DRAWN_AT_A_TIME = 5_000_000  # numbers of groups in bootstrap samples


class ProbeResult(NamedTuple):
    """Result of one probe."""

    r2: float  # cross-fitted; of the confound that is predicted best; mean over repeats
    p_value: float  # NaN without a test
    null_95: float  # 95th percentile of the permuted statistic, on the scale of r2
    auc: float = float("nan")  # of the two-valued confound that is predicted best
    low: float = float("nan")  # 95 % interval of r2
    high: float = float("nan")
    n_subjects: int = 0  # whom the probe was trained on and tested in
    n_features: int = 0  # that it saw


def joined(
    outcomes: Sequence[Outcome], confounds: Floats, groups: NDArray[np.intp], seed: int
) -> ProbeResult:
    """Average one probe over repeats of the arrangement into blocks, and test the mean.

    Parameters
    ----------
    outcomes : sequence of Outcome
        One for each repeat. Permutations have the same order in all of them, so that the mean of a
        permutation over repeats is a draw from the null distribution of the mean.
    confounds : array of shape (n, C)
        Standardised.
    groups : array of shape (n,), (n, 1) or (n, 3)
        See `group_levels`.
    seed : int
        Of the bootstrap.

    Returns
    -------
    ProbeResult
        Prequential tests of several repeats are joined by the mean of their z scores, as if they
        were fully dependent. That is conservative: the mean of normal variables with variance 1 has
        a variance of at most 1.

    Examples
    --------
    >>> confounds = np.array([[-1.5], [-0.5], [0.5], [1.5]])
    >>> outcome = Outcome(np.array([[0.9], [0.1], [-0.2]]), 0.9 * confounds)
    >>> joined([outcome, outcome], confounds, np.arange(4), 0).r2
    0.9
    """
    scores = np.mean([one.scores for one in outcomes], axis=0)  # (1 + B, C)
    best = int(scores[0].argmax())
    null = scores[1:].max(axis=1)
    r2, p_value, null_95 = float(scores[0, best]), float("nan"), float("nan")
    z_score = float(np.mean([one.z_score for one in outcomes]))
    if len(null):
        p_value = float((1 + (null >= r2).sum()) / (1 + len(null)))
        null_95 = float(np.quantile(null, 0.95))
    elif np.isfinite(z_score):
        p_value = float(norm.sf(z_score))
        null_95 = float(np.mean([one.null_95 for one in outcomes]))
    auc = float(np.mean([one.auc for one in outcomes]))
    predicted = [one.predicted for one in outcomes if one.predicted is not None]
    low, high = float("nan"), float("nan")
    if predicted and np.isfinite(p_value):
        low, high = _interval(confounds[:, best], [one[:, best] for one in predicted], groups, seed)
    n_features = max(one.n_features for one in outcomes)
    return ProbeResult(r2, p_value, null_95, auc, low, high, len(confounds), n_features)


def _interval(
    observed: Floats, predicted: Sequence[Floats], groups: NDArray[np.intp], seed: int
) -> tuple[float, float]:
    """Return the 95 % percentile interval of R², by a bootstrap over groups of subjects.

    Probes are not trained anew: the interval says how far R² of these predictions is uncertain
    because these, and not other, subjects were predicted.
    """
    numbers = np.unique(groups.reshape(len(groups), -1)[:, 0], return_inverse=True)[1]
    n_groups = int(numbers.max()) + 1
    rng = np.random.default_rng(seed)
    # All repeats have the same denominator, so that the mean R² is that of the mean error.
    errors = np.mean([(observed - one) ** 2 for one in predicted], axis=0)
    step, parts = max(1, _DRAWN_AT_A_TIME // n_groups), []
    for start in range(0, _N_BOOTSTRAP, step):
        size = min(step, _N_BOOTSTRAP - start)
        drawn = rng.multinomial(n_groups, np.full(n_groups, 1 / n_groups), size=size)
        weights = drawn[:, numbers].astype(np.float64)
        total = weights @ observed**2 - (weights @ observed) ** 2 / weights.sum(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            parts.append(1 - weights @ errors / total)
    r2 = np.concatenate(parts)
    low, high = np.quantile(r2[np.isfinite(r2)], [0.025, 0.975])
    return float(low), float(high)
