"""A stack of connectomes that stays in its file; only slices are read and cleaned."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from stillome.exceptions import FileError, InputError
from stillome.io.clean import Cleaner, Tally, as_numbers, check_dtype
from stillome.io.free_memory import check_fits

_SLICE_BYTES = 4 * 2**20
# What HDF5, zarr and memory maps raise when a file is damaged behind its header.
STORAGE_ERRORS = (
    *(OSError, RuntimeError, ValueError, TypeError, KeyError, IndexError, EOFError),
    *(MemoryError, SystemError),  # from codecs, for sizes in a damaged chunk
)


class LazyStack:
    """Connectomes (n, V, V) in an open file; slices are read, cleaned and checked on access.

    Parameters
    ----------
    values : array-like with `shape`, `dtype` and slicing
        An open HDF5 dataset, zarr array, memory map or array with three axes.
    axis : int
        The axis that runs over subjects.
    cleaner : Cleaner
    keep : array of int, optional
        Positions of the regions to keep, in the order wanted.
    subjects : array of int, optional
        Positions of the subjects to keep, in the order wanted.

    Examples
    --------
    >>> counts = np.arange(8).reshape(2, 2, 2)
    >>> stack = LazyStack(np.triu(counts), 0, Cleaner(lambda position: f"stack[{position}]"))
    >>> stack.shape
    (2, 2, 2)
    >>> stack[1].tolist()
    [[0, 5], [5, 0]]
    """

    ndim = 3

    def __init__(
        self,
        values: Any,
        axis: int,
        cleaner: Cleaner,
        *,
        keep: NDArray[np.intp] | None = None,
        subjects: NDArray[np.intp] | None = None,
    ) -> None:
        check_dtype(values.dtype, cleaner.label_of(0))
        self._values = values
        self._axis = axis
        self._cleaner = cleaner
        self._keep = keep
        self._subjects = subjects

    @property
    def shape(self) -> tuple[int, int, int]:
        """(n, V, V)."""
        stored = self._values.shape
        n_subjects = stored[self._axis] if self._subjects is None else len(self._subjects)
        n_regions = stored[self._axis - 1] if self._keep is None else len(self._keep)
        return int(n_subjects), int(n_regions), int(n_regions)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of cleaned slices."""
        empty = as_numbers(np.empty(0, dtype=self._values.dtype), self._cleaner.label_of(0))
        return self._cleaner.dtype_of(empty.dtype)

    @property
    def chunks(self) -> tuple[int, int, int]:
        """How many subjects are best read at a time; whole matrices of them."""
        stored = getattr(self._values, "chunks", None)
        return (int(stored[self._axis]) if stored else 1, *self.shape[1:])

    @property
    def nbytes(self) -> int:
        """How much memory the whole stack would take."""
        return math.prod(self.shape) * self.dtype.itemsize

    def __iter__(self) -> Iterator[NDArray[Any]]:
        """Give the matrices of all subjects, read a few at a time."""
        step = self._step(np.empty((1, *self.shape[1:]), dtype=self.dtype))
        for start in range(0, len(self), step):
            yield from self[start : start + step]

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"LazyStack(shape={self.shape}, dtype={self.dtype})"

    def __getitem__(self, subjects: Any) -> NDArray[Any]:
        """Read some subjects: a position, a slice, a list of positions or a mask."""
        positions = np.arange(len(self))[subjects]
        if positions.ndim > 1:
            raise InputError("A lazy stack is indexed by subject only; take edges afterwards.")
        block = self.read(np.atleast_1d(positions), Tally())
        return block if positions.ndim else block[0]

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False:
            raise ValueError("A lazy stack has to be copied into memory to become an array.")
        array = self.read(np.arange(len(self)), Tally())
        return array if dtype is None else array.astype(dtype, copy=False)

    def select(self, subjects: NDArray[np.intp]) -> "LazyStack":
        """Return the stack of some subjects, still in the file."""
        stored = subjects if self._subjects is None else self._subjects[subjects]
        return LazyStack(self._values, self._axis, self._cleaner, keep=self._keep, subjects=stored)

    def read(self, positions: NDArray[np.intp], tally: Tally) -> NDArray[Any]:
        """Read and clean the subjects at `positions`; add what was found to `tally`.

        Subjects are counted there by their positions in this stack, not in the file.
        """
        shape, dtype = (len(positions), *self.shape[1:]), self.dtype
        check_fits(2 * math.prod(shape) * dtype.itemsize, self._cleaner.label_of(0))
        block = np.empty(shape, dtype=dtype)
        stored = positions if self._subjects is None else self._subjects[positions]
        step = self._step(block)
        for start in range(0, len(positions), step):
            part, places = block[start : start + step], stored[start : start + step]
            self._fill(part, places)
            found = Tally()
            self._cleaner.clean(part, found, positions=places)
            own = dict(zip(places.tolist(), positions[start : start + step].tolist(), strict=True))
            for stored_at in found.empty_regions.values():
                stored_at[:] = [own[place] for place in stored_at]
            tally.add(found)
        return block

    def _step(self, block: NDArray[Any]) -> int:
        """Return how many subjects to read at once: whole chunks of the file, if it has any."""
        step = max(1, _SLICE_BYTES // max(1, block[:1].nbytes))
        chunks = getattr(self._values, "chunks", None)
        chunk = int(chunks[self._axis]) if chunks else 1
        return max(chunk, step // chunk * chunk)

    def _fill(self, part: NDArray[Any], stored: NDArray[np.intp]) -> None:
        label = self._cleaner.label_of(int(stored[0]))
        try:
            consecutive = len(stored) == 1 or bool((np.diff(stored) == 1).all())
            if consecutive:
                self._read_run(part, int(stored[0]))
            else:
                for offset, position in enumerate(stored):
                    self._read_run(part[offset : offset + 1], int(position))
        except STORAGE_ERRORS as error:
            raise FileError(f"{label}: cannot be read further ({error}). Copy it again.") from error

    def _read_run(self, part: NDArray[Any], first: int) -> None:
        run = slice(first, first + len(part))
        direct = getattr(self._values, "read_direct", None)
        if self._axis == 0 and self._keep is None and direct is not None:
            direct(part, source_sel=np.s_[run])
            return
        place: list[slice] = [slice(None)] * 3
        place[self._axis] = run
        raw = np.moveaxis(np.asarray(self._values[tuple(place)]), self._axis, 0)
        part[...] = raw if self._keep is None else raw[:, self._keep][:, :, self._keep]
