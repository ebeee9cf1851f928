"""MAT files of version 4, as DSI Studio and ANTs write them: recognised here, read by SciPy."""

import io
import struct
import warnings
from typing import Any

import scipy.io
import scipy.sparse

from stillome.exceptions import FileError

_HEADER = 20
_N_STORAGE_TYPES = 6
_MAX_NAME = 256
_ERRORS = (ValueError, TypeError, KeyError, IndexError, OverflowError, MemoryError, Warning)


def is_mat4(head: bytes) -> bool:
    """Whether the file starts with a plausible header of a matrix of version 4."""
    if len(head) < _HEADER:
        return False
    for order, machine in (("<", 0), (">", 1)):
        code, rows, columns, imaginary, length = struct.unpack_from(order + "5i", head)
        known = code // 1000 == machine and code // 100 % 10 == 0 and 0 <= code % 10 <= 2
        stored = 0 <= code // 10 % 10 < _N_STORAGE_TYPES and imaginary in (0, 1)
        if known and stored and min(rows, columns) >= 0 and 1 <= length <= _MAX_NAME:
            return True
    return False


def load_mat4(data: bytes, label: str) -> dict[str, Any]:
    """Read all variables of a MAT file of version 4.

    Numbers become arrays and character matrices lists of text, one per row. Complex and sparse
    matrices are left out.

    Raises
    ------
    FileError
        If the file is damaged.
    """
    try:
        with warnings.catch_warnings():
            # SciPy warns of byte orders that it does not know and of text that is not numeric.
            warnings.simplefilter("error")
            found = scipy.io.loadmat(io.BytesIO(data))
    except _ERRORS as error:
        raise FileError(f"{label}: damaged MAT file ({error}). Save it again.") from error
    return {
        name: [str(row) for row in value] if value.dtype.kind == "U" else value
        for name, value in found.items()
        if not scipy.sparse.issparse(value) and value.dtype.kind != "c"
    }
