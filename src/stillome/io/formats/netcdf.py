"""netCDF classic files (`.nc`): SciPy reads the header and maps the arrays into memory.

netCDF-4 files are HDF5 and go to `stillome.io.formats.hdf5`.
"""

import io
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import scipy.io
from numpy.typing import NDArray

from stillome.exceptions import FileError
from stillome.io.connectome_data import Contents, Holding
from stillome.io.guarded_files import Item
from stillome.io.stacks import holdings_from

PRODUCER = "netCDF stack"
_MAX_HEADER = 2**20
_MAX_TEXT = 2**24
_ERRORS = (ValueError, TypeError, KeyError, IndexError, OverflowError, MemoryError, OSError)


def recognises(item: Item, head: bytes) -> bool:
    """Whether this is netCDF classic, or its variant for files beyond 2 GiB."""
    return head[:4] in (b"CDF\x01", b"CDF\x02")


def read(item: Item) -> Contents:
    """Find the connectomes among the variables."""
    if not item.on_disk:
        raise FileError(f"{item.label}: compressed as a whole. Unpack it first.")
    try:
        variables = _variables(item.path)
    except _ERRORS as error:
        raise FileError(f"{item.label}: damaged netCDF file ({error}). Copy it again.") from error
    return Contents(PRODUCER, holdings_from(variables, item.label))


def write(path: Path, holding: Holding) -> None:
    """Write a stack with ``subject_ids`` and ``regions`` as characters."""
    values = np.asarray(holding.values)
    if values.dtype.kind in "iu":
        values = values.astype(np.int32) if values.max(initial=0) < 2**31 else values.astype("f8")
    with scipy.io.netcdf_file(path, "w", mmap=False, version=2) as file:
        file.createDimension("subject", values.shape[0])
        file.createDimension("region", values.shape[1])
        file.createDimension("region_2", values.shape[2])
        stack = file.createVariable(
            "connectomes", values.dtype.newbyteorder("="), ("subject", "region", "region_2")
        )
        stack[:] = values
        for name, dimension, texts in (
            ("subject_ids", "subject", holding.subject_ids),
            ("regions", "region", holding.regions),
        ):
            if texts is not None:
                coded = np.array([text.encode("utf-8") for text in texts], dtype="S")
                width = f"{name}_length"
                file.createDimension(width, coded.dtype.itemsize)
                characters = file.createVariable(name, "c", (dimension, width))
                characters[:] = coded.view("S1").reshape(len(coded), -1)


class _Header(io.FileIO):
    """A file of which only the header is read: no count in it can make SciPy read more."""

    def read(self, size: int | None = -1) -> bytes:
        if size is None or not 0 <= size <= _MAX_HEADER - self.tell():
            raise ValueError(f"more than {_MAX_HEADER // 2**20} MiB of header")
        return super().read(size) or b""


class _File(scipy.io.netcdf_file):
    """SciPy's reader, which sets the file's attributes on itself, without that fault.

    Unchecked, an attribute called ``fp`` replaces the open file and one called ``close`` the
    method, so that even deleting the reader fails.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        from_file = isinstance(value, bytes | np.ndarray | np.generic)
        if from_file and getattr(self, name, None) is not None:
            raise ValueError(f"an attribute {name!r}")
        super().__setattr__(name, value)


def _variables(path: Path) -> dict[str, Any]:
    """Return the arrays of a file, mapped into memory; character arrays become text."""
    with _Header(path) as header:
        file = _File(header, "r", mmap=True)
        arrays = {name: variable.data for name, variable in file.variables.items()}
        with warnings.catch_warnings():
            # The arrays keep the mapping alive. SciPy warns that it cannot close it.
            warnings.simplefilter("ignore", RuntimeWarning)
            file.close()
    # An attribute called "data" takes the place of a variable's values.
    kept = {name: values for name, values in arrays.items() if isinstance(values, np.ndarray)}
    return {name: _joined(values) for name, values in kept.items()}


def _joined(values: NDArray[Any]) -> NDArray[Any]:
    """Join characters (n, width) to n texts; other arrays stay as they are."""
    if values.dtype.kind == "S" and values.ndim == 2 and 0 < values.nbytes < _MAX_TEXT:
        return np.ascontiguousarray(values).view(f"S{values.shape[1]}").ravel()
    return values
