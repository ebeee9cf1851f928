"""Connectomes that other processes open by their path, so that only the path is sent to them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stillome.cluster.shared_files import SharedFile, no_room
from stillome.cohort.stored_matrices import StoredMatrices
from stillome.cohort.validation.sliced import read_slice

_PART_BYTES = 2**24  # that are copied at a time


class Reopened:
    """An array in a file; a copy in another process opens the file again when it is sliced.

    Parameters
    ----------
    opener : callable
        From the arguments to something that is sliced.
    *arguments
        Paths, names and the like.
    shape : tuple of int
    """

    def __init__(self, opener: Callable[..., Any], *arguments: Any, shape: tuple[int, ...]) -> None:
        self._opener, self._arguments, self.shape = opener, arguments, shape
        self._opened: Any = None

    def __getitem__(self, rows: slice) -> NDArray[Any]:
        if self._opened is None:
            self._opened = self._opener(*self._arguments)
        return np.asarray(self._opened[rows])

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_opened": None}


def by_path(source: Any) -> Any:
    """Return connectomes (n, ...) in a form that is sent to other processes as a path.

    Memory maps, HDF5 datasets and zarr arrays that are only read are opened again by their path.
    Everything else is written once to a temporary file.

    Examples
    --------
    >>> import pickle
    >>> counts = np.arange(3000.0).reshape(1000, 3)
    >>> sent = pickle.dumps(by_path(counts))
    >>> len(sent) < 1000
    True
    """
    return _in_its_file(source) or _copied(source)


def _in_its_file(source: Any) -> Any:
    kind = f"{type(source).__module__.partition('.')[0]}.{type(source).__name__}"
    shape = tuple(source.shape)
    if kind == "numpy.memmap" and source.mode == "r" and source.flags.c_contiguous:
        first = source
        while isinstance(first.base, np.memmap):
            first = first.base
        # A slice of a memory map says where the whole map begins.
        offset = first.offset + source.ctypes.data - first.ctypes.data
        path = None if source.filename is None else str(Path(source.filename).resolve())
        mapped = (path, source.dtype, "r", offset, shape)
        return None if path is None else Reopened(np.memmap, *mapped, shape=shape)
    if kind == "h5py.Dataset" and source.file.mode == "r" and Path(source.file.filename).is_file():
        file = str(Path(source.file.filename).resolve())
        return Reopened(_dataset, file, source.name, shape=shape)
    if isinstance(source, StoredMatrices):
        return source  # sent as its path by itself
    store: Any = getattr(source, "store", None)
    if kind == "zarr.Array" and type(store).__name__ == "LocalStore":
        return Reopened(_zarr_array, str(Path(store.root).resolve()), source.path, shape=shape)
    # Those of zarr in other places (S3 and the like) are sent as their address by zarr itself.
    return source if kind == "zarr.Array" and type(store).__name__ == "FsspecStore" else None


def _copied(source: Any) -> Reopened:
    file, n = SharedFile(), source.shape[0]
    step = max(_PART_BYTES // max(read_slice(source, slice(0, 1), "X").nbytes, 1), 1)
    shape: tuple[int, ...] = tuple(source.shape)
    dtype = np.dtype(source.dtype)
    try:
        with file.path.open("wb") as stream:
            for start in range(0, n, step):
                part = read_slice(source, slice(start, min(start + step, n)), "X")
                stream.write(np.ascontiguousarray(part, dtype).data)
    except OSError as error:
        raise no_room(file.path.parent.parent, error) from error
    return Reopened(_mapped, file, dtype, shape, shape=shape)


def _mapped(file: SharedFile, dtype: Any, shape: tuple[int, ...]) -> NDArray[Any]:
    return np.memmap(file.path, dtype, "r", 0, shape)


def _dataset(path: str, name: str) -> Any:
    import h5py

    return h5py.File(path, "r")[name]


def _zarr_array(path: str, name: str) -> Any:
    import zarr

    return zarr.open_array(path, path=name, mode="r")
