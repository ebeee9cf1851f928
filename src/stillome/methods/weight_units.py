"""The unit of weights, which must not matter: sums of streamline weights (SIFT2), densities."""

from collections.abc import Iterable
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from stillome.arrays import Floats
from stillome.cohort.validation.magnitude_checks import is_whole
from stillome.counts.edge_tables import AnyTable, EdgeTable

_LARGEST_MEDIAN = 1000.0  # counts, for weights without a grain
_MOST_WEIGHTS = 2**27  # of which the median is taken
_BITS = 11  # of a weight, by which it is known


def weight_unit(edges: AnyTable) -> float:
    """Return the factor that makes weights vary like counts; 1 for whole numbers.

    A sum of streamline weights has variance κ · mean + φ · mean² (compound Poisson); divided by κ
    it has the variance of the negative binomial. Variance / mean is a line in the mean with
    intercept κ. The line goes through the medians of the weakest and the middle third of edges.

    Parameters
    ----------
    edges : array or table of shape (n, E)
        The median of weights is that of the first 2²⁷ of a larger table, by subjects.

    Examples
    --------
    >>> weights = np.random.default_rng(0).poisson(5, (20, 6)) * 0.37
    >>> weight_unit(1024 * weights) == weight_unit(weights) / 1024
    True
    """
    table = EdgeTable.of(edges)
    means, variances, whole = table.each(_moments)
    if whole.all() or not means.any():
        return 1.0
    order = np.argsort(means)[(means == 0).sum() :]
    ratios = variances[order] / means[order]
    third = len(order) // 3
    (weak, at_weak), (middling, at_middling) = (
        (float(np.median(means[order][part])), float(np.median(ratios[part])))
        for part in (slice(0, third + 1), slice(third, 2 * third + 1))
    )
    some = table.rows(slice(max(_MOST_WEIGHTS // table.shape[1], 1)))
    median = float(np.median(np.concatenate(list(some.answers(lambda block: block[block > 0])))))
    slope = max(at_middling - at_weak, 0.0) / max(middling - weak, 1e-12 * median)
    return float(1 / np.clip(at_weak - slope * weak, median / _LARGEST_MEDIAN, median))


def _moments(block: NDArray[Any]) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Return means and variances (e,), and whether all values of an edge are whole."""
    means = block.mean(axis=0, dtype=np.float64)
    whole = np.full(len(means), is_whole(block))
    return means, block.var(axis=0, dtype=np.float64), whole


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
    return Unitless.of([values])(values)


class Unitless(NamedTuple):
    """The rule of `without_unit` for values that are looked at in parts.

    Attributes
    ----------
    whole : bool
    largest : float
    """

    whole: bool
    largest: float

    @classmethod
    def of(cls, parts: Iterable[NDArray[Any]]) -> Self:
        """Find the largest value of all parts, and whether all are whole numbers."""
        return cls.joined(cls(is_whole(part), float(part.max(initial=0))) for part in parts)

    @classmethod
    def joined(cls, found: Iterable[Self]) -> Self:
        """Put together what was found of several parts."""
        known = list(found)
        largest = max((one.largest for one in known), default=0.0)
        return cls(all(one.whole for one in known), largest)

    def __call__(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """Return one part without its unit."""
        given = np.asarray(values, dtype=np.float64)
        if self.whole:
            return given
        mantissas, exponents = np.frexp(given / self.largest)
        return np.ldexp(np.round(mantissas * 2.0**_BITS), exponents)
