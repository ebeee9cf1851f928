"""HDF5 files (also netCDF-4): opened lazily, without following links to other files."""

import math
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from stillome.exceptions import FileError
from stillome.io.connectome_data import Contents, Holding
from stillome.io.guarded_files import Item
from stillome.io.lazy_stack import STORAGE_ERRORS
from stillome.io.stacks import holdings_from

PRODUCER = "HDF5 stack"
MAGIC = b"\x89HDF\r\n\x1a\n"
_MAX_DEPTH = 6
_MAX_OBJECTS = 10_000


def recognises(item: Item, head: bytes) -> bool:
    """Whether the file starts with the HDF5 signature."""
    return head.startswith(MAGIC)


def read(item: Item) -> Contents:
    """Find the connectomes in an HDF5 file; they stay in it."""
    file = open_hdf5(item)
    try:
        variables = datasets_in(file, item.label)
        return Contents(PRODUCER, holdings_from(variables, item.label))
    except STORAGE_ERRORS as error:
        raise damaged(item.label, error) from error


def open_hdf5(item: Item) -> h5py.File:
    """Open a file for reading.

    Raises
    ------
    FileError
        If it is damaged, or compressed as a whole, so that it cannot be opened lazily.
    """
    if not item.on_disk:
        raise FileError(f"{item.label}: compressed as a whole. Unpack it first.")
    try:
        return h5py.File(item.path, "r")
    except STORAGE_ERRORS as error:
        raise damaged(item.label, error) from error


def damaged(label: str, error: Exception) -> FileError:
    """Return the error for a file that HDF5 cannot read."""
    reason = str(error).split("\n", maxsplit=1)[0]
    return FileError(f"{label}: damaged HDF5 file ({reason}). Copy it again.")


def datasets_in(group: h5py.Group, label: str) -> dict[str, Any]:
    """List the datasets of a file by path, without links to other files.

    Raises
    ------
    FileError
        If a dataset keeps its values in another file.
    """
    found: dict[str, Any] = {}
    pending: list[tuple[str, h5py.Group, int]] = [("", group, 0)]
    seen = 0
    while pending:
        prefix, parent, depth = pending.pop(0)
        for name in parent:
            seen += 1
            if seen > _MAX_OBJECTS:
                raise FileError(f"{label}: more than {_MAX_OBJECTS} objects. Name one dataset.")
            child = own_child(parent, name)
            if isinstance(child, h5py.Group) and depth < _MAX_DEPTH:
                pending.append((f"{prefix}{name}/", child, depth + 1))
            elif isinstance(child, h5py.Dataset):
                check_dataset(child, f"{label}:{prefix}{name}")
                found[f"{prefix}{name}"] = child
    return found


def own_child(parent: h5py.Group, name: str) -> h5py.Group | h5py.Dataset | None:
    """Return the object `name` if it is stored in the same file."""
    if isinstance(parent.get(name, getlink=True), h5py.HardLink):
        return parent.get(name)
    return None


def check_dataset(dataset: h5py.Dataset, label: str) -> None:
    """Refuse values that are stored in other files."""
    if dataset.external or dataset.is_virtual:
        raise FileError(f"{label}: its values are stored in other files. Copy them into one.")
    chunks = dataset.chunks
    if chunks is not None and math.prod(chunks) * dataset.dtype.itemsize > 2**29:
        raise FileError(f"{label}: chunks of more than 512 MiB. Save it with smaller chunks.")


def write(path: Path, holding: Holding) -> None:
    """Write a stack as ``connectomes``, ``subject_ids`` and ``regions``."""
    with h5py.File(path, "w") as file:
        file.create_dataset("connectomes", data=np.asarray(holding.values))
        text = h5py.string_dtype("utf-8")
        if holding.subject_ids is not None:
            file.create_dataset("subject_ids", data=list(holding.subject_ids), dtype=text)
        if holding.regions is not None:
            file.create_dataset("regions", data=list(holding.regions), dtype=text)
