"""zarr stores: folders of arrays, opened lazily; only codecs that hold numbers are accepted."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from stillome.exceptions import FileError
from stillome.io.connectome_data import Contents, Holding
from stillome.io.formats.zarr_arrays import ZarrArray, zarr_array
from stillome.io.guarded_files import Item, read_bytes
from stillome.io.stacks import holdings_from

PRODUCER = "zarr stack"
_METADATA = (".zarray", ".zgroup", "zarr.json")
_MAX_METADATA = 2**20
_MAX_NODES = 1000
_MAX_DEPTH = 4


def is_store(path: Path) -> bool:
    """Whether a folder is a zarr store."""
    # Unlike pathlib's, this answers no where the folder may not be looked into.
    return path.is_dir() and any(os.path.isfile(path / name) for name in _METADATA)  # noqa: PTH113


def read(item: Item) -> Contents:
    """Find the connectomes in a store; they stay in it.

    Raises
    ------
    FileError
        If the store is damaged, uses other codecs, or what unpacks them is not installed.
    """
    try:
        import numcodecs  # noqa: F401 - the pieces need it later
    except ImportError as error:
        raise FileError(
            f"{item.label}: zarr is needed to read it. Install stillome[zarr]."
        ) from error
    variables = {name: _read_names(array) for name, array in _arrays_in(item).items()}
    return Contents(PRODUCER, holdings_from(variables, item.label))


def write(path: Path, holding: Holding) -> None:
    """Write a stack as ``connectomes`` with ``subject_ids`` and ``regions``."""
    import zarr

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


def _read_names(array: ZarrArray) -> Any:
    short = array.ndim == 1 and array.dtype.kind not in "f"
    return array[...] if short else array


def _arrays_in(item: Item) -> dict[str, ZarrArray]:
    found: dict[str, ZarrArray] = {}
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
            found[name or "connectomes"] = zarr_array(folder, metadata, label)
        elif prefix.count("/") < _MAX_DEPTH:
            children = sorted(child for child in folder.iterdir() if child.is_dir())
            pending.extend((f"{prefix}{child.name}/", child) for child in children)
    return found


def _metadata(folder: Path, label: str) -> dict[str, Any] | None:
    for name in _METADATA:
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
