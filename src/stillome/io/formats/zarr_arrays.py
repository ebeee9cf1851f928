"""Arrays of zarr stores (versions 2 and 3), read piece by piece from their folder."""

import itertools
import math
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stillome.exceptions import FileError
from stillome.io.clean import pickled
from stillome.io.formats.zarr_codecs import unpack
from stillome.io.guarded_files import MAX_BYTES, read_bytes

_TEXT_BYTES = 64 * 2**20


@dataclass(frozen=True)
class ZarrArray:
    """One array that stays in its folder; slices without steps are read.

    Attributes
    ----------
    folder : pathlib.Path
    shape, chunks : tuple of int
    dtype : numpy.dtype
        Of objects for texts of variable length.
    codecs : tuple of str
        In the order in which pieces are unpacked.
    separator, prefix : str
        How the name of a piece is made of its position.
    order : str
    fill : float
    """

    folder: Path
    shape: tuple[int, ...]
    chunks: tuple[int, ...]
    dtype: np.dtype[Any]
    codecs: tuple[str, ...]
    separator: str
    prefix: str
    order: str
    fill: Any

    def __getitem__(self, key: Any) -> NDArray[Any]:
        ranges = self._ranges(key)
        shape = tuple(stop - start for start, stop in ranges)
        out = np.full(shape, self.fill, dtype=self.dtype)
        for position in self._positions(ranges):
            piece = self._piece(position)
            if piece is None:
                continue
            target, source = [], []
            for place, length, (start, stop) in zip(position, self.chunks, ranges, strict=True):
                low, high = max(start, place * length), min(stop, (place + 1) * length)
                target.append(slice(low - start, high - start))
                source.append(slice(low - place * length, high - place * length))
            out[tuple(target)] = piece[tuple(source)]
        return out

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    def _ranges(self, key: Any) -> list[tuple[int, int]]:
        keys = () if key is Ellipsis else key if isinstance(key, tuple) else (key,)
        full = (*keys, *[slice(None)] * (len(self.shape) - len(keys)))
        found = []
        for part, length in zip(full, self.shape, strict=True):
            start, stop, _ = part.indices(length)
            found.append((start, max(start, stop)))
        return found

    def _positions(self, ranges: list[tuple[int, int]]) -> Iterator[tuple[int, ...]]:
        axes = [
            range(start // length, -(-stop // length))
            for (start, stop), length in zip(ranges, self.chunks, strict=True)
        ]
        return itertools.product(*axes)

    def _piece(self, position: tuple[int, ...]) -> NDArray[Any] | None:
        name = self.prefix + self.separator.join(str(place) for place in position)
        path = self.folder / (name or "c")
        if not path.is_file():
            return None  # never written: it holds the fill value
        data = read_bytes(path, raw=True)
        label = str(path)
        text = self.dtype.hasobject
        size = _TEXT_BYTES if text else math.prod(self.chunks) * self.dtype.itemsize
        for i, codec in enumerate(self.codecs):
            last = i == len(self.codecs) - 1
            data = unpack(codec, data, size if last else MAX_BYTES, label, exact=last and not text)
        if text:
            return _texts(data, math.prod(self.chunks), label).reshape(self.chunks)
        if len(data) != size:
            raise FileError(f"{label}: a piece of {len(data)} bytes, expected {size}.")
        flat = np.frombuffer(data, dtype=self.dtype)
        return flat.reshape(self.chunks, order="F" if self.order == "F" else "C")


def zarr_array(folder: Path, metadata: dict[str, Any], label: str) -> ZarrArray:
    """Make sense of the metadata of one array, of either version.

    Raises
    ------
    FileError
        If they are damaged, speak of pickles (E7), or of something that is not read.
    """
    version = metadata.get("zarr_format")
    try:
        array = _version3(folder, metadata) if version == 3 else _version2(folder, metadata)
        whole = all(type(n) is int and 0 < n < 2**48 for n in (*array.shape, *array.chunks))
        if not whole or len(array.shape) != len(array.chunks) or len(array.shape) > 4:
            raise ValueError(f"sizes {array.shape} in pieces of {array.chunks}")
        np.full((), array.fill, dtype=array.dtype)
    except _PickledError:
        raise pickled(label) from None
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise FileError(f"{label}: zarr metadata that are not read ({error}).") from error
    if math.prod(array.chunks) * array.dtype.itemsize > MAX_BYTES:
        raise FileError(f"{label}: pieces of more than 512 MiB. Save it with smaller chunks.")
    return array


class _PickledError(Exception):
    """The metadata ask for a codec that runs code."""


def _version2(folder: Path, metadata: dict[str, Any]) -> ZarrArray:
    filters = [str(entry["id"]) for entry in metadata.get("filters") or []]
    compressor = metadata.get("compressor")
    codecs = (str(compressor["id"]),) if compressor else ()
    if "pickle" in filters or "pickle" in codecs:
        raise _PickledError
    text = filters == ["vlen-utf8"]
    if filters and not text:
        raise ValueError(f"filter {filters[0]!r}")
    dtype = np.dtype(object) if text else _numbers_or_text(metadata["dtype"])
    return ZarrArray(
        folder,
        tuple(metadata["shape"]),
        tuple(metadata["chunks"]),
        dtype,
        codecs,
        separator=str(metadata.get("dimension_separator", ".")),
        prefix="",
        order=str(metadata.get("order", "C")),
        fill="" if text else _fill(metadata.get("fill_value"), dtype),
    )


def _version3(folder: Path, metadata: dict[str, Any]) -> ZarrArray:
    grid = metadata["chunk_grid"]
    if grid["name"] != "regular":
        raise ValueError(f"chunk grid {grid['name']!r}")
    names = [str(entry["name"]).removeprefix("numcodecs.") for entry in metadata["codecs"]]
    if "pickle" in names:
        raise _PickledError
    first, *packing = metadata["codecs"]
    text = names[0] == "vlen-utf8"
    if names[0] != "bytes" and not text:
        raise ValueError(f"codec {names[0]!r}")
    big = (first.get("configuration") or {}).get("endian") == "big"
    dtype = np.dtype(object) if text else _type3(metadata["data_type"], big)
    encoding = metadata.get("chunk_key_encoding") or {"name": "default"}
    default = encoding["name"] == "default"
    separator = (encoding.get("configuration") or {}).get("separator", "/" if default else ".")
    return ZarrArray(
        folder,
        tuple(metadata["shape"]),
        tuple(grid["configuration"]["chunk_shape"]),
        dtype,
        tuple(reversed(names[1 : len(packing) + 1])),
        separator=str(separator),
        prefix=f"c{separator}" if default else "",
        order="C",
        fill="" if text else _fill(metadata.get("fill_value"), dtype),
    )


def _type3(name: Any, big: bool) -> np.dtype[Any]:
    if isinstance(name, dict):
        size = int(name["configuration"]["length_bytes"])
        kinds = {"fixed_length_utf32": f"U{size // 4}", "null_terminated_bytes": f"S{size}"}
        name = kinds[name["name"]]
    dtype = _numbers_or_text(name)
    return dtype.newbyteorder(">" if big else "<")


def _numbers_or_text(name: Any) -> np.dtype[Any]:
    if not isinstance(name, str):
        raise ValueError(f"type {name!r}")
    dtype = np.dtype(name)
    if dtype.hasobject:
        raise _PickledError
    if dtype.kind not in "biufSU" or dtype.itemsize == 0:
        raise ValueError(f"type {name!r}")
    return dtype


def _fill(value: Any, dtype: np.dtype[Any]) -> Any:
    if dtype.kind in "SU":
        return ""
    return float(value) if isinstance(value, str) else value or 0


def _texts(data: bytes, count: int, label: str) -> NDArray[Any]:
    """Read texts of variable length: their number, then each with its length before it."""
    found: list[str] = []
    try:
        (stated,) = struct.unpack_from("<I", data)
        start = 4
        for _ in range(min(stated, count)):
            (length,) = struct.unpack_from("<I", data, start)
            text = data[start + 4 : start + 4 + length]
            found.append(text.decode("utf-8", errors="replace"))
            start += 4 + length
    except struct.error as error:
        raise FileError(f"{label}: damaged texts ({error}). Copy the store anew.") from error
    if len(found) != count:
        raise FileError(f"{label}: {len(found)} texts, expected {count}. Copy the store anew.")
    return np.array(found, dtype=object)
