"""Named arrays in one file: which are connectomes, subject ids and names of regions."""

import math
import re
from collections.abc import Mapping
from typing import Any

import h5py
import numpy as np

from stillome.exceptions import FileError
from stillome.io.connectome_data import Holding
from stillome.io.connectome_measures import kind_of
from stillome.io.formats.hdf5_text import read_texts
from stillome.io.free_memory import check_array
from stillome.io.guarded_files import is_bomb
from stillome.io.lazy_stack import STORAGE_ERRORS

_SUBJECTS = re.compile(
    r"(subjects?|participants?|eids?|sub)(_?ids?)?$|(^|_)ids?$|subjectkey$", re.I
)
_REGIONS = re.compile(
    r"(regions?|labels?|rois?|nodes?|parcels?)(_?(names?|labels?))?$|^names?$", re.I
)
_MAX_NAMES = 10_000_000


def holdings_from(variables: Mapping[str, Any], label: str) -> tuple[Holding, ...]:
    """Find the connectomes among the arrays of one file.

    Parameters
    ----------
    variables : mapping of str to array-like
        Arrays, open datasets or lists of text, by name.

    Raises
    ------
    FileError
        If there is no matrix among them.
    """
    numeric = {name: value for name, value in variables.items() if _is_numeric(value)}
    chosen = {name: value for name, value in numeric.items() if _is_stack(value)}
    matrices = {name: value for name, value in numeric.items() if _is_matrix(value)}
    lengths = {name: value for name, value in matrices.items() if kind_of(name) == "length"}
    chosen = {**chosen, **lengths} if chosen else matrices
    chosen = chosen or {name: value for name, value in numeric.items() if _is_edges(value)}
    if not chosen:
        shapes = ", ".join(f"{name} {tuple(value.shape)}" for name, value in numeric.items())
        raise FileError(
            f"{label}: no connectomes (n, V, V) among its arrays [{shapes}]. Check the file."
        )
    ids = _named(variables, _SUBJECTS, label)
    regions = _named(variables, _REGIONS, label)
    return tuple(
        Holding(
            value,
            measure=name if kind_of(name) != "count" or len(chosen) > 1 else "count",
            regions=_fitting(regions, set(value.shape)),
            subject_ids=_fitting(ids, set(value.shape)),
            axis=None,
            edges=_is_edges(value) and not _is_matrix(value),
        )
        for name, value in chosen.items()
    )


def texts_of(value: Any, label: str) -> tuple[str, ...] | None:
    """Return a list of names as text; None if it is not one.

    Whole numbers become their digits, bytes are decoded, MATLAB's nested cells are unwrapped.
    """
    if isinstance(value, list):
        return _texts_of_cells(value)
    if not hasattr(value, "dtype") or math.prod(value.shape) > _MAX_NAMES:
        return None
    if sum(length != 1 for length in value.shape) > 1 or value.shape == ():
        return None
    if isinstance(value, h5py.Dataset) and value.dtype.kind == "O":
        return read_texts(value) if h5py.check_string_dtype(value.dtype) else None
    check_stored(value, label)
    array = np.asarray(value[...]).ravel()
    if array.dtype.kind == "f" and np.isfinite(array).all() and (array == np.rint(array)).all():
        array = array.astype(np.int64)
    if array.dtype.kind == "S":
        return tuple(item.decode("utf-8", errors="replace").strip("\0 ") for item in array)
    if array.dtype.kind in "UTO" and all(isinstance(item, str) for item in array):
        return tuple(str(item).strip("\0 ") for item in array)
    return tuple(str(int(item)) for item in array) if array.dtype.kind in "iu" else None


def check_stored(values: Any, label: str) -> None:
    """Refuse to load an array that does not fit into memory, or of which hardly any is stored.

    HDF5 and zarr answer with zeros for what was never written. A stack may stay in its file.

    Raises
    ------
    FileError
    """
    size = math.prod(values.shape) * values.dtype.itemsize
    stored = size
    try:
        if isinstance(values, h5py.Dataset):
            stored = values.id.get_storage_size()
        elif hasattr(values, "nbytes_stored"):  # zarr
            stored = values.nbytes_stored()
    except STORAGE_ERRORS as error:
        raise FileError(f"{label}: damaged ({error}). Copy it again.") from error
    if is_bomb(stored, size):
        raise FileError(f"{label}: claims more than 300 times what is stored. Save it again.")
    check_array(values.shape, label, itemsize=values.dtype.itemsize)


def axis_of(shape: tuple[int, ...], axis: int | None, label: str) -> int:
    """Find the axis that runs over subjects: the one beside the two equal ones.

    Raises
    ------
    FileError
        If no two axes are equal (E1), or all three are and `axis` is not given.
    """
    if axis is not None:
        rest = [length for i, length in enumerate(shape) if i != axis % 3]
        if not -3 <= axis < 3 or rest[0] != rest[1]:
            raise FileError(
                f"{label}: axis={axis} does not leave a square of shape {shape}. Choose another."
            )
        return axis % 3
    found = [i for i in range(3) if shape[i - 1] == shape[i - 2]]
    if len(found) == 1:
        return found[0]
    if not found:
        raise FileError(f"{label}: matrix is {shape[1]}×{shape[2]}, expected square.")
    raise FileError(
        f"{label}: {shape[0]} subjects and as many regions; the axis of the subjects is ambiguous. "
        "Pass axis=0, 1 or 2 for the subjects."
    )


def _is_numeric(value: Any) -> bool:
    return getattr(getattr(value, "dtype", None), "kind", "O") in "biuf"


def _is_stack(value: Any) -> bool:
    return len(value.shape) == 3 and min(value.shape) > 0 and len(set(value.shape)) < 3


def _is_matrix(value: Any) -> bool:
    return len(value.shape) == 2 and value.shape[0] == value.shape[1] and value.shape[0] > 1


def _is_edges(value: Any) -> bool:
    if len(value.shape) != 2 or value.shape[0] < 1 or value.shape[1] < 3:
        return False
    root = int((8 * value.shape[1] + 1) ** 0.5)
    return root * root == 8 * value.shape[1] + 1


def _named(
    variables: Mapping[str, Any], pattern: re.Pattern[str], label: str
) -> list[tuple[str, ...]]:
    found = [texts_of(value, label) for name, value in variables.items() if pattern.search(name)]
    return [names for names in found if names]


def _fitting(candidates: list[tuple[str, ...]], lengths: set[int]) -> tuple[str, ...] | None:
    return next((names for names in candidates if len(names) in lengths), None)


def _texts_of_cells(cells: list[Any]) -> tuple[str, ...] | None:
    texts: list[str] = []
    for cell in cells:
        value = cell
        while isinstance(value, list) and len(value) == 1:
            value = value[0]
        if isinstance(value, np.ndarray) and value.size == 1:
            value = f"{value.item():g}" if value.dtype.kind in "iuf" else str(value.item())
        if not isinstance(value, str):
            return None
        texts.append(value.strip("\0 "))
    if len(texts) == 1 and "\n" in texts[0]:
        texts = texts[0].strip("\n").split("\n")
    return tuple(texts)
