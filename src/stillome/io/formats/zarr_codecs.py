"""Unpacking one piece of a zarr array, after a look at the sizes that it claims.

The codecs' own libraries believe those sizes and may crash on damaged pieces.
"""

import bz2
import struct
import zlib
from collections.abc import Callable

from stillome.exceptions import FileError

_ERRORS = (RuntimeError, ValueError, TypeError, zlib.error, OSError, EOFError, MemoryError)


def unpack(codec: str, data: bytes, size: int, label: str, *, exact: bool = True) -> bytes:
    """Unpack one piece.

    Parameters
    ----------
    codec : str
        A key of `CODECS`.
    data : bytes
    size : int
        How many bytes are expected; at most so many if not `exact`.
    label : str
        What messages call the array.
    exact : bool, default=True

    Raises
    ------
    FileError
        If the piece is damaged or of another size.
    """
    if codec not in CODECS:
        raise FileError(f"{label}: codec {codec!r} is not read. Save it with zstd, blosc or gzip.")
    try:
        found = CODECS[codec](data, size, exact)
    except _ERRORS as error:
        raise FileError(f"{label}: a damaged piece ({error}). Copy the store anew.") from error
    if len(found) > size or (exact and len(found) != size):
        raise FileError(f"{label}: a piece of {len(found)} bytes, expected {size}. Copy it anew.")
    return found


def _zlib(data: bytes, size: int, exact: bool) -> bytes:
    return zlib.decompressobj(wbits=47).decompress(data, size + 1)


def _bz2(data: bytes, size: int, exact: bool) -> bytes:
    return bz2.BZ2Decompressor().decompress(data, size + 1)


def _zstd(data: bytes, size: int, exact: bool) -> bytes:
    from numcodecs.zstd import Zstd

    _check_claim(_zstd_size(data), size, exact)
    return bytes(Zstd().decode(data))


def _blosc(data: bytes, size: int, exact: bool) -> bytes:
    from numcodecs.blosc import Blosc

    if len(data) < 16:
        raise ValueError("its header is cut off")
    claimed, block, packed = struct.unpack_from("<III", data, 4)
    _check_claim(claimed, size, exact)
    if packed != len(data) or not 0 < block <= max(claimed, 1):
        raise ValueError("its header contradicts its size")
    return bytes(Blosc().decode(data))


def _lz4(data: bytes, size: int, exact: bool) -> bytes:
    from numcodecs.lz4 import LZ4

    if len(data) < 5:
        raise ValueError("its header is cut off")
    _check_claim(struct.unpack_from("<I", data)[0], size, exact)
    return bytes(LZ4().decode(data))


def _without_checksum(data: bytes, size: int, exact: bool) -> bytes:
    return data[:-4]


def _check_claim(claimed: int, size: int, exact: bool) -> None:
    if claimed > size or (exact and claimed != size):
        raise ValueError(f"it claims {claimed} bytes")


def _zstd_size(data: bytes) -> int:
    """Return the size of the content as a zstd frame states it."""
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


CODECS: dict[str, Callable[[bytes, int, bool], bytes]] = {
    "gzip": _zlib,
    "zlib": _zlib,
    "bz2": _bz2,
    "zstd": _zstd,
    "blosc": _blosc,
    "lz4": _lz4,
    "crc32c": _without_checksum,
}
