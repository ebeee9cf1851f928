"""zarr stores, versions 2 and 3: folders of arrays, opened lazily by the zarr package.

The metadata and every chunk are checked before the package sees them. The package is an extra:
`stillome.io.formats.zarr_arrays`, which imports it, is imported when a store is read.
"""

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from stillome.exceptions import FileError
from stillome.io.connectome_data import Contents, Holding
from stillome.io.guarded_files import Item, read_bytes
from stillome.io.lazy_stack import STORAGE_ERRORS
from stillome.io.stacks import check_stored, holdings_from

PRODUCER = "zarr stack"
ATTRIBUTES, EDGE_ORDER = ".zattrs", "edge_order"
_METADATA = (".zarray", ".zgroup", "zarr.json")
_MAX_METADATA = 2**20
_MAX_NODES = 1000
_MAX_DEPTH = 4


def is_store(path: Path) -> bool:
    """Whether a folder is a zarr store."""
    # Unlike pathlib's, this is False where the folder may not be read.
    return path.is_dir() and any(os.path.isfile(path / name) for name in _METADATA)  # noqa: PTH113


def read(item: Item) -> Contents:
    """Find the connectomes in a store; they stay in it.

    Raises
    ------
    FileError
        If the store is damaged, uses other codecs, or the zarr package is not installed.
    """
    arrays = _arrays_in(item)
    try:
        variables = {name: _read_names(array, item.label) for name, array in arrays.items()}
    except STORAGE_ERRORS as error:
        raise FileError(f"{item.label}: damaged zarr store ({error}). Copy it again.") from error
    found = holdings_from(variables, item.label)
    order = _stated_order(item)
    return Contents(PRODUCER, tuple(replace(one, edge_order=order) for one in found))


def write(path: Path, holding: Holding) -> None:
    """Write a stack as ``connectomes`` with ``subject_ids`` and ``regions``."""
    try:
        import zarr
    except ImportError as error:
        raise missing_package(str(path)) from error

    group = zarr.open_group(str(path), mode="w", zarr_format=2)
    values = np.asarray(holding.values)
    rows = max(1, 2**22 // max(1, values[:1].nbytes))
    chunks = (min(len(values), rows), *values.shape[1:])
    stack = group.create_array("connectomes", shape=values.shape, dtype=values.dtype, chunks=chunks)
    stack[...] = values
    for name, texts in (("subject_ids", holding.subject_ids), ("regions", holding.regions)):
        if texts is not None:
            coded = np.array([text.encode("utf-8") for text in texts], dtype="S")
            array = group.create_array(name, shape=coded.shape, dtype=coded.dtype)
            array[...] = coded


def missing_package(label: str) -> FileError:
    """Return the sentence that names the command which installs the package zarr."""
    return FileError(
        f"{label}: zarr stores need the package zarr. Run pip install 'stillome[zarr]'."
    )


def _read_names(array: Any, label: str) -> Any:
    """Read ids and names, which are short; stacks stay in the store."""
    if array.ndim != 1 or array.dtype.kind == "f":
        return array
    check_stored(array, label)
    return array[...]


def _arrays_in(item: Item) -> dict[str, Any]:
    try:
        from stillome.io.formats.zarr_arrays import open_array
    except ImportError as error:
        raise missing_package(item.label) from error
    found: dict[str, Any] = {}
    pending = [("", item.path)]
    seen = 0
    while pending:
        prefix, folder = pending.pop(0)
        seen += 1
        if seen > _MAX_NODES:
            raise FileError(f"{item.label}: more than {_MAX_NODES} arrays. Name one of them.")
        metadata = _metadata(folder, item.label)
        if metadata is None:
            continue
        if "shape" in metadata:
            name = prefix.rstrip("/")
            label = f"{item.label}/{name}".rstrip("/")
            found[name or "connectomes"] = open_array(folder, metadata, label)
        elif prefix.count("/") < _MAX_DEPTH:
            children = sorted(child for child in folder.iterdir() if child.is_dir())
            pending.extend((f"{prefix}{child.name}/", child) for child in children)
    return found


def _stated_order(item: Item) -> str | None:
    """Return the order of edge vectors that the store states, as those of `convert` do."""
    order = (_metadata(item.path, item.label, (ATTRIBUTES,)) or {}).get(EDGE_ORDER)
    return order if order in ("upper", "lower") else None


def _metadata(
    folder: Path, label: str, names: tuple[str, ...] = _METADATA
) -> dict[str, Any] | None:
    for name in names:
        path = folder / name
        if path.is_file():
            try:
                content = json.loads(read_bytes(path, limit=_MAX_METADATA))
            except (ValueError, RecursionError) as error:
                raise FileError(f"{label}: damaged zarr metadata ({error}).") from error
            if not isinstance(content, dict):
                raise FileError(f"{label}: damaged zarr metadata in {name}.")
            return content
    return None
