"""GIFTI, as micapipe writes connectomes: the first data array of `*_full-connectome.shape.gii`.

Parsed here because nibabel unpacks an array to any size before it looks at the size that the file
states, and opens other files that the XML names (`tests/io/formats/test_parsers_kept.py` shows
both). Here packed data never grow beyond the stated size, and no other file is opened.
"""

import base64
import binascii
import math
import zlib
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from stillome.arrays import Floats
from stillome.exceptions import FileError
from stillome.io.connectome_data import Contents, Holding
from stillome.io.formats.mrtrix import atlas_of, measure_of
from stillome.io.free_memory import check_array
from stillome.io.guarded_files import MAX_BYTES, Item, parse_xml

PRODUCER = "micapipe"
_DTYPES = {
    "NIFTI_TYPE_UINT8": "u1",
    "NIFTI_TYPE_INT16": "i2",
    "NIFTI_TYPE_INT32": "i4",
    "NIFTI_TYPE_UINT32": "u4",
    "NIFTI_TYPE_FLOAT32": "f4",
    "NIFTI_TYPE_FLOAT64": "f8",
}


def recognises(item: Item, head: bytes) -> bool:
    """Whether this is GIFTI."""
    return b"<GIFTI" in head


def read(item: Item) -> Contents:
    """Read the first data array as one matrix."""
    root = parse_xml(item.data(), item.label)
    array = root.find("DataArray")
    if array is None:
        raise FileError(f"{item.label}: GIFTI without a data array. Write it again.")
    values = _values(array, item.label)
    if values.ndim != 2:
        raise FileError(f"{item.label}: GIFTI of shape {values.shape}; expected a matrix.")
    measure = measure_of(item.name.removesuffix(".gii").replace("full-connectome", ""))
    return Contents(PRODUCER, (Holding(values, measure=measure, atlas=atlas_of(item.path.name)),))


def write(path: Path, holding: Holding) -> None:
    """Write one matrix as the only data array."""
    import nibabel

    values = np.asarray(holding.values, dtype=np.float32)
    array = nibabel.gifti.GiftiDataArray(values, datatype="NIFTI_TYPE_FLOAT32")
    path.write_bytes(nibabel.gifti.GiftiImage(darrays=[array]).to_bytes())


def _values(array: ElementTree.Element, label: str) -> NDArray[Any]:
    try:
        rank = int(array.get("Dimensionality", "0"))
        shape = tuple(int(array.get(f"Dim{i}", "-1")) for i in range(min(rank, 6)))
        dtype = np.dtype(_DTYPES[array.get("DataType", "")])
    except (ValueError, KeyError) as error:
        raise FileError(f"{label}: GIFTI array of unknown type or size ({error}).") from error
    size = math.prod(shape) * dtype.itemsize
    if not shape or min(shape) < 1 or size > MAX_BYTES:
        raise FileError(f"{label}: GIFTI array of impossible size {shape}. Write it again.")
    check_array(shape, label)
    text = array.findtext("Data") or ""
    encoding = array.get("Encoding", "")
    if encoding == "ASCII":
        flat = _ascii(text, math.prod(shape), label)
    else:
        big = array.get("Endian") == "BigEndian"
        raw = _binary(text, encoding, size, label)
        flat = np.frombuffer(raw, dtype=dtype.newbyteorder(">" if big else "<"))
    if array.get("ArrayIndexingOrder") == "ColumnMajorOrder":
        return flat.reshape(shape, order="F").astype(np.float64)
    return flat.reshape(shape).astype(np.float64)


def _ascii(text: str, count: int, label: str) -> Floats:
    try:
        flat = np.array(text.split(), dtype=np.float64)
    except ValueError as error:
        raise FileError(f"{label}: GIFTI text that is not numbers ({error}).") from error
    if len(flat) != count:
        raise FileError(f"{label}: GIFTI array is cut off ({len(flat)} numbers of {count}).")
    return flat


def _binary(text: str, encoding: str, size: int, label: str) -> bytes:
    if encoding not in ("Base64Binary", "GZipBase64Binary"):
        raise FileError(f"{label}: GIFTI data encoded as {encoding!r} is not read. Re-save it.")
    try:
        raw = base64.b64decode("".join(text.split()), validate=True)
        if encoding == "GZipBase64Binary":
            raw = zlib.decompressobj().decompress(raw, size + 1)
    except (binascii.Error, zlib.error, ValueError) as error:
        raise FileError(f"{label}: damaged GIFTI data ({error}). Write it again.") from error
    if len(raw) != size:
        raise FileError(f"{label}: GIFTI array is cut off or too long, expected {size} bytes.")
    return raw
