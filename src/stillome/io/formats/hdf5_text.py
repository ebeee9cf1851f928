"""Texts of variable length in HDF5 files, read from the bytes themselves.

Parsed here because the HDF5 library runs for ever on a damaged heap of texts, without a way to
stop it from Python (`tests/io/formats/test_parsers_kept.py` shows it). Here every step moves on.
"""

import math
import struct
import zlib
from pathlib import Path
from typing import IO, NamedTuple

import h5py
import numpy as np
from numpy.typing import NDArray

from stillome.exceptions import FileError

_POINTER = struct.Struct("<IQI")  # length, address of a collection, number of an object in it
_OBJECT = struct.Struct("<HHIQ")
_MAX_COLLECTION = 64 * 2**20
_DEFLATE, _SHUFFLE = 1, 2


class _Place(NamedTuple):
    stream: IO[bytes]
    size: int
    label: str


def read_texts(dataset: h5py.Dataset) -> tuple[str, ...]:
    """Return the texts of a dataset of variable-length strings with one axis.

    Raises
    ------
    FileError
        If the file is damaged, or stores them in a way that is not read.
    """
    path = Path(dataset.file.filename)
    label = f"{path}:{dataset.name}"
    plan = dataset.file.id.get_create_plist()
    if plan.get_sizes() != (8, 8) or plan.get_userblock():
        raise FileError(f"{label}: texts of variable length are not read here. Save them fixed.")
    with path.open("rb") as stream:
        place = _Place(stream, path.stat().st_size, label)
        pointers = _pointers(dataset, place)
        collections: dict[int, dict[int, bytes]] = {}
        return tuple(
            _text(pointers[start : start + _POINTER.size], collections, place)
            for start in range(0, len(pointers), _POINTER.size)
        )


def _pointers(dataset: h5py.Dataset, place: _Place) -> bytes:
    count = math.prod(dataset.shape)
    if dataset.chunks is not None:
        return _chunked(dataset, place)[: count * _POINTER.size]
    offset = dataset.id.get_offset()
    if offset is None:
        if dataset.id.get_storage_size():
            raise FileError(f"{place.label}: compact texts are not read. Save them fixed.")
        return bytes(count * _POINTER.size)
    return _bytes_at(offset, count * _POINTER.size, place)


def _chunked(dataset: h5py.Dataset, place: _Place) -> bytes:
    plan = dataset.id.get_create_plist()
    filters = [plan.get_filter(i)[0] for i in range(plan.get_nfilters())]
    if set(filters) - {_DEFLATE, _SHUFFLE} or len(dataset.shape) != 1:
        raise FileError(f"{place.label}: texts packed in a way that is not read. Save them fixed.")
    length = dataset.chunks[0]
    n_chunks = -(-dataset.shape[0] // length)
    size = length * _POINTER.size
    if n_chunks * size > _MAX_COLLECTION:
        raise FileError(f"{place.label}: more texts than there can be subjects.")
    parts = [bytes(size)] * n_chunks
    for i in range(dataset.id.get_num_chunks()):
        info = dataset.id.get_chunk_info(i)
        number = info.chunk_offset[0] // length
        if info.byte_offset is None or not 0 <= number < n_chunks:
            raise _damaged(place)
        parts[number] = _unfiltered(
            _bytes_at(info.byte_offset, info.size, place), filters, info.filter_mask, size, place
        )
    return b"".join(parts)


def _unfiltered(raw: bytes, filters: list[int], mask: int, size: int, place: _Place) -> bytes:
    for i, kind in reversed(list(enumerate(filters))):
        if mask & 1 << i:
            continue
        if kind == _DEFLATE:
            try:
                raw = zlib.decompressobj().decompress(raw, size + 1)
            except zlib.error as error:
                raise _damaged(place) from error
        elif len(raw) == size:
            shuffled: NDArray[np.uint8] = np.frombuffer(raw, dtype=np.uint8)
            raw = shuffled.reshape(_POINTER.size, -1).T.tobytes()
    if len(raw) != size:
        raise _damaged(place)
    return raw


def _text(pointer: bytes, collections: dict[int, dict[int, bytes]], place: _Place) -> str:
    length, address, number = _POINTER.unpack(pointer)
    if not length or not address:
        return ""
    if address not in collections:
        collections[address] = _collection(address, place)
    data = collections[address].get(number)
    if data is None or length > len(data):
        raise _damaged(place)
    return data[:length].decode("utf-8", errors="replace").rstrip("\0")


def _collection(address: int, place: _Place) -> dict[int, bytes]:
    head = _bytes_at(address, 16, place)
    (size,) = struct.unpack_from("<Q", head, 8)
    if head[:5] != b"GCOL\x01" or size > _MAX_COLLECTION:
        raise _damaged(place)
    data = _bytes_at(address, size, place)
    found: dict[int, bytes] = {}
    start = 16
    while start + _OBJECT.size <= len(data):
        number, _, _, length = _OBJECT.unpack_from(data, start)
        if number == 0:  # the rest is free
            break
        start += _OBJECT.size
        found[number] = data[start : start + length]
        start += (length + 7) // 8 * 8
    return found


def _bytes_at(offset: int, size: int, place: _Place) -> bytes:
    if offset < 0 or size < 0 or offset + size > place.size:
        raise _damaged(place)
    place.stream.seek(offset)
    return place.stream.read(size)


def _damaged(place: _Place) -> FileError:
    return FileError(f"{place.label}: damaged texts in this HDF5 file. Copy it again.")
