"""netCDF classic files (`.nc`): the header is read here, the arrays are mapped into memory.

netCDF-4 files are HDF5 and go to `stillome.io.formats.hdf5`.
"""

import math
import struct
from pathlib import Path
from typing import Any

import numpy as np
import scipy.io

from stillome.exceptions import FileError
from stillome.io.connectome_data import Contents, Holding
from stillome.io.guarded_files import Item
from stillome.io.stacks import holdings_from

PRODUCER = "netCDF stack"
_DTYPES = {1: "i1", 2: "S1", 3: ">i2", 4: ">i4", 5: ">f4", 6: ">f8"}
_HEADER_LIMIT = 2**20


def recognises(item: Item, head: bytes) -> bool:
    """Whether this is netCDF classic, or its variant for files beyond 2 GiB."""
    return head[:4] in (b"CDF\x01", b"CDF\x02")


def read(item: Item) -> Contents:
    """Find the connectomes among the variables."""
    if not item.on_disk:
        raise FileError(f"{item.label}: packed netCDF; unpack it first.")
    try:
        with item.path.open("rb") as stream:
            header = _Header(stream.read(_HEADER_LIMIT), item.path.stat().st_size, item)
        variables = header.variables()
    except (struct.error, IndexError, KeyError, UnicodeDecodeError, OSError) as error:
        raise FileError(f"{item.label}: damaged netCDF header ({error}).") from error
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


class _Header:
    """Walks over the header: dimensions, attributes (passed over), variables."""

    def __init__(self, data: bytes, size: int, item: Item) -> None:
        self.data, self.size, self.item = data, size, item
        self.place = 8  # behind the magic and the number of records
        self.wide = data[3] == 2

    def word(self) -> int:
        (value,) = struct.unpack_from(">i", self.data, self.place)
        self.place += 4
        return int(value)

    def count(self) -> int:
        """Read the tag and the length of a list."""
        self.place += 4
        length = self.word()
        if not 0 <= length <= len(self.data) // 4:
            raise FileError(f"{self.item.label}: damaged netCDF header (a list of {length}).")
        return length

    def name(self) -> str:
        length = self.word()
        if length < 0:
            raise FileError(f"{self.item.label}: damaged netCDF header (a name).")
        text = self.data[self.place : self.place + length].decode("utf-8")
        self.place += (length + 3) // 4 * 4
        return text

    def skip_attributes(self) -> None:
        for _ in range(self.count()):
            self.name()
            kind, length = self.word(), self.word()
            self.place += (max(length, 0) * np.dtype(_DTYPES[kind]).itemsize + 3) // 4 * 4

    def variables(self) -> dict[str, Any]:
        dimensions = []
        for _ in range(self.count()):
            self.name()
            dimensions.append(self.word())
        self.skip_attributes()
        return dict(self.variable(dimensions) for _ in range(self.count()))

    def variable(self, dimensions: list[int]) -> tuple[str, Any]:
        name = self.name()
        rank = self.word()
        if not 0 <= rank <= 8:
            raise FileError(f"{self.item.label}: damaged netCDF header ({rank} axes).")
        shape = tuple(dimensions[self.word()] for _ in range(rank))
        self.skip_attributes()
        dtype = np.dtype(_DTYPES[self.word()])
        self.place += 4
        if self.wide:
            (start,) = struct.unpack_from(">q", self.data, self.place)
            self.place += 8
        else:
            start = self.word()
        if 0 in shape:
            return name, None  # over the record dimension, which stacks do not use
        needed = math.prod(shape) * dtype.itemsize
        if min(shape, default=1) < 0 or start < 0 or start + needed > self.size:
            raise FileError(f"{self.item.label}: netCDF variable {name!r} is cut off.")
        values: Any = np.memmap(self.item.path, dtype, mode="r", offset=start, shape=shape)
        if dtype.kind == "S" and len(shape) == 2 and needed < 2**24:
            values = np.ascontiguousarray(values).view(f"S{shape[1]}").ravel()
        return name, values
