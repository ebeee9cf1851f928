"""NumPy's `.npy` and `.npz`: one matrix (connectoflow, DIPY) or a stack; never unpickled."""

import io
import math
import struct
import tokenize
import warnings
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from stillome.exceptions import FileError
from stillome.io.clean import check_dtype, pickled
from stillome.io.connectome_data import Contents, Holding
from stillome.io.formats.mrtrix import measure_of
from stillome.io.guarded_files import ZIP_MAGIC, Item, archive_members, member_names
from stillome.io.stacks import holdings_from

NPY = "NumPy .npy"
NPZ = "NumPy .npz"
CONNECTOFLOW = "connectoflow"
DIPY = "DIPY"
MAGIC = b"\x93NUMPY"
_HEADER_ERRORS = (
    ValueError,  # also text that is not UTF-8
    TypeError,
    SyntaxError,
    KeyError,
    EOFError,
    OSError,
    MemoryError,
    RecursionError,
    struct.error,
    tokenize.TokenError,  # from headers in the style of Python 2
)


def recognises_npy(item: Item, head: bytes) -> bool:
    """Whether the file starts like `.npy`."""
    return head.startswith(MAGIC)


def recognises_npz(item: Item, head: bytes) -> bool:
    """Whether this is an archive of `.npy` files only (or claims to be one)."""
    if not head.startswith(ZIP_MAGIC):
        return False
    names = member_names(item)
    return bool(names) and all(name.endswith(".npy") for name in names)


def read_npy(item: Item) -> Contents:
    """Read one matrix, or open a stack lazily."""
    array = open_npy(item)
    if array.ndim == 2 and array.shape[0] == array.shape[1]:
        return _single(array, item)
    return Contents(NPY, holdings_from({measure_of(item.name): array}, item.label))


def read_npz(item: Item) -> Contents:
    """Read the arrays of an archive; text arrays name the subjects and regions."""
    arrays: dict[str, Any] = {}
    for member in archive_members(item):
        name = member.name.removesuffix(".npy")
        arrays[name] = _parse(member.data(), member.label)
    return Contents(NPZ, holdings_from(arrays, item.label))


def open_npy(item: Item) -> NDArray[Any]:
    """Open an array, mapped into memory if the file is not compressed.

    Raises
    ------
    FileError
        If the file is damaged or holds Python objects (E7).
    """
    if not item.on_disk:
        return _parse(item.data(), item.label)
    try:
        with item.path.open("rb") as stream:
            shape, fortran, dtype, offset = _header(stream, item.label)
            size = item.path.stat().st_size
    except OSError as error:
        raise FileError(f"{item.label}: cannot be read ({error.strerror or error}).") from error
    _check_size(shape, dtype, size - offset, item.label)
    order = "F" if fortran else "C"
    try:
        return np.memmap(item.path, dtype=dtype, mode="r", offset=offset, shape=shape, order=order)  # type: ignore[call-overload]
    except (OSError, ValueError) as error:
        raise FileError(f"{item.label}: cannot be mapped ({error}).") from error


def write_npy(path: Path, holding: Holding) -> None:
    """Write one matrix or stack."""
    with path.open("wb") as stream:
        np.save(stream, np.asarray(holding.values), allow_pickle=False)


def write_dipy(path: Path, holding: Holding) -> None:
    """Write one matrix with a background in row and column 0 again."""
    values = np.asarray(holding.values)
    padded = np.pad(values, ((1, 0), (1, 0)))
    whole = bool((padded == np.rint(padded)).all())
    with path.open("wb") as stream:
        np.save(stream, padded.astype(np.int64) if whole else padded, allow_pickle=False)


def write_npz(path: Path, holding: Holding) -> None:
    """Write a stack as ``connectomes`` with ``subject_ids`` and ``regions``."""
    arrays = {"connectomes": np.asarray(holding.values)}
    if holding.subject_ids is not None:
        arrays["subject_ids"] = np.array(holding.subject_ids)
    if holding.regions is not None:
        arrays["regions"] = np.array(holding.regions)
    with path.open("wb") as stream:
        np.savez_compressed(stream, allow_pickle=False, **arrays)


def _single(array: NDArray[Any], item: Item) -> Contents:
    """Distinguish connectoflow (its folder) from DIPY (64-bit integers, or an empty row 0)."""
    if item.path.parent.name == "Compute_Connectivity":
        return Contents(CONNECTOFLOW, (Holding(array, measure=measure_of(item.name)),))
    if array.dtype == np.int64 or not (array[0].any() or array[:, 0].any()):
        note = (
            "row and column 0 left out as the background (DIPY counts it); give labels=... with "
            "one name per row if row 0 is a region."
        )
        holding = Holding(array, measure=measure_of(item.name), background=True)
        return Contents(DIPY, (holding,), (note,))
    return Contents(NPY, (Holding(array, measure=measure_of(item.name)),))


def _parse(data: bytes, label: str) -> NDArray[Any]:
    stream = io.BytesIO(data)
    shape, fortran, dtype, offset = _header(stream, label)
    _check_size(shape, dtype, len(data) - offset, label)
    values = np.frombuffer(data, dtype=dtype, count=math.prod(shape), offset=offset)
    return values.reshape(shape, order="F" if fortran else "C")


def _header(stream: IO[bytes], label: str) -> tuple[tuple[int, ...], bool, np.dtype[Any], int]:
    try:
        with warnings.catch_warnings():
            # Headers written by Python 2 are read too, without the warning.
            warnings.simplefilter("ignore")
            version = np.lib.format.read_magic(stream)
            read = {
                (1, 0): np.lib.format.read_array_header_1_0,
                (2, 0): np.lib.format.read_array_header_2_0,
            }[version]
            shape, fortran, dtype = read(stream)
    except _HEADER_ERRORS as error:
        reason = str(error).split("\n", maxsplit=1)[0]
        raise FileError(f"{label}: damaged .npy header ({reason}). Save it again.") from error
    if dtype.hasobject:
        raise pickled(label)
    if dtype.kind not in "SU":
        check_dtype(dtype, label)
    if dtype.itemsize == 0 or any(type(n) is not int or n < 0 for n in shape):
        raise FileError(f"{label}: damaged .npy header (shape {shape}). Save it again.")
    return shape, fortran, dtype, stream.tell()


def _check_size(shape: tuple[int, ...], dtype: np.dtype[Any], size: int, label: str) -> None:
    needed = math.prod(shape) * dtype.itemsize
    if needed > size:
        raise FileError(f"{label}: cut off ({size} bytes of {needed}). Copy it again.")
    if not needed:
        raise FileError(f"{label}: an empty array of shape {shape}. Save it again.")
