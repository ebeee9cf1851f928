"""CIFTI-2 `*.pconn.nii`: a matrix between parcels, read and written by nibabel."""

import contextlib
import logging
import struct
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from stillome.exceptions import FileError
from stillome.io.connectome_data import Contents, Holding
from stillome.io.formats.mrtrix import measure_of
from stillome.io.guarded_files import Item, refuse_entities

PRODUCER = "CIFTI pconn"
_HEADER = 540
_CONN_PARCELS = 3003


def recognises(item: Item, head: bytes) -> bool:
    """Whether this is NIfTI-2, in which CIFTI-2 is stored."""
    sizes = [struct.unpack_from(order + "i", head)[0] for order in "<>" if len(head) >= 8]
    return _HEADER in sizes and head[4:8] == b"n+2\0"


def read(item: Item) -> Contents:
    """Read a matrix between parcels with their names.

    Raises
    ------
    FileError
        If the file is damaged, or is not a matrix of parcels by parcels.
    """
    from nibabel.cifti2 import Cifti2Image

    data = item.data()
    refuse_entities(data, item.label)
    try:
        with _silent():
            image = Cifti2Image.from_bytes(data)
        intent = int(image.nifti_header["intent_code"])
        axes = [_parcels(image.header.matrix.get_index_map(i)) for i in (0, 1)]
    except Exception as error:  # nibabel has a dozen classes of errors without a common parent
        raise _damaged(item, error) from error
    names, others = axes
    if intent != _CONN_PARCELS:
        raise FileError(f"{item.label}: CIFTI of intent {intent}, not parcels by parcels (pconn).")
    if not names or names != others:
        raise FileError(f"{item.label}: its two axes are not the same parcels.")
    if image.shape != (len(names), len(names)):
        raise FileError(f"{item.label}: matrix of {image.shape} for {len(names)} parcels.")
    try:
        matrix = np.asarray(image.dataobj, dtype=np.float64)
    except Exception as error:  # as above
        raise _damaged(item, error) from error
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


@contextlib.contextmanager
def _silent() -> Iterator[None]:
    """Keep nibabel from warning and logging; what is wrong becomes one error."""
    from nibabel.imageglobals import logger

    logger.addFilter(_nothing)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.removeFilter(_nothing)


def _nothing(record: logging.LogRecord) -> bool:
    return False


def _parcels(index_map: Any) -> tuple[str, ...]:
    return tuple(str(parcel.name) for parcel in index_map.parcels)


def _damaged(item: Item, error: Exception) -> FileError:
    reason = str(error).split("\n", maxsplit=1)[0] or type(error).__name__
    return FileError(f"{item.label}: damaged CIFTI file ({reason}). Copy it again.")
