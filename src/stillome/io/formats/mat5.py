"""MAT files of version 5, read element by element within the bytes that are there.

Parsed here because `scipy.io.loadmat` does not survive damaged files: it uses the type of an
element as an index into a table in C without a check, so that one wrong byte ends the process
(`tests/io/formats/test_parsers_kept.py` shows it). Here every size is compared with the bytes that
are left before anything is allocated. Function handles and objects are passed over.
"""

import struct
import zlib
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stillome.exceptions import FileError
from stillome.io.free_memory import check_fits
from stillome.io.guarded_files import BLOCK, MAX_BYTES, is_bomb

_STORAGE = {
    1: "i1",
    2: "u1",
    3: "i2",
    4: "u2",
    5: "i4",
    6: "u4",
    7: "f4",
    9: "f8",
    12: "i8",
    13: "u8",
}
_CLASSES = {
    6: "f8",
    7: "f4",
    8: "i1",
    9: "u1",
    10: "i2",
    11: "u2",
    12: "i4",
    13: "u4",
    14: "i8",
    15: "u8",
}
_ENCODINGS = {2: "latin-1", 4: "utf-16", 16: "utf-8", 17: "utf-16", 18: "utf-32"}
_MATRIX, _COMPRESSED = 14, 15
_CELL, _STRUCT, _CHAR, _SPARSE = 1, 2, 4, 5
_MAX_DEPTH = 20
_MAX_CELLS = 1_000_000


class _Element(NamedTuple):
    kind: int
    data: memoryview


class _Reader:
    """Reads the elements of one MAT file in turn."""

    def __init__(self, data: bytes, label: str) -> None:
        self.label = label
        self.data = memoryview(data)
        self.budget = MAX_BYTES
        mark = bytes(self.data[126:128])
        if len(data) < 128 or mark not in (b"IM", b"MI"):
            raise self.damaged("its header is cut off")
        self.order = "<" if mark == b"IM" else ">"

    def damaged(self, why: str) -> FileError:
        return FileError(f"{self.label}: damaged MAT file ({why}). Save it again.")

    def variables(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        rest = self.data[128:]
        while len(rest) >= 8:
            element, rest = self.take(rest)
            if element.kind == _COMPRESSED:
                element, _ = self.take(memoryview(self.unpack(element.data)))
            if element.kind != _MATRIX:
                raise self.damaged(f"element of type {element.kind} where a variable should be")
            name, value = self.matrix(element.data, 0)
            if value is not None and name:
                found[name] = value
        return found

    def take(self, rest: memoryview) -> tuple[_Element, memoryview]:
        """Split off the next element: a tag of 8 bytes, or of 4 with up to 4 bytes of data."""
        if len(rest) < 8:
            raise self.damaged("an element is cut off")
        word, size = struct.unpack_from(self.order + "II", rest)
        if word >> 16:
            kind, size = word & 0xFFFF, word >> 16
            if size > 4:
                raise self.damaged("a small element is too large")
            return _Element(kind, rest[4 : 4 + size]), rest[8:]
        if size > len(rest) - 8:
            raise self.damaged(f"an element claims {size} bytes, {len(rest) - 8} are left")
        end = 8 + size if word == _COMPRESSED else 8 + (size + 7) // 8 * 8
        return _Element(word, rest[8 : 8 + size]), rest[min(end, len(rest)) :]

    def unpack(self, packed: memoryview) -> bytes:
        stream = zlib.decompressobj()
        data = bytearray()
        rest: bytes | memoryview = packed
        try:
            while not stream.eof and (block := stream.decompress(rest, BLOCK)):
                data += block
                check_fits(2 * len(data), self.label)
                rest = stream.unconsumed_tail
                if len(data) > self.budget or is_bomb(len(packed), len(data)):
                    raise FileError(
                        f"{self.label}: unpacks to more than 512 MiB, or 300 times its size."
                    )
        except zlib.error as error:
            raise self.damaged(str(error)) from error
        self.budget -= len(data)
        return bytes(data)

    def matrix(self, data: memoryview, depth: int) -> tuple[str, Any]:
        """Read one array with its name; the value is None for functions and objects."""
        if depth > _MAX_DEPTH:
            raise self.damaged("nested too deeply")
        flags, rest = self.take(data)
        if len(flags.data) < 8:
            raise self.damaged("an array has no flags")
        word = struct.unpack_from(self.order + "I", flags.data)[0]
        array_class, is_complex, is_logical = word & 0xFF, bool(word & 0x800), bool(word & 0x200)
        if array_class not in (_CELL, _STRUCT, _CHAR, _SPARSE) and array_class not in _CLASSES:
            return "", None
        sizes, rest = self.take(rest)
        name, rest = self.take(rest)
        shape = tuple(int(size) for size in self.numbers(sizes))
        if not 2 <= len(shape) <= 8 or min(shape) < 0:
            raise self.damaged("an array has impossible sizes")
        text = bytes(name.data).decode("latin-1")
        if array_class == _CELL:
            return text, self.cells(rest, shape, depth)
        if array_class == _STRUCT:
            return text, self.structure(rest, shape, depth)
        if array_class == _CHAR:
            return text, self.characters(rest, shape)
        if array_class == _SPARSE:
            return text, self.sparse(rest, shape)
        if is_complex:
            return text, None
        element, _ = self.take(rest)
        values = self.filled(self.numbers(element), shape).astype(_CLASSES[array_class])
        return text, values.astype(bool) if is_logical else values

    def numbers(self, element: _Element) -> NDArray[Any]:
        if element.kind not in _STORAGE:
            raise self.damaged(f"numbers of unknown type {element.kind}")
        dtype = np.dtype(self.order + _STORAGE[element.kind])
        count = len(element.data) // dtype.itemsize
        native = np.frombuffer(element.data, dtype=dtype, count=count)
        return native.astype(dtype.newbyteorder("="))

    def filled(self, values: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
        if self.size_of(shape) != len(values):
            raise self.damaged(f"{len(values)} numbers for an array of shape {shape}")
        return values.reshape(shape, order="F")

    def size_of(self, shape: tuple[int, ...]) -> int:
        size = 1
        for length in shape:
            size *= length
        return size

    def cells(self, rest: memoryview, shape: tuple[int, ...], depth: int) -> list[Any]:
        """Read a cell array as a flat list, in MATLAB's order."""
        size = self.size_of(shape)
        if size > min(_MAX_CELLS, len(rest) // 8):
            raise self.damaged(f"{size} cells do not fit")
        found = []
        for _ in range(size):
            element, rest = self.take(rest)
            found.append(self.matrix(element.data, depth + 1)[1] if len(element.data) else None)
        return found

    def structure(
        self, rest: memoryview, shape: tuple[int, ...], depth: int
    ) -> dict[str, Any] | list[dict[str, Any]]:
        """Read a struct as a dictionary; an array of structs as a list of them."""
        width, rest = self.take(rest)
        names, rest = self.take(rest)
        lengths = self.numbers(width)
        length = int(lengths[0]) if len(lengths) else 0
        if length < 1 or len(names.data) % length:
            raise self.damaged("a struct has no field names")
        fields = [
            bytes(names.data[i : i + length]).split(b"\0")[0].decode("latin-1")
            for i in range(0, len(names.data), length)
        ]
        size = self.size_of(shape)
        if size > _MAX_CELLS or size * len(fields) > min(_MAX_CELLS, len(rest) // 8):
            raise self.damaged("a struct is cut off")
        found = []
        for _ in range(size):
            record: dict[str, Any] = {}
            for name in fields:
                element, rest = self.take(rest)
                value = self.matrix(element.data, depth + 1)[1] if len(element.data) else None
                record[name] = value
            found.append(record)
        return found[0] if size == 1 else found

    def characters(self, rest: memoryview, shape: tuple[int, ...]) -> list[str]:
        """Read a character array as one text per row."""
        element, _ = self.take(rest)
        if element.kind not in _ENCODINGS and element.kind not in _STORAGE:
            raise self.damaged("text in an unknown encoding")
        encoding = _ENCODINGS.get(element.kind, "latin-1")
        wide = encoding in ("utf-16", "utf-32")
        suffix = ("-le" if self.order == "<" else "-be") if wide else ""
        text = bytes(element.data).decode(encoding + suffix, errors="replace")
        if self.size_of(shape) != len(text):
            return [text]
        rows = np.array(list(text), dtype="U1").reshape(shape[0], -1, order="F")
        return ["".join(row) for row in rows]

    def sparse(self, rest: memoryview, shape: tuple[int, ...]) -> NDArray[Any]:
        rows_element, rest = self.take(rest)
        starts_element, rest = self.take(rest)
        values_element, _ = self.take(rest)
        rows, starts = self.numbers(rows_element), self.numbers(starts_element)
        values = self.numbers(values_element)
        self.budget -= self.size_of(shape) * 8
        fits = len(shape) == 2 and len(starts) == shape[1] + 1 and self.budget >= 0
        if not fits or starts[0] != 0 or (np.diff(starts) < 0).any() or starts[-1] > len(rows):
            raise self.damaged("a sparse matrix does not fit its sizes")
        rows, count = rows[: starts[-1]], int(starts[-1])
        if len(values) < count or (count and (rows.min() < 0 or rows.max() >= shape[0])):
            raise self.damaged("a sparse matrix points outside itself")
        dense = np.zeros(shape)
        dense[rows, np.repeat(np.arange(shape[1]), np.diff(starts))] = values[:count]
        return dense


def load_mat5(data: bytes, label: str) -> dict[str, Any]:
    """Read all variables of a MAT file of version 5.

    Numbers become arrays, character arrays lists of text (one per row), cells lists, structs
    dictionaries; complex numbers, objects and functions are left out.

    Raises
    ------
    FileError
        If the file is damaged or unpacks to too much.
    """
    return _Reader(data, label).variables()
