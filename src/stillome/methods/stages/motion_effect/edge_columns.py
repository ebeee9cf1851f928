"""The design of a mixed model over edges, (E, Q), without making the columns of regions.

An edge belongs to two of V regions. Their columns are nearly all 0, so that products with them are
sums over the edges of a region; the other columns are few.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from stillome.arrays import Floats

_EDGES = 4096  # that are looked at together


class Columns(Protocol):
    """What a mixed model asks of its design D (E, Q)."""

    @property
    def n_columns(self) -> int:
        """Q."""
        ...

    @property
    def chosen(self) -> NDArray[np.intp] | None:
        """Edges that variances are estimated from; None for all."""
        ...

    def of_chosen(self) -> "Columns":
        """Return the design of the chosen edges."""
        ...

    def gram(self, weights: Floats) -> Floats:
        """Return Dᵀ diag(weights) D, (Q, Q), for weights (E,)."""
        ...

    def dot(self, coefficients: Floats) -> Floats:
        """Return D b, (E,) or (E, k), for coefficients b (Q,) or (Q, k)."""
        ...

    def back(self, values: Floats) -> Floats:
        """Return Dᵀ values, (Q,) or (Q, k), for values (E,) or (E, k)."""
        ...


@dataclass(frozen=True, eq=False)
class DenseColumns:
    """A design that is an array (E, Q)."""

    values: Floats
    chosen: None = None

    @property
    def n_columns(self) -> int:
        """Q."""
        return int(self.values.shape[1])

    def of_chosen(self) -> Self:
        """Return the design of the chosen edges, which are all."""
        return self

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
    dense : array of shape (E, F + M)
        Features and others.
    n_features : int
        F.
    first, second : arrays of shape (E,)
        The regions of every edge.
    n_regions : int
    chosen : array of int, optional
        Edges that variances are estimated from; all without.

    Examples
    --------
    >>> pairs = np.array([0, 0, 1]), np.array([1, 2, 2])
    >>> columns = EdgeColumns(np.ones((3, 1)), 1, *pairs, 3)
    >>> columns.dot(np.array([0.0, 1.0, 2.0, 4.0])).tolist()
    [3.0, 5.0, 6.0]
    """

    dense: Floats
    n_features: int
    first: NDArray[np.intp]
    second: NDArray[np.intp]
    n_regions: int
    chosen: NDArray[np.intp] | None = None

    @property
    def n_columns(self) -> int:
        """Q."""
        return int(self.n_regions + self.dense.shape[1])

    def of_chosen(self) -> "EdgeColumns":
        """Return the design of the chosen edges."""
        return self if self.chosen is None else self._sample

    @cached_property
    def _sample(self) -> "EdgeColumns":
        some = self.chosen
        return replace(
            self,
            dense=self.dense[some],
            first=self.first[some],
            second=self.second[some],
            chosen=None,
        )

    @cached_property
    def _places(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Which columns are dense, and which those of regions."""
        regions = np.arange(self.n_features, self.n_features + self.n_regions)
        return np.delete(np.arange(self.n_columns), regions), regions

    @cached_property
    def _pieces(self) -> list[tuple[slice, sparse.csr_array]]:
        """Consecutive edges, few enough for a cache, and which region (V, e) they belong to."""
        found = []
        for start in range(0, len(self.first), _EDGES):
            edges = slice(start, start + _EDGES)
            first, second = self.first[edges], self.second[edges]
            n = len(first)
            places = np.concatenate([first, second]), np.tile(np.arange(n), 2)
            found.append(
                (edges, sparse.csr_array((np.ones(2 * n), places), shape=(self.n_regions, n)))
            )
        return found

    def gram(self, weights: Floats) -> Floats:
        """Return Dᵀ diag(weights) D."""
        dense, regions = self._places
        own = np.zeros((len(dense), len(dense)))
        cross, sums = np.zeros((self.n_regions, len(dense))), np.zeros(self.n_regions)
        for edges, incidence in self._pieces:
            # A product of a table with its own transpose takes half the time of any other.
            roots = np.sqrt(weights[edges])
            scaled = self.dense[edges] * roots[:, None]
            own += scaled.T @ scaled
            scaled *= roots[:, None]
            cross += incidence @ scaled
            sums += incidence @ weights[edges]
        found = np.empty((self.n_columns, self.n_columns))
        found[np.ix_(dense, dense)] = own
        found[np.ix_(regions, dense)] = cross
        found[np.ix_(dense, regions)] = cross.T
        pairs = np.zeros((self.n_regions, self.n_regions))
        pairs[self.first, self.second] = pairs[self.second, self.first] = weights
        np.fill_diagonal(pairs, sums)
        found[np.ix_(regions, regions)] = pairs
        return found

    def dot(self, coefficients: Floats) -> Floats:
        """Return D b."""
        dense, regions = self._places
        own = coefficients[regions]
        return np.asarray(self.dense @ coefficients[dense] + own[self.first] + own[self.second])

    def back(self, values: Floats) -> Floats:
        """Return Dᵀ values."""
        dense, regions = self._places
        found = np.zeros((self.n_columns, *values.shape[1:]))
        found[dense] = self.dense.T @ values
        for edges, incidence in self._pieces:
            found[regions] += incidence @ values[edges]
        return found

    def squares(self, matrix: Floats, share: Floats, kept: Floats, own: Floats) -> Floats:
        """Return r M rᵀ + Σ own d² of every edge, (E,), for its row d and r = d · (share − kept).

        Parameters
        ----------
        matrix : array of shape (Q, Q)
            M.
        share, own : arrays of shape (Q,)
        kept : array of shape (E,)
        """
        dense, regions = self._places
        both = (matrix + matrix.T) / 2
        inner, cross = both[np.ix_(dense, dense)], 2 * both[np.ix_(regions, dense)]
        pairs, alone = both[np.ix_(regions, regions)], own[regions]
        first, second = (share[regions][ends] - kept for ends in (self.first, self.second))
        found = first**2 * np.diagonal(pairs)[self.first] + alone[self.first]
        found += second**2 * np.diagonal(pairs)[self.second] + alone[self.second]
        found += 2 * first * second * pairs[self.first, self.second]
        for edges, _ in self._pieces:
            found[edges] += self.dense[edges] ** 2 @ own[dense]
            rows = self.dense[edges] * (share[dense] - kept[edges, None])
            turned = rows @ inner
            turned += first[edges, None] * cross[self.first[edges]]
            turned += second[edges, None] * cross[self.second[edges]]
            found[edges] += np.einsum("eq,eq->e", turned, rows)
        return np.asarray(found)
