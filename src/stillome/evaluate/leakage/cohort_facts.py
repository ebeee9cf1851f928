"""What summary numbers of one network need to know of all others."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from stillome.arrays import Floats

# How many of the smallest values are counted, and which whole numbers in any case.
_N_SMALLEST = 10
_SMALL_NUMBERS = range(1, 11)


@dataclass(frozen=True, eq=False)
class CohortFacts:
    """Facts of a cohort.

    Attributes
    ----------
    counted : list of float
        Values whose share of edges is a summary number: 1 to 10 and, where all values are whole
        numbers, the ten smallest positive ones.
    largest : float
    log_means, log_spreads : arrays of shape (E,)
        Mean and standard deviation of log(1 + value) of every edge.

    Examples
    --------
    >>> facts = CohortFacts.of(lambda: [np.array([[0.0, 30.0]]), np.array([[20.0, 0.0]])])
    >>> facts.counted[-2:], facts.largest
    ([20.0, 30.0], 30.0)
    """

    counted: list[float]
    largest: float
    log_means: Floats
    log_spreads: Floats

    @classmethod
    def of(cls, parts: Callable[[], Iterable[Floats]]) -> "CohortFacts":
        """Find them in two passes over the edges (m, E) of all subjects, a few at a time."""
        n, largest, whole = 0, 0.0, True
        sums: Floats | float = 0.0
        smallest: set[float] = set()
        for edges in parts():
            n += len(edges)
            largest = max(largest, float(edges.max(initial=0.0)))
            whole = whole and not (edges - np.floor(edges)).any()
            if whole:
                smallest = set(sorted(smallest | _smallest_values(edges))[:_N_SMALLEST])
            sums = sums + np.log1p(edges).sum(axis=0)
        means = np.asarray(sums / max(n, 1))
        squares = sum((((np.log1p(edges) - means) ** 2).sum(axis=0) for edges in parts()), 0.0)
        counted = set(map(float, _SMALL_NUMBERS)) | (smallest if whole else set())
        return cls(sorted(counted), largest, means, np.sqrt(np.asarray(squares) / max(n, 1)))


def _smallest_values(edges: Floats) -> set[float]:
    found: set[float] = set()
    last = 0.0
    while len(found) < _N_SMALLEST:
        last = float(edges.min(where=edges > last, initial=np.inf))
        if not np.isfinite(last):
            break
        found.add(last)
    return found
