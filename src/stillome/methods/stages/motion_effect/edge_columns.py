"""The design of a mixed model over edges, (E, Q), without making the columns of regions.

An edge belongs to two of V regions. Their columns are nearly all 0, so that products with them are
sums over the edges of a region; the other columns are few.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from stillome.arrays import Floats


class Columns(Protocol):
    """What a mixed model asks of its design D (E, Q)."""

    @property
    def n_columns(self) -> int:
        """Q."""
        ...

    def gram(self, weights: Floats) -> Floats:
        """Return Dᵀ diag(weights) D, (Q, Q), for weights (E,)."""
        ...

    def dot(self, coefficients: Floats) -> Floats:
        """Return D b, (E,), for coefficients b (Q,)."""
        ...

    def back(self, values: Floats) -> Floats:
        """Return Dᵀ values, (Q,) or (Q, k), for values (E,) or (E, k)."""
        ...


@dataclass(frozen=True, eq=False)
class DenseColumns:
    """A design that is an array (E, Q)."""

    values: Floats

    @property
    def n_columns(self) -> int:
        """Q."""
        return int(self.values.shape[1])

    def gram(self, weights: Floats) -> Floats:
        """Return Dᵀ diag(weights) D."""
        # A product of a table with its own transpose takes half the time of any other.
        scaled = self.values * np.sqrt(weights)[:, None]
        return np.asarray(scaled.T @ scaled)

    def dot(self, coefficients: Floats) -> Floats:
        """Return D b."""
        return np.asarray(self.values @ coefficients)

    def back(self, values: Floats) -> Floats:
        """Return Dᵀ values."""
        return np.asarray(self.values.T @ values)


@dataclass(frozen=True, eq=False)
class EdgeColumns:
    """Columns of features, of regions, and of others, in this order.

    Attributes
    ----------
    features : array of shape (E, F)
    others : array of shape (E, M)
    first, second : arrays of shape (E,)
        The regions of every edge.
    n_regions : int

    Examples
    --------
    >>> pairs = np.array([0, 0, 1]), np.array([1, 2, 2])
    >>> columns = EdgeColumns(np.ones((3, 1)), np.zeros((3, 0)), *pairs, 3)
    >>> columns.dot(np.array([0.0, 1.0, 2.0, 4.0])).tolist()
    [3.0, 5.0, 6.0]
    """

    features: Floats
    others: Floats
    first: NDArray[np.intp]
    second: NDArray[np.intp]
    n_regions: int

    @property
    def n_columns(self) -> int:
        """Q."""
        return self.n_regions + self._dense.shape[1]

    @cached_property
    def _dense(self) -> Floats:
        return np.hstack([self.features, self.others])

    @cached_property
    def _places(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Which columns are dense, and which those of regions."""
        n = self.features.shape[1]
        regions = np.arange(n, n + self.n_regions)
        return np.delete(np.arange(self.n_columns), regions), regions

    @cached_property
    def _incidence(self) -> sparse.csr_array:
        n = len(self.first)
        places = np.concatenate([self.first, self.second]), np.tile(np.arange(n), 2)
        return sparse.csr_array((np.ones(2 * n), places), shape=(self.n_regions, n))

    def gram(self, weights: Floats) -> Floats:
        """Return Dᵀ diag(weights) D."""
        dense, regions = self._places
        roots = np.sqrt(weights)
        # A product of a table with its own transpose takes half the time of any other.
        scaled = self._dense * roots[:, None]
        found = np.empty((self.n_columns, self.n_columns))
        found[np.ix_(dense, dense)] = scaled.T @ scaled
        edges, ends = self._incidence.indices, self._incidence.indptr
        incidence = sparse.csr_array((roots[edges], edges, ends), shape=self._incidence.shape)
        cross = incidence @ scaled
        found[np.ix_(regions, dense)] = cross
        found[np.ix_(dense, regions)] = cross.T
        pairs = np.zeros((self.n_regions, self.n_regions))
        pairs[self.first, self.second] = pairs[self.second, self.first] = weights
        np.fill_diagonal(pairs, self._incidence @ weights)
        found[np.ix_(regions, regions)] = pairs
        return found

    def dot(self, coefficients: Floats) -> Floats:
        """Return D b."""
        dense, regions = self._places
        own = coefficients[regions]
        return np.asarray(self._dense @ coefficients[dense] + own[self.first] + own[self.second])

    def back(self, values: Floats) -> Floats:
        """Return Dᵀ values."""
        dense, regions = self._places
        found = np.empty((self.n_columns, *values.shape[1:]))
        found[dense], found[regions] = self._dense.T @ values, self._incidence @ values
        return found

    def squares(self, matrix: Floats) -> Floats:
        """Return d M dᵀ for the row d of every edge, (E,), and a matrix M (Q, Q)."""
        dense, regions = self._places
        both = (matrix + matrix.T) / 2
        own = ((self._dense @ both[np.ix_(dense, dense)]) * self._dense).sum(axis=1)
        cross = both[np.ix_(regions, dense)]
        mixed = ((cross[self.first] + cross[self.second]) * self._dense).sum(axis=1)
        pairs = both[np.ix_(regions, regions)]
        alone = np.diagonal(pairs)
        of_regions = alone[self.first] + alone[self.second] + 2 * pairs[self.first, self.second]
        return np.asarray(own + 2 * mixed + of_regions)
