"""MATLAB 7.3 MAT files: HDF5 behind a header of 512 bytes, with all axes reversed."""

import math
import struct
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from stillome.exceptions import FileError
from stillome.io.formats.hdf5 import check_dataset, damaged, open_hdf5, own_child
from stillome.io.guarded_files import Item
from stillome.io.lazy_stack import STORAGE_ERRORS

_HEADER = 512
_MAX_DEPTH = 6
_MAX_CELLS = 100_000
_LAZY_BYTES = 64 * 2**20


def is_mat73(head: bytes) -> bool:
    """Whether this is HDF5 behind MATLAB's header."""
    return head.startswith(b"MATLAB 7.3") and head[_HEADER : _HEADER + 4] == b"\x89HDF"


def load_mat73(item: Item) -> dict[str, Any]:
    """Read all variables; large arrays stay in the file, with their axes as HDF5 has them.

    Raises
    ------
    FileError
        If the file is damaged.
    """
    file = open_hdf5(item)
    try:
        return {
            name: _value(own_child(file, name), file, f"{item.label}:{name}", 0)
            for name in file
            if not name.startswith("#")
        }
    except STORAGE_ERRORS as error:
        raise damaged(item.label, error) from error


def write_mat73(path: Path, variables: dict[str, NDArray[Any] | list[str]]) -> None:
    """Write arrays and lists of text so that MATLAB and this module read them back."""
    with h5py.File(path, "w", userblock_size=_HEADER) as file:
        for name, value in variables.items():
            if isinstance(value, list):
                _write_cells(file, name, value)
            else:
                dataset = file.create_dataset(name, data=np.ascontiguousarray(value.T))
                dataset.attrs["MATLAB_class"] = np.bytes_(_class_of(value.dtype))
    title = b"MATLAB 7.3 MAT-file, Platform: GLNXA64, Created by: stillome HDF5 schema 1.00 ."
    with path.open("r+b") as stream:
        stream.write(title.ljust(116) + bytes(8) + struct.pack("<H", 0x0200) + b"IM")


def _value(node: Any, file: h5py.File, label: str, depth: int) -> Any:
    if depth > _MAX_DEPTH:
        raise FileError(f"{label}: nested too deeply. Save the connectomes by themselves.")
    if isinstance(node, h5py.Group):
        return {
            name: _value(own_child(node, name), file, f"{label}.{name}", depth + 1) for name in node
        }
    if not isinstance(node, h5py.Dataset):
        return None
    check_dataset(node, label)
    kind = node.attrs.get("MATLAB_class", b"")
    kind = kind.decode("latin-1") if isinstance(kind, bytes) else str(kind)
    size = math.prod(node.shape)
    if "MATLAB_empty" in node.attrs or size == 0:
        return [] if kind in ("cell", "char") else np.zeros((0, 0))
    if kind == "cell" or h5py.check_ref_dtype(node.dtype) is not None:
        return _cells(node, size, file, label, depth)
    if kind == "char":
        return _text(node, size, label)
    if len(node.shape) == 3 or size * node.dtype.itemsize > _LAZY_BYTES:
        return node
    return node[...].T


def _cells(node: h5py.Dataset, size: int, file: h5py.File, label: str, depth: int) -> list[Any]:
    if size > _MAX_CELLS or h5py.check_ref_dtype(node.dtype) is None:
        raise FileError(f"{label}: {size} cells; not read. Save the names as text.")
    found = []
    for reference in node[...].ravel():
        target = file[reference] if reference else None
        found.append(_value(target, file, label, depth + 1))
    return found


def _text(node: h5py.Dataset, size: int, label: str) -> list[str]:
    if size > _LAZY_BYTES or node.dtype.kind not in "iu":
        raise FileError(f"{label}: text that cannot be read. Save the names as cells.")
    codes = np.atleast_2d(node[...].T).astype(np.uint16)
    return [row.tobytes().decode("utf-16-le", errors="replace") for row in codes]


def _write_cells(file: h5py.File, name: str, texts: list[str]) -> None:
    store = file.require_group("#refs#")
    references: list[h5py.Reference] = []
    for text in texts:
        codes = np.frombuffer(text.encode("utf-16-le"), dtype=np.uint16)[:, None]
        cell = store.create_dataset(f"{name}_{len(references)}", data=codes)
        cell.attrs["MATLAB_class"] = np.bytes_("char")
        references.append(cell.ref)
    dataset = file.create_dataset(name, (1, len(texts)), dtype=h5py.ref_dtype)
    dataset[0, :] = references
    dataset.attrs["MATLAB_class"] = np.bytes_("cell")


def _class_of(dtype: np.dtype[Any]) -> str:
    names = {"f8": "double", "f4": "single"}
    return names.get(dtype.str[1:], dtype.name)
