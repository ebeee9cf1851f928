"""MATLAB level 4 MAT files: a header of 20 bytes before each matrix, as DSI Studio writes them."""

import struct
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stillome.exceptions import FileError

_STORAGE = ("f8", "f4", "i4", "i2", "u2", "u1")
_HEADER = 20
_MAX_NAME = 256


def is_mat4(head: bytes) -> bool:
    """Whether the first header describes a matrix that can be."""
    return _order(head) is not None


def load_mat4(data: bytes, label: str) -> dict[str, Any]:
    """Read all variables of a level 4 MAT file; character matrices become lists of text.

    Raises
    ------
    FileError
        If the file is damaged.
    """
    found: dict[str, Any] = {}
    place = 0
    while place < len(data):
        order = _order(data[place : place + _HEADER])
        if order is None:
            raise FileError(f"{label}: damaged MAT file (header at byte {place}). Save it anew.")
        code, rows, columns, imaginary, length = struct.unpack_from(order + "5i", data, place)
        dtype = np.dtype(order + _STORAGE[code // 10 % 10])
        start = place + _HEADER + length
        size = rows * columns * dtype.itemsize
        place = start + size * (2 if imaginary else 1)
        if place > len(data):
            raise FileError(f"{label}: damaged MAT file (a matrix is cut off). Save it anew.")
        name = data[start - length : start].split(b"\0")[0].decode("latin-1")
        values = np.frombuffer(data, dtype=dtype, count=rows * columns, offset=start)
        matrix = values.reshape((rows, columns), order="F").astype(dtype.newbyteorder("="))
        if not imaginary and code % 10 < 2:
            found[name] = _as_text(matrix) if code % 10 == 1 else matrix
    return found


def write_mat4(path: Path, variables: dict[str, NDArray[Any]]) -> None:
    """Write matrices of float64, float32, int32, int16, uint16 or uint8."""
    parts = []
    for name, values in variables.items():
        matrix = np.atleast_2d(values)
        code = _STORAGE.index(matrix.dtype.newbyteorder("<").str[1:])
        title = name.encode("latin-1") + b"\0"
        parts.append(struct.pack("<5i", code * 10, *matrix.shape, 0, len(title)) + title)
        parts.append(matrix.astype(matrix.dtype.newbyteorder("<")).tobytes(order="F"))
    path.write_bytes(b"".join(parts))


def _order(header: bytes) -> str | None:
    if len(header) < _HEADER:
        return None
    for order, machine in (("<", 0), (">", 1)):
        code, rows, columns, imaginary, length = struct.unpack_from(order + "5i", header)
        fits = code // 1000 == machine and code // 100 % 10 == 0 and 0 <= code % 10 <= 2
        if (
            fits
            and 0 <= code // 10 % 10 < len(_STORAGE)
            and min(rows, columns) >= 0
            and imaginary in (0, 1)
            and 1 <= length <= _MAX_NAME
        ):
            return order
    return None


def _as_text(matrix: NDArray[Any]) -> list[str]:
    codes = np.clip(np.nan_to_num(matrix), 0, 0x10FFFF).astype(np.int64)
    codes[(codes >= 0xD800) & (codes <= 0xDFFF)] = 0xFFFD
    return ["".join(chr(code) for code in row) for row in codes]
