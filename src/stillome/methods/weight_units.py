"""The unit of weights, which must not matter: sums of streamline weights (SIFT2), densities."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stillome.cohort.validation.magnitude_checks import is_whole

_LARGEST_MEDIAN = 1000.0  # counts, for weights without a grain
_BITS = 11  # of a weight, by which it is known


def weight_unit(edges: NDArray[Any]) -> float:
    """Return the factor that makes weights vary like counts; 1 for whole numbers.

    A sum of streamline weights has variance κ · mean + φ · mean² (compound Poisson); divided by κ
    it has the variance of the negative binomial. Variance / mean is a line in the mean with
    intercept κ. The line goes through the medians of the weakest and the middle third of edges.

    Parameters
    ----------
    edges : array of shape (n, E)

    Examples
    --------
    >>> weights = np.random.default_rng(0).poisson(5, (20, 6)) * 0.37
    >>> weight_unit(1024 * weights) == weight_unit(weights) / 1024
    True
    """
    positive = edges[edges > 0]
    if is_whole(edges) or not positive.size:
        return 1.0
    means = edges.mean(axis=0, dtype=np.float64)
    order = np.argsort(means)[(means == 0).sum() :]
    ratios = edges.var(axis=0, dtype=np.float64)[order] / means[order]
    third = len(order) // 3
    (weak, at_weak), (middling, at_middling) = (
        (float(np.median(means[order][part])), float(np.median(ratios[part])))
        for part in (slice(0, third + 1), slice(third, 2 * third + 1))
    )
    median = float(np.median(positive))
    slope = max(at_middling - at_weak, 0.0) / max(middling - weak, 1e-12 * median)
    return float(1 / np.clip(at_weak - slope * weak, median / _LARGEST_MEDIAN, median))


def in_unit(edges: NDArray[Any], unit: float) -> NDArray[Any]:
    """Return edges times `unit`; counts, whose unit is 1, as they are."""
    return edges if unit == 1 else edges * unit


def without_unit(values: NDArray[Any]) -> NDArray[np.float64]:
    """Return numbers that are the same for weights in any unit, to tell subjects and edges apart.

    Weights are divided by the largest and rounded, since a product in another unit is not exact.
    Whole numbers stay.

    Examples
    --------
    >>> bool((without_unit(np.array([0.3, 0.7])) == without_unit(np.array([3e-7, 7e-7]))).all())
    True
    """
    given = np.asarray(values, dtype=np.float64)
    if is_whole(given):
        return given
    mantissas, exponents = np.frexp(given / given.max())
    return np.ldexp(np.round(mantissas * 2.0**_BITS), exponents)
