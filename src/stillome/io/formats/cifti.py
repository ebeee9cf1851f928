"""CIFTI-2 `*.pconn.nii`: parcel by parcel, names in the XML between header and values."""

import math
import struct
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from stillome.exceptions import FileError
from stillome.io.connectome_data import Contents, Holding
from stillome.io.formats.mrtrix import measure_of
from stillome.io.guarded_files import MAX_BYTES, Item, parse_xml

PRODUCER = "CIFTI pconn"
_HEADER = 540
_CIFTI_CODE = 32
_CONN_PARCELS = 3003
_PARCELS = "CIFTI_INDEX_TYPE_PARCELS"
_DTYPES = {2: "u1", 4: "i2", 8: "i4", 16: "f4", 64: "f8", 256: "i1", 512: "u2", 768: "u4"}


def recognises(item: Item, head: bytes) -> bool:
    """Whether this is NIfTI-2 with a CIFTI intent."""
    return _order(head) is not None and head[4:8] == b"n+2\0"


def read(item: Item) -> Contents:
    """Read a matrix between parcels with their names.

    Raises
    ------
    FileError
        If the file is damaged, or holds something else than parcels by parcels.
    """
    data = item.data()
    order = _order(data[:_HEADER])
    if order is None or len(data) < _HEADER + 12:
        raise FileError(f"{item.label}: NIfTI-2 header is cut off. Copy it anew.")
    (intent,) = struct.unpack_from(order + "i", data, 504)
    if intent != _CONN_PARCELS:
        raise FileError(f"{item.label}: CIFTI of intent {intent}, not parcels by parcels (pconn).")
    names = _parcels(data, order, item.label)
    (code,) = struct.unpack_from(order + "h", data, 12)
    sizes = struct.unpack_from(order + "8q", data, 16)
    (offset,) = struct.unpack_from(order + "q", data, 168)
    slope, shift = struct.unpack_from(order + "2d", data, 176)
    shape = tuple(size for size in sizes[1:] if size != 1)
    if code not in _DTYPES or shape != (len(names), len(names)):
        raise FileError(f"{item.label}: matrix of {shape} for {len(names)} parcels.")
    dtype = np.dtype(order + _DTYPES[code])
    size = math.prod(shape) * dtype.itemsize
    if size > MAX_BYTES or offset < _HEADER or offset + size > len(data):
        raise FileError(f"{item.label}: its values are cut off. Copy it anew.")
    values = np.frombuffer(data, dtype, count=math.prod(shape), offset=offset)
    matrix = values.reshape(shape, order="F").T.astype(np.float64)
    if math.isfinite(slope) and slope not in (0, 1):
        matrix = matrix * slope + (shift if math.isfinite(shift) else 0)
    measure = measure_of(item.name.removesuffix(".nii").removesuffix(".pconn"))
    return Contents(PRODUCER, (Holding(matrix, measure=measure, regions=names),))


def write(path: Path, holding: Holding) -> None:
    """Write one matrix with two axes of parcels."""
    import nibabel
    from nibabel.cifti2 import Cifti2Image, ParcelsAxis

    count = len(holding.values)
    names = holding.regions or tuple(f"region-{i + 1:03d}" for i in range(count))
    nothing = np.empty(count, dtype=object)
    for i in range(count):
        nothing[i] = {}
    voxels = np.empty(count, dtype=object)
    for i in range(count):
        voxels[i] = np.array([[i, 0, 0]])
    axis = ParcelsAxis(
        np.array(names, dtype=object),
        voxels=voxels,
        vertices=nothing,
        affine=np.eye(4),
        volume_shape=(count, 1, 1),
        nvertices={},
    )
    image = Cifti2Image(np.asarray(holding.values, dtype=np.float64), (axis, axis))
    image.nifti_header.set_data_dtype(np.float64)
    image.update_headers()
    image.nifti_header.set_intent("ConnParcels")
    nibabel.save(image, path)


def _order(head: bytes) -> str | None:
    if len(head) < 8:
        return None
    for order in "<>":
        if struct.unpack_from(order + "i", head)[0] == _HEADER:
            return order
    return None


def _parcels(data: bytes, order: str, label: str) -> tuple[str, ...]:
    (size, code) = struct.unpack_from(order + "2i", data, _HEADER + 4)
    if code != _CIFTI_CODE or not 8 < size <= len(data) - _HEADER - 4:
        raise FileError(f"{label}: NIfTI-2 without CIFTI's description. Copy it anew.")
    xml = data[_HEADER + 12 : _HEADER + 4 + size].rstrip(b"\0")
    root = parse_xml(xml, label)
    axes: dict[str, tuple[str, ...]] = {}
    for index_map in root.iter("MatrixIndicesMap"):
        if index_map.get("IndicesMapToDataType") == _PARCELS:
            names = tuple(_names(index_map))
            for dimension in (index_map.get("AppliesToMatrixDimension") or "").split(","):
                axes[dimension.strip()] = names
    if set(axes) != {"0", "1"} or axes["0"] != axes["1"] or not axes["0"]:
        raise FileError(f"{label}: its two axes are not the same parcels.")
    return axes["0"]


def _names(index_map: ElementTree.Element) -> list[str]:
    return [parcel.get("Name") or "" for parcel in index_map.iter("Parcel")]
