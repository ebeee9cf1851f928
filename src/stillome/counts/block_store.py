"""Where the blocks of a table are kept: in memory, or in a file without a name."""

import os
import tempfile
import weakref
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stillome.exceptions import FileError


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
        try:
            self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - closed with the store
        except OSError as error:
            raise _no_room(error) from error
        weakref.finalize(self, self._file.close)

    def _read(self, number: int, rows: slice) -> NDArray[Any]:
        edges = self.blocks[number]
        width = edges.stop - edges.start
        first, last, _ = rows.indices(self.shape[0])
        values = np.empty((last - first, width), self.dtype)
        view = memoryview(values.reshape(-1).view(np.uint8))  # type: ignore[arg-type]
        at, done = self._place(number, first), 0
        while done < values.nbytes:
            read = os.preadv(self._file.fileno(), [view[done:]], at + done)
            if not read:
                raise FileError(
                    f"{tempfile.gettempdir()}: a temporary file of stillome was cut short by "
                    "another program. Run again."
                )
            done += read
        return values

    def _write(self, number: int, start: int, values: NDArray[Any]) -> None:
        block = np.ascontiguousarray(values, dtype=self.dtype)
        view = memoryview(block.reshape(-1).view(np.uint8))  # type: ignore[arg-type]
        at, done = self._place(number, start), 0
        while done < block.nbytes:
            try:
                done += os.pwrite(self._file.fileno(), view[done:], at + done)
            except OSError as error:
                raise _no_room(error) from error

    def _place(self, number: int, row: int) -> int:
        """Return where a row of a block begins in the file."""
        edges = self.blocks[number]
        before = self.shape[0] * edges.start + row * (edges.stop - edges.start)
        return before * self.dtype.itemsize


def _no_room(error: OSError) -> FileError:
    said = error.strerror or error
    return FileError(
        f"{tempfile.gettempdir()}: cannot be written to ({said}), and what a fit keeps does not "
        "fit into memory. Make room there, or set TMPDIR to a larger disk."
    )
