"""Connectomes where they are: in memory, in a file or a store, read a few subjects at a time."""

import hashlib
from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import DTypeLike, NDArray

from stillome.cohort.edges import matrices_to_edges
from stillome.cohort.reopening import by_path
from stillome.cohort.validation.number_dtypes import in_wide_dtype
from stillome.cohort.validation.sliced import read_slice

_PART_BYTES = 2**24  # of edges that are read at a time, as 64-bit numbers
_CHUNK_BYTES = 2**25  # the same where chunks of a store are larger, which are unpacked as a whole


class SubjectRows:
    """Edge vectors (n, E) of anything that gives connectomes of some subjects when it is sliced.

    Parameters
    ----------
    source : array, memory map, zarr array, HDF5 dataset or Dask array
        Of shape (n, V, V) or (n, E), validated.
    rows : array of int, optional
        Which of its subjects, in increasing order; all without.

    Examples
    --------
    >>> rows = SubjectRows(np.arange(12).reshape(4, 3))
    >>> rows.shape, rows[1:3].tolist(), rows.some(np.array([0, 3]))[:].tolist()
    ((4, 3), [[3, 4, 5], [6, 7, 8]], [[0, 1, 2], [9, 10, 11]])
    """

    ndim = 2

    def __init__(self, source: Any, rows: NDArray[np.intp] | None = None) -> None:
        self.source, self.rows = source, rows
        n = source.shape[0] if rows is None else len(rows)
        n_regions = source.shape[1]
        n_edges = n_regions * (n_regions - 1) // 2 if len(source.shape) == 3 else n_regions
        self.shape = (int(n), int(n_edges))

    @classmethod
    def of(cls, values: "AnyRows") -> "SubjectRows":
        """Return the rows of an array; rows as they are."""
        return values if isinstance(values, SubjectRows) else cls(values)

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the connectomes, in which answers are given back."""
        return np.dtype(self.source.dtype)

    @property
    def chunks(self) -> tuple[int, int]:
        """How many subjects are best read at a time: a sign of what is read in slices."""
        stored = getattr(self.source, "chunks", None)
        return (max(int(np.max(stored[0])), 1) if stored else 1, self.shape[1])

    @property
    def is_in_memory(self) -> bool:
        """Whether the connectomes are an array that nobody else changes."""
        return type(self.source) is np.ndarray

    @property
    def form(self) -> NDArray[Any]:
        """An array of no subjects, (0, V, V) or (0, E), shaped as the connectomes are."""
        return np.empty((0, *self.source.shape[1:]))

    def __getitem__(self, subjects: slice | NDArray[Any]) -> Any:
        """Return the edges (m, E) of consecutive subjects, in a wide dtype.

        Those of a mask, or of positions in increasing order, stay where they are, as in `some`.
        """
        if isinstance(subjects, np.ndarray):
            return self.some(subjects)
        first, last, _ = subjects.indices(len(self))
        if self.rows is None:
            return self._read(first, last)
        chosen = self.rows[first:last]
        if not len(chosen):
            return self._read(0, 0)
        return self._read(int(chosen[0]), int(chosen[-1]) + 1)[chosen - chosen[0]]

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        """Return all of them, for those that fit into memory."""
        return np.array(self[:], dtype=dtype, copy=True if copy is None else copy)

    def some(self, rows: NDArray[Any]) -> "SubjectRows":
        """Return some of these subjects: a mask, or positions in increasing order."""
        positions = np.flatnonzero(rows) if rows.dtype == bool else rows
        return type(self)(self.source, positions if self.rows is None else self.rows[positions])

    def by_path(self) -> "SubjectRows":
        """Return the same subjects in a form that is sent to other processes as a path."""
        return type(self)(by_path(self.source), self.rows)

    def parts(self) -> Iterator[tuple[int, NDArray[Any]]]:
        """Give all subjects in order, a few at a time, each time with the number of the first."""
        step = self.at_a_time(max(1, _PART_BYTES // (8 * self.shape[1])))
        for start in range(0, len(self), step):
            yield start, self[start : start + step]

    def at_a_time(self, few: int, *others: Any) -> int:
        """Return how many subjects to read at a time where a few would do.

        Chunks of a store are unpacked as a whole, so that it is one chunk, or half, a third ... of
        one that would take too much memory.

        Parameters
        ----------
        few : int
        *others : tuple or None
            Chunks of other stores of these subjects; the largest counts.

        Examples
        --------
        >>> rows = SubjectRows(np.zeros((100, 3)))
        >>> rows.at_a_time(5), rows.at_a_time(5, (20, 3))
        (5, 20)
        """
        chunk = max([self.chunks[0], *(int(np.max(chunks[0])) for chunks in others if chunks)])
        if few >= chunk:
            return few
        most = max(_CHUNK_BYTES // (8 * max(self.shape[1], 1)), few)
        n_parts = -(-chunk // most)
        return -(-chunk // n_parts)

    def sha256(self) -> str:
        """Return the hash of all values, the same for integers and floats."""
        digest = hashlib.sha256(repr(self.shape).encode())
        for _, part in self.parts():
            values: Any = np.ascontiguousarray(part, dtype="<f8")
            digest.update(values)
        return digest.hexdigest()

    def _read(self, first: int, last: int) -> NDArray[Any]:
        part = read_slice(self.source, slice(first, last), "X")
        return in_wide_dtype(matrices_to_edges(part, check=False))


AnyRows: TypeAlias = NDArray[Any] | SubjectRows
