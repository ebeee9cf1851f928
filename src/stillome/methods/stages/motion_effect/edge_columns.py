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

from stillome.arrays import AnyFloats, Floats

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

    def gram(self, weights: Floats, *, exact: bool = False) -> Floats:
        """Return Dᵀ diag(weights) D, (Q, Q), for weights (E,).

        Without `exact`, in the precision of the design.
        """
        ...

    def dot(self, coefficients: Floats) -> Floats:
        """Return D b, (E,) or (E, k), for coefficients b (Q,) or (Q, k)."""
        ...

    def back(self, values: Floats, *, exact: bool = False) -> Floats:
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

    def gram(self, weights: Floats, *, exact: bool = False) -> Floats:
        """Return Dᵀ diag(weights) D, always in double precision."""
        # A product of a table with its own transpose takes half the time of any other.
        scaled = self.values * np.sqrt(weights)[:, None]
        return np.asarray(scaled.T @ scaled)

    def dot(self, coefficients: Floats) -> Floats:
        """Return D b."""
        return np.asarray(self.values @ coefficients)

    def back(self, values: Floats, *, exact: bool = False) -> Floats:
        """Return Dᵀ values, always in double precision."""
        return np.asarray(self.values.T @ values)


@dataclass(frozen=True, eq=False)
class EdgeColumns:
    """Columns of features, of regions, and of others, in this order.

    Attributes
    ----------
    dense : array of shape (E, F + M)
        Features and others. In single precision, products with others are in this precision;
        those of features and regions always are in double.
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

    dense: AnyFloats
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
    def _features(self) -> Floats:
        """Features in double precision: their weights are free, and they can be alike."""
        return np.asarray(self.dense[:, : self.n_features], dtype=np.float64)

    @property
    def _others(self) -> AnyFloats:
        return self.dense[:, self.n_features :]

    def _parts(self, values: Floats) -> tuple[Floats, Floats, Floats]:
        """Split values per column, (Q,) or (Q, k): of features, of regions and of others."""
        ends = self.n_features, self.n_features + self.n_regions
        return values[: ends[0]], values[ends[0] : ends[1]], values[ends[1] :]

    @cached_property
    def _pieces(self) -> list[tuple[slice, sparse.csr_array]]:
        """Consecutive edges, few enough for a cache, and which region (V, e) they belong to."""
        found = []
        for start in range(0, len(self.first), _EDGES):
            edges = slice(start, start + _EDGES)
            first, second = self.first[edges], self.second[edges]
            n = len(first)
            places = np.concatenate([first, second]), np.tile(np.arange(n), 2)
            ones = np.ones(2 * n, self.dense.dtype)
            found.append((edges, sparse.csr_array((ones, places), shape=(self.n_regions, n))))
        return found

    def gram(self, weights: Floats, *, exact: bool = False) -> Floats:
        """Return Dᵀ diag(weights) D.

        Without `exact`, products with others have the precision of `dense`, in pieces that are
        added up in double precision.
        """
        n_features, n_dense = self.n_features, self.dense.shape[1]
        own, cross = np.zeros((n_dense, n_dense)), np.zeros((self.n_regions, n_dense))
        roots = np.sqrt(weights).astype(np.float64 if exact else self.dense.dtype)[:, None]
        weighted = weights[:, None] * self._features
        of_features, sums = np.zeros((self.n_regions, n_features)), np.zeros(self.n_regions)
        for edges, incidence in self._pieces:
            # A product of a table with its own transpose takes half the time of any other.
            scaled = self.dense[edges] * roots[edges]
            own += scaled.T @ scaled
            scaled *= roots[edges]
            cross += incidence @ scaled
            of_features += incidence @ weighted[edges]
            sums += incidence @ weights[edges]
        own[:n_features, :n_features] = weighted.T @ self._features
        cross[:, :n_features] = of_features
        pairs = np.zeros((self.n_regions, self.n_regions))
        pairs[self.first, self.second] = pairs[self.second, self.first] = weights
        np.fill_diagonal(pairs, sums)
        return self._in_order(own, cross, pairs)

    def _in_order(self, own: Floats, cross: Floats, pairs: Floats) -> Floats:
        """Join products of dense columns, of regions with these, and of regions: (Q, Q)."""
        n, found = self.n_features, np.empty((self.n_columns, self.n_columns))
        regions, others = slice(n, n + self.n_regions), slice(n + self.n_regions, None)
        found[:n, :n], found[:n, others] = own[:n, :n], own[:n, n:]
        found[others, :n], found[others, others] = own[n:, :n], own[n:, n:]
        found[regions, :n], found[regions, others] = cross[:, :n], cross[:, n:]
        found[:n, regions], found[others, regions] = cross[:, :n].T, cross[:, n:].T
        found[regions, regions] = pairs
        return found

    def dot(self, coefficients: Floats) -> Floats:
        """Return D b."""
        of_features, of_regions, of_others = self._parts(coefficients)
        of_others = of_others.astype(self.dense.dtype, copy=False)
        found = np.empty((len(self.first), *coefficients.shape[1:]))
        for edges, _ in self._pieces:
            some = np.matmul(self._features[edges], of_features, out=found[edges])
            some += self._others[edges] @ of_others
            some += of_regions[self.first[edges]]
            some += of_regions[self.second[edges]]
        return found

    def back(self, values: Floats, *, exact: bool = False) -> Floats:
        """Return Dᵀ values; `exact` as in `gram`."""
        found = np.zeros((self.n_columns, *values.shape[1:]))
        of_features, of_regions, of_others = self._parts(found)
        of_features += self._features.T @ values
        dtype = np.float64 if exact else self.dense.dtype
        for edges, incidence in self._pieces:
            of_regions += incidence @ values[edges]
            of_others += self._others[edges].T @ values[edges].astype(dtype, copy=False)
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
        both, dtype = (matrix + matrix.T) / 2, self.dense.dtype
        of_features, of_regions, of_others = (self._parts(part.T) for part in self._parts(both))
        pairs, with_others = of_regions[1], (2 * of_others[1]).astype(dtype)
        inner, mixed = of_others[2].astype(dtype), (2 * of_others[0]).astype(dtype)
        shares, alone = self._parts(share), self._parts(own)
        ends = np.column_stack([self.first, self.second])
        parts = shares[1][ends] - kept[:, None]
        found = (
            self._features**2 @ alone[0] + 2 * parts.prod(axis=1) * pairs[ends[:, 0], ends[:, 1]]
        )
        found += (parts**2 * np.diagonal(pairs)[ends] + alone[1][ends]).sum(axis=1)
        of_share, single, of_own = (part.astype(dtype) for part in (shares[2], kept, alone[2]))
        unknown = alone[2].any()
        for edges, _ in self._pieces:
            rows = self._features[edges] * (shares[0] - kept[edges, None])
            others = self._others[edges] * (of_share - single[edges, None])
            two = _two_per_row(parts[edges], ends[edges], self.n_regions)
            turned = rows @ of_features[0] + two @ (2 * of_features[1])
            across = others @ inner + rows.astype(dtype) @ mixed
            across += two.astype(dtype) @ with_others
            found[edges] += np.einsum("ef,ef->e", turned, rows)
            found[edges] += np.einsum("em,em->e", across, others)
            if unknown:
                found[edges] += self._others[edges] ** 2 @ of_own
        return np.asarray(found)


def _two_per_row(values: Floats, places: NDArray[np.intp], width: int) -> sparse.csr_array:
    """Return an array (E, width) with values (E, 2) at places (E, 2), and 0 elsewhere."""
    starts = np.arange(0, 2 * len(values) + 1, 2)
    return sparse.csr_array((values.ravel(), places.ravel(), starts), (len(values), width))
