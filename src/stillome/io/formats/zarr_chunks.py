"""Chunks of zarr arrays, checked before the zarr package unpacks them.

The package unpacks a chunk to whatever size it claims or has: 200 bytes of bz2 or 32 kB of zstd
become a gigabyte before their size is compared with that of the array. Here the size is known
first; only then does the package get the chunk.
"""

import bz2
import math
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from stillome.exceptions import FileError
from stillome.io.clean import pickled
from stillome.io.guarded_files import MAX_BYTES, read_bytes

_MAX_TEXT = 64 * 2**20
_MAX_PIECES = 100  # of one subject
_MAX_SMALL, _SMALL = 5_000, 1024  # chunks, bytes: one file for every number takes minutes
_MAX_NAMES = 10_000  # pieces of a list of names
_CHECKSUM = "crc32c"
_TEXT = "vlen-utf8"


def codecs_of(metadata: dict[str, Any], label: str) -> tuple[str, ...]:
    """Return the codecs that pack the bytes of an array, the last one first.

    Raises
    ------
    FileError
        If the metadata are damaged, ask for pickled objects (E7), or for another codec.
    """
    try:
        if metadata.get("zarr_format") == 3:
            names = [str(codec["name"]).removeprefix("numcodecs.") for codec in metadata["codecs"]]
            form, *packing = names
            text = form == _TEXT
        else:
            filters = [str(entry["id"]) for entry in metadata.get("filters") or []]
            compressor = metadata.get("compressor")
            packing = [str(compressor["id"])] if compressor else []
            text = filters == [_TEXT]
            form = "bytes" if text or not filters else filters[0]
            if metadata["dtype"] == "|O" and not text:
                raise pickled(label)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise FileError(f"{label}: damaged zarr metadata ({error!r}). Copy it again.") from error
    if "pickle" in (form, *packing):
        raise pickled(label)
    unknown = [name for name in packing if name not in (*SIZES, _CHECKSUM)]
    if form not in ("bytes", _TEXT):
        unknown.insert(0, form)
    if unknown or packing[1:] not in ([], [_CHECKSUM]):
        name = unknown[0] if unknown else " + ".join(packing)
        raise FileError(f"{label}: codec {name!r} is not read. Save it with zstd, blosc or gzip.")
    return tuple(reversed(packing))


def check_pieces(shape: tuple[int, ...], chunks: tuple[int, ...], itemsize: int, label: str) -> int:
    """Refuse chunks that are too large, or so small that reading them never ends.

    Returns
    -------
    int
        The number of bytes in one chunk.
    """
    size = math.prod(chunks) * itemsize
    if size > MAX_BYTES:
        raise FileError(f"{label}: chunks of more than 512 MiB. Save it with smaller chunks.")
    counts = [-(-length // max(1, chunk)) for length, chunk in zip(shape, chunks, strict=True)]
    number = math.prod(counts)
    most = _MAX_PIECES * max(1, *counts) if len(counts) > 1 else _MAX_NAMES
    if number > most or (number > _MAX_SMALL and size < _SMALL):
        raise FileError(f"{label}: too many small chunks. Save it with larger chunks.")
    return size


def read_chunk(path: Path, codecs: tuple[str, ...], size: int, *, text: bool) -> bytes:
    """Read a chunk, still packed, after a check of its size.

    Parameters
    ----------
    path : pathlib.Path
    codecs : tuple of str
        What `codecs_of` returns.
    size : int
        Bytes in an unpacked chunk; not used for texts, whose length varies.
    text : bool

    Raises
    ------
    FileError
        If the chunk is damaged or has another size.
    """
    data = read_bytes(path, raw=True)
    packed = data
    allowed = _MAX_TEXT if text else size
    if codecs[:1] == (_CHECKSUM,):
        packed, codecs = packed[:-4], codecs[1:]
    try:
        found = SIZES[codecs[0]](packed, allowed) if codecs else len(packed)
    except (ValueError, OSError, EOFError, zlib.error, struct.error) as error:
        raise FileError(f"{path}: damaged zarr chunk ({error}). Copy it again.") from error
    if found > allowed or (found != size and not text):
        raise FileError(f"{path}: zarr chunk of {found} bytes, expected {size}. Copy it again.")
    return data


def _zlib_size(data: bytes, limit: int) -> int:
    return _stream_size(zlib.decompressobj(wbits=47), data, limit)


def _bz2_size(data: bytes, limit: int) -> int:
    return _stream_size(bz2.BZ2Decompressor(), data, limit)


def _stream_size(stream: Any, data: bytes, limit: int) -> int:
    """Unpack up to a limit; a second stream behind the first could be of any size."""
    size = len(stream.decompress(data, limit + 1))
    if size <= limit and (not stream.eof or stream.unused_data):
        raise ValueError("it is cut off, or something follows its end")
    return size


def _blosc_size(data: bytes, limit: int) -> int:
    claimed, block, packed = struct.unpack_from("<III", data, 4)
    if packed != len(data) or not 0 < block <= max(claimed, 1):
        raise ValueError("its header contradicts its size")
    return int(claimed)


def _lz4_size(data: bytes, limit: int) -> int:
    return int(struct.unpack_from("<I", data)[0])


def _zstd_size(data: bytes, limit: int) -> int:
    """Return the size that the first frame states; the package unpacks no more than that."""
    if len(data) < 6 or data[:4] != b"\x28\xb5\x2f\xfd":
        raise ValueError("no zstd frame")
    flags = data[4]
    single = bool(flags & 0x20)
    start = 5 + (0 if single else 1) + (0, 1, 2, 4)[flags & 3]
    width = (1 if single else 0, 2, 4, 8)[flags >> 6]
    if width == 0 or len(data) < start + width:
        raise ValueError("a zstd frame without a size")
    size = int.from_bytes(data[start : start + width], "little")
    return size + 256 if width == 2 else size


SIZES: dict[str, Callable[[bytes, int], int]] = {
    "gzip": _zlib_size,
    "zlib": _zlib_size,
    "bz2": _bz2_size,
    "zstd": _zstd_size,
    "blosc": _blosc_size,
    "lz4": _lz4_size,
}
