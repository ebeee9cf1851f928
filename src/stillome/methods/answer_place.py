"""Where users want answers: something of theirs, such as a zarr array, written in slices."""

import inspect
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stillome.cohort.validation.number_dtypes import answer_dtype
from stillome.exceptions import FileError, InputError


def reads_slices(method: Any) -> bool:
    """Whether ``adjust`` of a method reads stores in slices and writes answers as it makes them.

    Examples
    --------
    >>> from stillome import InvFA
    >>> from stillome.methods.linear.combat import ComBat
    >>> reads_slices(InvFA()), reads_slices(ComBat())
    (True, False)
    """
    return "out" in inspect.signature(method.adjust).parameters


def dtype_of_adjusted(X: ArrayLike) -> np.dtype[Any]:
    """Return a dtype for adjusted connectomes, which may exceed what the input's was chosen for.

    Examples
    --------
    >>> dtype_of_adjusted(np.zeros((2, 3), np.uint8)), dtype_of_adjusted(np.zeros((2, 3), "f4"))
    (dtype('int32'), dtype('float32'))
    """
    dtype = answer_dtype(X)
    return np.promote_types(dtype, np.int32) if dtype.kind in "iu" else dtype


def check_out(out: Any, shape: tuple[int, ...]) -> None:
    """Refuse a place whose shape is not that of the answer.

    Raises
    ------
    InputError

    Examples
    --------
    >>> check_out(np.empty((3, 4)), (5, 4))
    Traceback (most recent call last):
    ...
    stillome.exceptions.InputError: out: its shape is (3, 4); the answer has (5, 4).
    """
    found = tuple(getattr(out, "shape", ()))
    if found != tuple(shape):
        raise InputError(f"out: its shape is {found}; the answer has {tuple(shape)}.")


def write_subjects(out: Any, subjects: slice, answer: NDArray[Any]) -> None:
    """Write the answer (m, ...) of consecutive subjects where it belongs.

    Raises
    ------
    InputError
        If the dtype of `out` cannot hold the values: numbers would change in silence.
    FileError
        If they cannot be written.

    Examples
    --------
    >>> out = np.zeros((3, 2), np.uint8)
    >>> write_subjects(out, slice(1, 3), np.array([[1, 2], [3, 4]]))
    >>> out.tolist()
    [[0, 0], [1, 2], [3, 4]]
    """
    dtype = np.dtype(out.dtype)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        held = (answer >= limits.min) & (answer <= limits.max) & (answer == np.floor(answer))
        if not held.all():
            raise InputError(
                f"out: {answer[~held][0]:.6g} does not fit its dtype {dtype}. Use a wider one, or "
                "float32."
            )
    try:
        out[subjects] = answer
    except Exception as error:  # whatever the library of a store raises
        raise FileError(
            f"out: subjects {subjects.start} to {subjects.stop - 1} cannot be written ({error}). "
            "Is the disk full?"
        ) from error
