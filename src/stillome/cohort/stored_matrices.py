"""Matrices (n, V, V) that are read and written a few subjects at a time."""

import io
import math
import os
from collections.abc import Iterator
from copy import copy
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from stillome.arrays import Floats
from stillome.cohort.validation.sliced import is_sliced, read_slice

_PART_VALUES = 2**21  # that are read at a time
LARGE_BYTES = 2**29  # of a file, above which it is read in slices


class StoredMatrices:
    """Matrices (n, V, V), or edges (n, E), in a `.npy` file, of which some are read at a time.

    The file is read and not mapped, so that its pages do not count as memory of the process. Other
    processes are sent its path.

    Parameters
    ----------
    mapped : numpy.memmap of shape (n, V, V) or (n, E)
    rows : array of int, optional
        Which of its subjects, in the order wanted; all without.

    Examples
    --------
    >>> import tempfile
    >>> place = Path(tempfile.mkdtemp(), "matrices.npy")
    >>> np.save(place, np.arange(12).reshape(3, 2, 2))
    >>> stored = StoredMatrices(np.load(place, mmap_mode="r"))
    >>> stored.select(np.array([2, 0]))[1:].tolist(), stored[0].shape
    ([[[0, 1], [2, 3]]], (2, 2))
    """

    def __init__(self, mapped: Any, rows: NDArray[np.intp] | None = None) -> None:
        self._path, self._offset = Path(mapped.filename).resolve(), int(mapped.offset)
        self.dtype, self._rows = mapped.dtype, np.arange(len(mapped)) if rows is None else rows
        self._set_shape(mapped.shape[1:])

    def _set_shape(self, matrix: tuple[int, ...]) -> None:
        self.shape, self.chunks = (len(self._rows), *matrix), (1, *matrix)
        self.ndim = len(self.shape)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, subjects: Any) -> NDArray[Any]:
        """Read some subjects: a position, a slice, positions or a mask."""
        wanted = self._rows[subjects]
        rows = np.atleast_1d(wanted)
        found = np.empty((len(rows), *self.shape[1:]), dtype=self.dtype)
        ends = np.flatnonzero(np.diff(rows) != 1) + 1  # where a run of neighbours ends
        for part in np.split(np.arange(len(rows)), ends) if len(rows) else ():
            found[part] = self._read(int(rows[part[0]]), len(part))
        return found if np.ndim(wanted) else found[0]

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self[:], dtype=dtype, copy=True if copy is None else copy)

    def select(self, subjects: NDArray[np.intp]) -> "StoredMatrices":
        """Return some subjects, still in the file."""
        chosen = copy(self)
        chosen._rows = self._rows[subjects]
        chosen._set_shape(self.shape[1:])
        return chosen

    def _read(self, first: int, n: int) -> NDArray[Any]:
        size = math.prod(self.shape[1:])
        start = self._offset + first * size * self.dtype.itemsize
        values = np.fromfile(self._path, self.dtype, n * size, offset=start)
        return values.reshape(-1, *self.shape[1:])  # fails where the file was cut short


def in_its_file(array: NDArray[Any]) -> Any:
    """Return a large memory map as matrices that are read in slices; anything else as it is.

    Examples
    --------
    >>> type(in_its_file(np.zeros((2, 3, 3)))).__name__
    'ndarray'
    """
    large = isinstance(array, np.memmap) and array.ndim == 3 and array.nbytes > LARGE_BYTES
    return StoredMatrices(array) if large and array.flags.c_contiguous else array


class NpyRows:
    """A `.npy` file into which rows are written as they are made.

    It is written and not mapped: a disk that fills up is an error, and no signal.

    Parameters
    ----------
    path : path-like
    shape : tuple of int
        Of the whole file.
    dtype : dtype-like
    continues : bool, default=False
        Keep the first rows of a file that was written in order, and was not finished. Rows are
        then counted from the first that is missing, and `shape` is that of the missing ones.

    Attributes
    ----------
    n_before : int
        Rows that were there.

    Examples
    --------
    >>> import tempfile
    >>> place = Path(tempfile.mkdtemp(), "rows.npy")
    >>> with NpyRows(place, (3, 2), np.int16) as rows:
    ...     rows[0:1] = np.array([[5, 6]])
    >>> with NpyRows(place, (3, 2), np.int16, continues=True) as rows:
    ...     rows.n_before, rows.shape
    ...     rows[0:2] = np.array([[1, 2], [3, 4]])
    (1, (2, 2))
    >>> np.load(place).tolist()
    [[5, 6], [1, 2], [3, 4]]
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        shape: tuple[int, ...],
        dtype: DTypeLike,
        *,
        continues: bool = False,
    ) -> None:
        self.dtype, self.ndim = np.dtype(dtype), len(shape)
        self._row = math.prod(shape[1:]) * self.dtype.itemsize
        header = _npy_header(shape, self.dtype)
        self._start, self.n_before, place = len(header), 0, Path(path)
        if continues and _begins_with(place, header):
            self.n_before = (place.stat().st_size - self._start) // self._row
        self._file = place.open("r+b" if self.n_before else "wb")  # closed by whoever uses this
        self._file.write(header)
        self._file.flush()
        self.shape = (shape[0] - self.n_before, *shape[1:])

    def __setitem__(self, rows: slice, values: NDArray[Any]) -> None:
        """Write consecutive rows."""
        block = np.ascontiguousarray(values, dtype=self.dtype)
        view = memoryview(block.reshape(-1).view(np.uint8))  # type: ignore[arg-type]
        at, done = self._start + (self.n_before + rows.start) * self._row, 0
        while done < len(view):
            done += os.pwrite(self._file.fileno(), view[done:], at + done)

    def __enter__(self) -> "NpyRows":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


def _npy_header(shape: tuple[int, ...], dtype: np.dtype[Any]) -> bytes:
    written = io.BytesIO()
    descr = np.lib.format.dtype_to_descr(dtype)
    header = {"descr": descr, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_2_0(written, header)
    return written.getvalue()


def _begins_with(path: Path, header: bytes) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(header)) == header


def matrix_parts(connectomes: Any) -> Iterator[tuple[int, NDArray[Any]]]:
    """Give all subjects in order, a few at a time, each time with the number of the first.

    Examples
    --------
    >>> [(start, part.shape) for start, part in matrix_parts(np.zeros((2, 3, 3)))]
    [(0, (2, 3, 3))]
    """
    n, *rest = connectomes.shape
    step = max(1, _PART_VALUES // math.prod(rest))
    for start in range(0, n, step):
        yield start, read_slice(connectomes, slice(start, min(start + step, n)), "connectomes")


def mean_matrix(connectomes: Any, subjects: NDArray[np.intp]) -> Floats:
    """Return the mean (V, V) over some subjects, each of them once.

    Examples
    --------
    >>> mean_matrix(np.arange(12.0).reshape(3, 2, 2), np.array([0, 2])).tolist()
    [[4.0, 5.0], [6.0, 7.0]]
    """
    wanted = np.zeros(connectomes.shape[0], dtype=bool)
    wanted[subjects] = True
    total = np.zeros(connectomes.shape[1:])
    for start, part in matrix_parts(connectomes):
        total += part[wanted[start : start + len(part)]].sum(axis=0, dtype=np.float64)
    return total / wanted.sum()


def some_matrices(connectomes: Any, positions: NDArray[np.intp]) -> Any:
    """Return some subjects, in the order wanted; those of a `LazyStack` stay in their file."""
    if hasattr(connectomes, "select"):
        return connectomes.select(positions)
    if not is_sliced(connectomes):
        return connectomes[positions]
    empty = np.empty((0, *connectomes.shape[1:]), dtype=connectomes.dtype)
    rows = [read_slice(connectomes, slice(i, i + 1), "connectomes") for i in positions.tolist()]
    return np.concatenate([empty, *rows])


def save_matrices(path: Path, connectomes: Any) -> None:
    """Write connectomes as one `.npy` file, a few subjects at a time."""
    with NpyRows(path, tuple(connectomes.shape), np.dtype(connectomes.dtype)) as rows:
        for start, part in matrix_parts(connectomes):
            rows[start : start + len(part)] = part
