"""Where the blocks of a table are kept: in memory, or in a temporary file."""

import os
import tempfile
import weakref
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stillome.cluster.shared_files import SharedFile, no_room, not_seen
from stillome.exceptions import FileError

# Blocks begin at multiples of this many bytes: where two computers write to one page of a file, a
# file system of a cluster can lose what one of them wrote.
_PAGE = 2**16


class BlockStore(ABC):
    """Blocks of edges of a table (n, E), each an array (n, e) in row order.

    Parameters
    ----------
    shape : tuple of two int
    blocks : list of slice
        The edges of every block, in order.
    dtype : numpy.dtype
    """

    def __init__(self, shape: tuple[int, int], blocks: list[slice], dtype: np.dtype[Any]) -> None:
        self.shape, self.blocks, self.dtype = shape, blocks, dtype

    def read(self, number: int) -> NDArray[Any]:
        """Return a block (n, e)."""
        return self._read(number, slice(0, self.shape[0]))

    def write(self, number: int, values: NDArray[Any]) -> None:
        """Keep a block (n, e)."""
        self._write(number, 0, values)

    def read_rows(self, rows: slice) -> NDArray[Any]:
        """Return all edges of consecutive subjects, (m, E)."""
        return np.hstack([self._read(number, rows) for number in range(len(self.blocks))])

    def write_rows(self, start: int, values: NDArray[Any]) -> None:
        """Keep all edges (m, E) of consecutive subjects from `start` on."""
        for number, edges in enumerate(self.blocks):
            self._write(number, start, values[:, edges])

    def reorder(self, order: NDArray[np.intp]) -> None:
        """Put subjects into another order."""
        for number in range(len(self.blocks)):
            self.write(number, self.read(number)[order])

    @abstractmethod
    def _read(self, number: int, rows: slice) -> NDArray[Any]: ...

    @abstractmethod
    def _write(self, number: int, start: int, values: NDArray[Any]) -> None: ...


class MemoryStore(BlockStore):
    """Blocks in memory."""

    def __init__(self, shape: tuple[int, int], blocks: list[slice], dtype: np.dtype[Any]) -> None:
        super().__init__(shape, blocks, dtype)
        n = shape[0]
        self._kept = [np.empty((n, edges.stop - edges.start), dtype) for edges in blocks]

    def _read(self, number: int, rows: slice) -> NDArray[Any]:
        return self._kept[number][rows]

    def _write(self, number: int, start: int, values: NDArray[Any]) -> None:
        self._kept[number][start : start + len(values)] = values


class FileStore(BlockStore):
    """Blocks in a temporary file, which the system removes whatever ends the process.

    It is read and not mapped, so that its pages do not count as memory of the process.
    """

    def __init__(self, shape: tuple[int, int], blocks: list[slice], dtype: np.dtype[Any]) -> None:
        super().__init__(shape, blocks, dtype)
        self._make()

    def read_rows(self, rows: slice) -> NDArray[Any]:
        """Return all edges of consecutive subjects, (m, E)."""
        with self._open() as file:
            numbers = range(len(self.blocks))
            return np.hstack([self._read_from(file, number, rows) for number in numbers])

    def write_rows(self, start: int, values: NDArray[Any]) -> None:
        """Keep all edges (m, E) of consecutive subjects from `start` on."""
        with self._open() as file:
            for number, edges in enumerate(self.blocks):
                self._write_to(file, number, start, values[:, edges])

    def _make(self) -> None:
        self._place = Path(tempfile.gettempdir())
        try:
            self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - closed with the store
        except OSError as error:
            raise no_room(self._place, error) from error
        weakref.finalize(self, self._file.close)

    @contextmanager
    def _open(self) -> Iterator[int]:
        """Give the descriptor of the file."""
        yield self._file.fileno()

    def _read(self, number: int, rows: slice) -> NDArray[Any]:
        with self._open() as file:
            return self._read_from(file, number, rows)

    def _write(self, number: int, start: int, values: NDArray[Any]) -> None:
        with self._open() as file:
            self._write_to(file, number, start, values)

    def _read_from(self, file: int, number: int, rows: slice) -> NDArray[Any]:
        edges = self.blocks[number]
        width = edges.stop - edges.start
        first, last, _ = rows.indices(self.shape[0])
        values = np.empty((last - first, width), self.dtype)
        view = memoryview(values.reshape(-1).view(np.uint8))  # type: ignore[arg-type]
        at, done = self._offset(number, first), 0
        while done < values.nbytes:
            read = os.preadv(file, [view[done:]], at + done)
            if not read:
                raise FileError(
                    f"{self._place}: a temporary file of stillome was cut short by another "
                    "program. Run again."
                )
            done += read
        return values

    def _write_to(self, file: int, number: int, start: int, values: NDArray[Any]) -> None:
        block = np.ascontiguousarray(values, dtype=self.dtype)
        view = memoryview(block.reshape(-1).view(np.uint8))  # type: ignore[arg-type]
        at, done = self._offset(number, start), 0
        while done < block.nbytes:
            try:
                done += os.pwrite(file, view[done:], at + done)
            except OSError as error:
                raise no_room(self._place, error) from error

    def _offset(self, number: int, row: int) -> int:
        """Return where a row of a block begins in the file."""
        edges, first = self.blocks[number], self.blocks[0]
        whole = self.shape[0] * (first.stop - first.start) * self.dtype.itemsize
        begin = number * -(-whole // _PAGE) * _PAGE
        return begin + row * (edges.stop - edges.start) * self.dtype.itemsize


class SharedStore(FileStore):
    """Blocks in a temporary file with a name, which the workers of a cluster open by its path.

    The process that made it removes it. It is opened for every block and closed afterwards: file
    systems of clusters show others what was written only then.
    """

    def _make(self) -> None:
        self._shared = SharedFile()
        self._place = self._shared.path.parent.parent
        try:
            self._shared.path.touch()
        except OSError as error:
            raise no_room(self._place, error) from error

    @contextmanager
    def _open(self) -> Iterator[int]:
        try:
            file = os.open(self._shared.path, os.O_RDWR)
        except OSError as error:
            raise not_seen(self._shared.path, error) from error
        try:
            yield file
        except BaseException:
            with suppress(OSError):
                os.close(file)
            raise
        try:
            os.close(file)
        except OSError as error:  # a file system of a cluster can find out so late that it is full
            raise no_room(self._place, error) from error
