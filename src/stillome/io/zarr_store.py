"""zarr stores (versions 2 and 3), opened lazily; only codecs that hold numbers are accepted."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from stillome.exceptions import FileError
from stillome.io.files import Item, read_bytes
from stillome.io.lazy import STORAGE_ERRORS
from stillome.io.record import Contents, Holding
from stillome.io.stacks import holdings_from

PRODUCER = "zarr stack"
_METADATA = (".zarray", ".zgroup", "zarr.json")
_MAX_METADATA = 2**20
_MAX_CHUNK = 512 * 2**20
_MAX_NODES = 1000
# Python objects can be stored through a pickle codec, and opening one would run it.
_CODECS = frozenset(
    {"blosc", "bytes", "bz2", "crc32c", "delta", "gzip", "lz4", "lzma", "shuffle", "zlib", "zstd"}
    | {"sharding_indexed", "transpose", "vlen-utf8"}
)
_FAMILY = (*STORAGE_ERRORS, AttributeError, AssertionError)


def is_store(path: Path) -> bool:
    """Whether a folder is a zarr store."""
    return path.is_dir() and any((path / name).is_file() for name in _METADATA)


def read(item: Item) -> Contents:
    """Find the connectomes in a store; they stay in it.

    Raises
    ------
    FileError
        If the store is damaged, uses other codecs, or zarr is not installed.
    """
    try:
        import zarr
    except ImportError as error:
        raise FileError(
            f"{item.label}: zarr is needed to read it. Install stillome[zarr]."
        ) from error
    arrays = _checked_arrays(item)
    try:
        opened = {name: zarr.open_array(str(path), mode="r") for name, path in arrays.items()}
        variables = {name: _texts(array) for name, array in opened.items()}
        return Contents(PRODUCER, holdings_from(variables, item.label))
    except _FAMILY as error:
        reason = str(error).split("\n", maxsplit=1)[0]
        raise FileError(f"{item.label}: damaged zarr store ({reason}). Copy it anew.") from error


def write(path: Path, holding: Holding) -> None:
    """Write a stack as ``connectomes``; names as fixed-width text."""
    import zarr

    group = zarr.open_group(str(path), mode="w", zarr_format=2)
    values = np.asarray(holding.values)
    chunks = (max(1, min(len(values), 2**22 // max(1, values[:1].nbytes))), *values.shape[1:])
    stack = group.create_array("connectomes", shape=values.shape, dtype=values.dtype, chunks=chunks)
    stack[...] = values
    for name, texts in (("subject_ids", holding.subject_ids), ("regions", holding.regions)):
        if texts is not None:
            coded = np.array([text.encode("utf-8") for text in texts], dtype="S")
            array = group.create_array(name, shape=coded.shape, dtype=coded.dtype)
            array[...] = coded


def _texts(array: Any) -> Any:
    return array[...] if array.ndim == 1 and array.dtype.kind in "SUTO" else array


def _checked_arrays(item: Item) -> dict[str, Path]:
    """List the arrays of a store after a look at what each would need to be decoded."""
    found: dict[str, Path] = {}
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
            _check_array(metadata, f"{item.label}/{prefix}")
            found[prefix.rstrip("/") or "connectomes"] = folder
        elif prefix.count("/") < 4:
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


def _check_array(metadata: dict[str, Any], label: str) -> None:
    unknown = sorted(_codec_names(metadata) - _CODECS)
    if "pickle" in unknown:
        raise FileError(
            f"{label} contains pickled Python objects, which can run code. Re-save as .npz."
        )
    if unknown:
        raise FileError(f"{label}: codec {unknown[0]!r} is not read. Save it with zstd or blosc.")
    shape = metadata["shape"]
    grid = metadata.get("chunk_grid") or {}
    chunks = metadata.get("chunks")
    if isinstance(grid, dict) and chunks is None:
        chunks = (grid.get("configuration") or {}).get("chunk_shape")
    for sizes in (shape, chunks):
        whole = isinstance(sizes, list) and all(type(n) is int and 0 < n < 2**48 for n in sizes)
        if not whole:
            raise FileError(f"{label}: damaged zarr metadata (sizes {sizes!r}).")
    if math.prod(chunks or []) * 8 > _MAX_CHUNK:
        raise FileError(f"{label}: pieces of more than 512 MiB. Save it with smaller chunks.")


def _codec_names(metadata: dict[str, Any]) -> set[str]:
    """Collect the codecs of either version, those inside shards too."""
    names: set[str] = set()
    pending: list[Any] = [
        metadata.get("compressor"),
        metadata.get("filters"),
        metadata.get("codecs"),
    ]
    while pending:
        entry = pending.pop()
        if isinstance(entry, list):
            pending.extend(entry)
        elif isinstance(entry, dict):
            name = entry.get("id", entry.get("name"))
            names.add(str(name).removeprefix("numcodecs."))
            inner = entry.get("configuration")
            if isinstance(inner, dict):
                pending.extend([inner.get("codecs"), inner.get("index_codecs")])
    return names
