"""Descriptions of many subjects, computed a few subjects at a time, and standardised within blocks.

Means, regressions on the nuisance and standard deviations of all columns take two passes. Values
are computed anew in every pass, so that nothing of the size of the connectomes is kept.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stillome.arrays import Floats
from stillome.cohort.subject_rows import SubjectRows
from stillome.evaluate.leakage.probe_data import Blocks
from stillome.evaluate.leakage.summary_features import region_features

_PART_VALUES = 2**21  # of a table in memory, that are worked on at a time
_VARIES = 1e-12  # range of a column, relative to its largest value, above rounding errors
_LEFT = 1e-8  # standard deviation that a regression leaves, above rounding errors


@dataclass(frozen=True, eq=False)
class LargeView:
    """A table (n, q) that is computed in parts.

    Attributes
    ----------
    shape : tuple of two int
    parts : callable
        Gives all rows in order, a few at a time, each time with the number of the first.

    Examples
    --------
    >>> view = LargeView.of_table(np.eye(3))
    >>> [(start, part.shape) for start, part in view.parts()]
    [(0, (3, 3))]
    """

    shape: tuple[int, int]
    parts: Callable[[], Iterator[tuple[int, Floats]]]

    @classmethod
    def of_table(cls, table: Floats) -> "LargeView":
        """Return the view of a table in memory."""
        step = max(1, _PART_VALUES // max(table.shape[1], 1))

        def parts() -> Iterator[tuple[int, Floats]]:
            for start in range(0, len(table), step):
                yield start, np.asarray(table[start : start + step], dtype=np.float64)

        return cls((table.shape[0], table.shape[1]), parts)

    @classmethod
    def of_edges(
        cls, rows: SubjectRows, function: Callable[[Floats], Floats], n_columns: int
    ) -> "LargeView":
        """Return what a function makes of the edges (m, E) of every subject."""

        def parts() -> Iterator[tuple[int, Floats]]:
            for start, edges in rows.parts():
                yield start, function(edges.astype(np.float64))

        return cls((len(rows), n_columns), parts)


def edge_views(rows: SubjectRows, n_regions: int) -> dict[str, LargeView]:
    """Return the views of connectomes that are too large to be kept: edges, zeros and regions."""
    n_edges = rows.shape[1]
    return {
        "edges": LargeView.of_edges(rows, np.log1p, n_edges),
        "zeros": LargeView.of_edges(rows, lambda edges: (edges == 0).astype(float), n_edges),
        "regions": LargeView.of_edges(rows, region_features, 2 * n_regions),
    }


class StandardisedView:
    """A view, residualised on the nuisance and standardised within every block of subjects.

    Parameters
    ----------
    view : LargeView
    blocks : list of Block
    design : array of shape (n, Q), or None
        The nuisance.

    Attributes
    ----------
    varying, kept : arrays of int
        Columns that vary in any block, before and after the regression.

    Examples
    --------
    >>> from stillome.evaluate.leakage.probe_data import Block
    >>> everybody = [Block(np.arange(3), [np.arange(3)])]
    >>> view = LargeView.of_table(np.array([[0.0, 5.0], [1.0, 5.0], [2.0, 5.0]]))
    >>> standardised = StandardisedView(view, everybody, None)
    >>> standardised.kept.tolist(), [part.round(2).tolist() for _, part in standardised.parts()]
    ([0], [[[-1.22], [0.0], [1.22]]])
    """

    def __init__(self, view: LargeView, blocks: Blocks, design: Floats | None) -> None:
        self._view = view
        n, n_columns = view.shape
        self._block_of = np.zeros(n, dtype=np.intp)
        for number, (members, _) in enumerate(blocks):
            self._block_of[members] = number
        self._design, inverse = _designs(blocks, design, n)
        shape = (len(blocks), n_columns)
        sizes = np.bincount(self._block_of, minlength=len(blocks))[:, None]
        low, high, sums = np.full(shape, np.inf), np.full(shape, -np.inf), np.zeros(shape)
        self._slopes = np.zeros((len(blocks), len(inverse), n_columns))
        for number, rows, values in self._by_block():
            np.minimum(low[number], values.min(axis=0), out=low[number])
            np.maximum(high[number], values.max(axis=0), out=high[number])
            sums[number] += values.sum(axis=0)
            self._slopes[number] += inverse[:, rows] @ values
        self._means = sums / sizes
        before, after = np.zeros(shape), np.zeros(shape)
        for number, rows, values in self._by_block():
            before[number] += ((values - self._means[number]) ** 2).sum(axis=0)
            after[number] += (self._residuals(number, rows, values) ** 2).sum(axis=0)
        self._spreads = np.sqrt(after / sizes)
        largest = np.maximum(np.abs(low), np.abs(high)).max(axis=0)
        varies = high - low > _VARIES * largest
        self.varying = np.flatnonzero(varies.any(axis=0))
        self._left = varies & (after > _LEFT**2 * before)
        self.kept = np.flatnonzero(self._left.any(axis=0))

    @property
    def shape(self) -> tuple[int, int]:
        """(n, columns that vary)."""
        return self._view.shape[0], len(self.kept)

    def parts(self) -> Iterator[tuple[int, Floats]]:
        """Give all rows in order, a few at a time, each time with the number of the first."""
        for start, values in self._view.parts():
            prepared = np.zeros((len(values), len(self.kept)))
            numbers = self._block_of[start : start + len(values)]
            for number in np.unique(numbers):
                inside = np.flatnonzero(numbers == number)
                rows = start + inside
                left, spreads = self._left[number], self._spreads[number]
                residuals = self._residuals(number, rows, values[inside])
                scaled = np.where(left, residuals / np.where(left, spreads, 1), 0)
                prepared[inside] = scaled[:, self.kept]
            yield start, prepared

    def _by_block(self) -> Iterator[tuple[int, NDArray[np.intp], Floats]]:
        for start, values in self._view.parts():
            numbers = self._block_of[start : start + len(values)]
            for number in np.unique(numbers):
                inside = np.flatnonzero(numbers == number)
                yield int(number), start + inside, values[inside]

    def _residuals(self, number: int, rows: NDArray[np.intp], values: Floats) -> Floats:
        expected = self._means[number] + self._design[rows] @ self._slopes[number]
        return np.asarray(values - expected)


def _designs(blocks: Blocks, design: Floats | None, n: int) -> tuple[Floats, Floats]:
    """Return the nuisance standardised within blocks (n, Q), and its pseudo-inverse (Q, n)."""
    if design is None:
        return np.zeros((n, 0)), np.zeros((0, n))
    standardised, inverse = np.zeros_like(design), np.zeros(design.shape[::-1])
    for members, _ in blocks:
        block = design[members] - design[members].mean(axis=0)
        varies = np.ptp(design[members], axis=0) > _VARIES
        block[:, varies] /= block[:, varies].std(axis=0)
        block[:, ~varies] = 0
        standardised[members] = block
        cut = np.finfo(np.float64).eps * max(block.shape)
        inverse[:, members] = np.linalg.pinv(block, rcond=cut)
    return standardised, inverse
