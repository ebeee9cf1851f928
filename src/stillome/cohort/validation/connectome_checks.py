"""Fibre counts: finite, not negative, symmetric, and of the right size."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stillome.cohort.validation.number_checks import as_numbers, check_count
from stillome.cohort.validation.sliced import is_sliced, read_slice
from stillome.exceptions import InputError

# Large stacks are judged in slices of about this many bytes, so that a memory-mapped cohort is
# looked at without being loaded.
_SLICE_BYTES = 16 * 2**20
_SYMMETRY_TOLERANCE = 1e-6  # of the largest value, so that the unit of weights does not matter
_FEWEST_EDGES = 10  # of a network; in a smaller one, no edge need have fibres


def n_regions_of(n_edges: int) -> int:
    """Return the number of regions V for which V(V-1)/2 equals `n_edges`.

    Examples
    --------
    >>> n_regions_of(2278)
    68
    """
    n_edges = check_count(n_edges, "n_edges", maximum=10**18)
    n_regions = (1 + math.isqrt(1 + 8 * n_edges)) // 2
    if n_edges < 1 or n_regions * (n_regions - 1) // 2 != n_edges:
        raise InputError(
            f"{n_edges} edges per subject is not V(V-1)/2 for any number of regions V "
            f"(68 regions have 2278). Give the whole upper triangle, row by row."
        )
    return n_regions


def check_connectomes(
    connectomes: ArrayLike,
    *,
    subject_ids: Sequence[str] | None = None,
    regions: Sequence[str] | None = None,
    n_regions: int | None = None,
    min_subjects: int = 1,
    allow_empty: bool = True,
    name: str = "connectomes",
    in_slices: bool = False,
) -> NDArray[Any]:
    """Judge fibre counts and give them back as an array, in the shape they came in.

    Parameters
    ----------
    connectomes : array-like of shape (n, V, V) or (n, V(V-1)/2)
        Fibre counts, integer or float: finite, not negative; matrices symmetric. The diagonal is
        not looked at: self-connections carry no information here.
    subject_ids, regions : sequences of str, optional
        Used to name the offending subject and edge in the message.
    n_regions : int, optional
        The number of regions V that is expected (of a fitted model).
    min_subjects : int, default=1
        The fewest subjects that can be used.
    allow_empty : bool, default=True
        Whether a connectome may be without any fibre, as none of a brain is.
    name : str, default="connectomes"
        What the message calls the argument.
    in_slices : bool, default=False
        Whether an array in a store (zarr, HDF5, Dask) is looked at in slices and given back as it
        is; otherwise it is loaded.

    Returns
    -------
    numpy.ndarray
        The same values without a copy where possible; integer or floating dtype.

    Raises
    ------
    InputError
        With one sentence that says which subject and which edge is wrong.

    Examples
    --------
    >>> check_connectomes([[3, 0, 1]]).shape
    (1, 3)
    >>> check_connectomes([[3, -2, 1]])
    Traceback (most recent call last):
    ...
    stillome.exceptions.InputError: connectomes: subject 0 has -2 at edge (0, 2); fibre counts must be finite and ≥ 0. Correct or leave out this subject.
    """  # noqa: E501
    stays = in_slices and is_sliced(connectomes)
    array = _in_store(connectomes, name) if stays else as_numbers(connectomes, name)
    if array.dtype.kind == "b":
        array = array.astype(np.int64)
    _check_shape(array, name)
    _check_sizes(array, n_regions, min_subjects, subject_ids, regions, name)
    rows_per_slice = max(1, _SLICE_BYTES // max(1, _row_bytes(array)))
    for start in range(0, array.shape[0], rows_per_slice):
        part = read_slice(array, slice(start, start + rows_per_slice), name)
        _check_values(part, start, subject_ids, regions, name)
        if part.ndim == 3:
            _check_symmetry(part, start, subject_ids, regions, name)
        if not allow_empty:
            _check_not_empty(part, start, subject_ids, name)
    return array


def _row_bytes(array: Any) -> int:
    return np.dtype(array.dtype).itemsize * math.prod(array.shape[1:])


def _in_store(values: Any, name: str) -> Any:
    if np.dtype(values.dtype).kind not in "iuf":
        raise InputError(
            f"{name}: dtype {values.dtype}; expected real numbers. Convert before passing them on."
        )
    return values


def _check_shape(array: NDArray[Any], name: str) -> None:
    if array.ndim == 3 and array.shape[1] != array.shape[2]:
        raise InputError(
            f"{name}: matrices are {array.shape[1]}×{array.shape[2]}, expected square: (n, V, V)."
        )
    if array.ndim not in (2, 3):
        raise InputError(
            f"{name}: shape {array.shape}; expected (n, V, V) or (n, V(V-1)/2). "
            "For a single subject add a first axis of length 1."
        )
    if array.ndim == 3 and array.shape[1] < 2:
        raise InputError(f"{name}: {array.shape[1]} region(s); a network needs at least two.")
    if array.ndim == 2:
        n_regions_of(array.shape[1])


def _check_sizes(
    array: NDArray[Any],
    n_regions: int | None,
    min_subjects: int,
    subject_ids: Sequence[str] | None,
    regions: Sequence[str] | None,
    name: str,
) -> None:
    found = array.shape[1] if array.ndim == 3 else n_regions_of(array.shape[1])
    if n_regions is not None and found != n_regions:
        raise InputError(
            f"{name}: {found} regions; expected {n_regions}. Use the atlas of the fitted model."
        )
    if array.shape[0] < min_subjects:
        raise InputError(
            f"{name}: n_samples={array.shape[0]} subjects; at least {min_subjects} needed."
        )
    if subject_ids is not None and len(subject_ids) != array.shape[0]:
        raise InputError(f"{name}: {array.shape[0]} subjects but {len(subject_ids)} subject ids.")
    if regions is not None and len(regions) != found:
        raise InputError(f"{name}: {found} regions but {len(regions)} region names.")


def _check_values(
    part: NDArray[Any],
    start: int,
    subject_ids: Sequence[str] | None,
    regions: Sequence[str] | None,
    name: str,
) -> None:
    bad = ~(np.isfinite(part) & (part >= 0))
    if part.ndim == 3:
        diagonal = np.arange(part.shape[1])
        bad[:, diagonal, diagonal] = False
    if bad.any():
        place = tuple(int(i) for i in np.argwhere(bad)[0])
        value = "NaN" if np.isnan(part[place]) else f"{part[place]:g}"
        raise InputError(
            f"{name}: {_subject(place[0] + start, subject_ids)} has {value} at edge "
            f"{_edge(place[1:], part.shape, regions)}; fibre counts must be finite and ≥ 0. "
            "Correct or leave out this subject."
        )


def _check_symmetry(
    part: NDArray[Any],
    start: int,
    subject_ids: Sequence[str] | None,
    regions: Sequence[str] | None,
    name: str,
) -> None:
    transposed = np.swapaxes(part, 1, 2)
    if part.dtype.kind == "f":
        # Off the diagonal all is finite by now; on it even inf - inf may happen, and is no gap.
        with np.errstate(invalid="ignore", over="ignore"):
            gap = np.abs(part - transposed) > _SYMMETRY_TOLERANCE * _largest_off_diagonal(part)
        diagonal = np.arange(part.shape[1])
        gap[:, diagonal, diagonal] = False
    else:
        gap = part != transposed
    if gap.any():
        place = tuple(int(i) for i in np.argwhere(gap)[0])
        mirrored = (place[0], place[2], place[1])
        raise InputError(
            f"{name}: {_subject(place[0] + start, subject_ids)} is not symmetric: {part[place]:g} "
            f"at edge {_edge(place[1:], part.shape, regions)} but {part[mirrored]:g} mirrored. "
            "Symmetrise the matrices first."
        )


def _largest_off_diagonal(part: NDArray[Any]) -> NDArray[Any]:
    """Return the largest value of matrices (n, V, V), shape (n, 1, 1); the diagonal is anything."""
    off = ~np.eye(part.shape[1], dtype=bool)
    return np.max(part, axis=(1, 2), keepdims=True, where=off, initial=0)


def _check_not_empty(
    part: NDArray[Any], start: int, subject_ids: Sequence[str] | None, name: str
) -> None:
    n_edges = part.shape[1] if part.ndim == 2 else math.comb(part.shape[1], 2)
    if n_edges < _FEWEST_EDGES:
        return
    for index, one in enumerate(part):
        n_fibres = np.count_nonzero(one)
        if one.ndim == 2:
            n_fibres -= np.count_nonzero(np.diagonal(one))
        if not n_fibres:
            raise InputError(
                f"{name}: {_subject(index + start, subject_ids)} has no fibre on any edge; "
                "tractography failed. Leave out this subject."
            )


def _subject(index: int, subject_ids: Sequence[str] | None) -> str:
    return f"subject {index}" if subject_ids is None else f"subject {subject_ids[index]!r}"


def _edge(place: tuple[int, ...], shape: tuple[int, ...], regions: Sequence[str] | None) -> str:
    if len(place) == 1:
        rows, columns = np.triu_indices(n_regions_of(shape[1]), k=1)
        place = (int(rows[place[0]]), int(columns[place[0]]))
    return f"({place[0]}, {place[1]})" if regions is None else "/".join(regions[i] for i in place)
