"""Arrays of zarr stores, opened by the zarr package behind a check of every chunk.

This module imports the package, which is an extra; `stillome.io.formats.zarr_store` imports this
module only when a store is read.
"""

import warnings
from pathlib import Path
from typing import Any, Literal

import zarr
from zarr.core.buffer import Buffer, BufferPrototype, default_buffer_prototype
from zarr.storage import LocalStore

from stillome.exceptions import FileError
from stillome.io.formats.zarr_chunks import check_pieces, codecs_of, read_chunk
from stillome.io.guarded_files import read_bytes
from stillome.io.lazy_stack import STORAGE_ERRORS

_METADATA = (".zarray", ".zattrs", "zarr.json")
_MAX_METADATA = 2**20


class CheckedStore(LocalStore):
    """The folder of one array: nothing is written, and every chunk is checked.

    Attributes
    ----------
    codecs : tuple of str
        What packs the chunks, the last one first.
    size : int
        Bytes in an unpacked chunk.
    text : bool
        Whether the chunks hold texts, whose length varies.
    """

    codecs: tuple[str, ...] = ()
    size: int = 0
    text: bool = False

    def get_sync(
        self, key: str, *, prototype: BufferPrototype | None = None, byte_range: Any = None
    ) -> Buffer | None:
        """Return a file of the array whole; None if it is not there."""
        path = self.root / key
        if not path.is_file():
            return None
        if not path.resolve().is_relative_to(self.root.resolve()):
            raise FileError(f"{path}: leads outside the zarr store. Copy the file itself into it.")
        if path.name in _METADATA:
            data = read_bytes(path, limit=_MAX_METADATA, raw=True)
        else:
            data = read_chunk(path, self.codecs, self.size, text=self.text)
        return (prototype or default_buffer_prototype()).buffer.from_bytes(data)

    async def get(
        self, key: str, prototype: BufferPrototype | None = None, byte_range: Any = None
    ) -> Buffer | None:
        """Return a file of the array whole; None if it is not there."""
        return self.get_sync(key, prototype=prototype)


def open_array(folder: Path, metadata: dict[str, Any], label: str) -> zarr.Array:
    """Open one array of either version; its chunks are read when it is sliced.

    Raises
    ------
    FileError
        If the metadata are damaged, or need pickled objects (E7) or other codecs.
    """
    store = CheckedStore(folder, read_only=True)
    store.codecs = codecs_of(metadata, label)
    version: Literal[2, 3] = 3 if metadata.get("zarr_format") == 3 else 2
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of data types that may change between versions
            array = zarr.open_array(store, mode="r", zarr_format=version)
        dtype = array.dtype
        store.size = check_pieces(array.shape, array.chunks, dtype.itemsize, label)
        there = array.nchunks_initialized
    except STORAGE_ERRORS as error:
        raise FileError(f"{label}: zarr metadata that cannot be read ({error}).") from error
    if array.size and not there:
        raise FileError(
            f"{label}: none of its chunks is there under the name that the metadata say."
        )
    store.text = dtype.kind not in "biufSU"
    return array
