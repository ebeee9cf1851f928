"""Where users want answers: something of theirs, such as a zarr array, written in slices."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stillome.exceptions import FileError, InputError


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
