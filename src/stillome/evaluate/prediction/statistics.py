"""Statistics of predictions: corrected tests over folds, correlation, R²."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import t as student_t

from stillome.arrays import Floats
from stillome.exceptions import InputError


class PairedTest(NamedTuple):
    """Outcome of `corrected_paired_test`."""

    difference: float
    statistic: float
    degrees_of_freedom: int
    p_value: float


def corrected_paired_test(first: ArrayLike, second: ArrayLike, *, test_share: float) -> PairedTest:
    """Nadeau and Bengio's corrected resampled t-test, two-sided.

    Scores of different folds are not independent, because their training parts overlap; the
    variance of the mean difference is therefore (1/J + n_test/n_train)·s² instead of s²/J.

    Parameters
    ----------
    first, second : array-like of shape (J,)
        Scores of two methods on the same J folds.
    test_share : float
        n_test / n_train; 0.25 for five folds.

    Returns
    -------
    PairedTest
        NaN with fewer than two folds, or where all differences are the same.

    References
    ----------
    Nadeau & Bengio (2003), Inference for the generalization error, Machine Learning 52.

    Examples
    --------
    >>> outcome = corrected_paired_test([0.4, 0.5, 0.6], [0.3, 0.3, 0.5], test_share=0.5)
    >>> round(outcome.statistic, 3), outcome.degrees_of_freedom
    (2.53, 2)
    """
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if a.shape != b.shape or a.ndim != 1:
        raise InputError(f"scores of shape {a.shape} and {b.shape}; expected one pair per fold.")
    differences = a - b
    n_folds = len(differences)
    mean = float(differences.mean()) if n_folds else float("nan")
    spread = float(differences.std(ddof=1)) if n_folds > 1 else 0.0
    if spread == 0:
        return PairedTest(mean, float("nan"), n_folds - 1, float("nan"))
    statistic = mean / (spread * np.sqrt(1 / n_folds + test_share))
    p_value = 2 * float(student_t.sf(abs(statistic), n_folds - 1))
    return PairedTest(mean, float(statistic), n_folds - 1, p_value)


def corrected_interval(
    scores: ArrayLike, *, test_share: float, level: float = 0.95
) -> tuple[float, float]:
    """Return the interval of a mean score over folds, with Nadeau and Bengio's variance.

    Parameters
    ----------
    scores : array-like of shape (J,)
        Scores of one method on J folds.
    test_share : float
        n_test / n_train; 0.25 for five folds.
    level : float, default=0.95

    Returns
    -------
    tuple of two floats
        NaN with fewer than two folds.

    Examples
    --------
    >>> low, high = corrected_interval([0.4, 0.5, 0.6], test_share=0.5)
    >>> round(low, 2), round(high, 2)
    (0.11, 0.89)
    """
    values = np.asarray(scores, dtype=np.float64)
    if len(values) < 2:
        return float("nan"), float("nan")
    spread = float(values.std(ddof=1)) * np.sqrt(1 / len(values) + test_share)
    half = float(student_t.isf((1 - level) / 2, len(values) - 1)) * spread
    return float(values.mean() - half), float(values.mean() + half)


def pearson_r(observed: Floats, predicted: Floats) -> float:
    """Correlate predictions (n,) with observations (n,); NaN observations are left out.

    0 where one side does not vary, since nothing was predicted; NaN with fewer than three
    observations.

    Examples
    --------
    >>> round(pearson_r(np.array([1.0, 2.0, 3.0, np.nan]), np.array([1.0, 3.0, 5.0, 0.0])), 6)
    1.0
    """
    known = ~np.isnan(observed)
    if known.sum() < 3:
        return float("nan")
    a, b = observed[known] - observed[known].mean(), predicted[known] - predicted[known].mean()
    sizes = [
        np.linalg.norm(centred) if np.ptp(centred) > 1e-12 * np.abs(raw[known]).max() else 0.0
        for centred, raw in ((a, observed), (b, predicted))
    ]
    if 0.0 in sizes:
        return 0.0
    return float(np.clip((a / sizes[0]) @ (b / sizes[1]), -1.0, 1.0))


def r_squared(found: Floats, expected: Floats) -> float:
    """Return R² of `found` (n,) against `expected` (n,); NaN where `expected` does not vary.

    Examples
    --------
    >>> r_squared(np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 4.0])).__round__(3)
    0.786
    """
    total = ((expected - expected.mean()) ** 2).sum()
    return float(1 - ((found - expected) ** 2).sum() / total) if total > 0 else float("nan")
