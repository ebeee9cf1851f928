"""Single numbers, seeds, and the first look at anything that should be an array of numbers."""

from numbers import Integral
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from stillome.exceptions import InputError

_LARGEST = 10**9


def as_numbers(values: ArrayLike, name: str = "values") -> NDArray[Any]:
    """Give anything array-like back as an array of real numbers or booleans.

    The dtype is kept and nothing is copied where the values are an array already; nullable and
    mixed columns become floats with NaN for what is missing.

    Raises
    ------
    InputError
        If the values are ragged, text, complex, dates, masked, or anything but numbers.

    Examples
    --------
    >>> as_numbers([3, 1]).tolist()
    [3, 1]
    """
    if np.ma.is_masked(values):
        raise InputError(f"{name}: some values are masked. Fill or leave them out.")
    try:
        array = np.asarray(values)
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        raise InputError(
            f"{name}: cannot be read as one array of numbers ({error}). "
            "Give every subject the same size."
        ) from error
    if array.dtype.kind == "O":
        array = _objects_to_floats(array, name)
    if array.dtype.kind not in "iufb":
        raise InputError(
            f"{name}: dtype {array.dtype}; expected real numbers. Convert before passing them on."
        )
    return array


def check_count(value: int, name: str, *, minimum: int = 0, maximum: int = _LARGEST) -> int:
    """Judge a whole number that may not be below `minimum`, nor too large for any array.

    Examples
    --------
    >>> check_count(3, "n_subjects", minimum=1)
    3
    """
    if isinstance(value, bool | np.bool_) or not isinstance(value, Integral) or value < minimum:
        raise InputError(f"{name}={value!r}; expected a whole number ≥ {minimum}.")
    if value > maximum:
        raise InputError(f"{name}={value!r}; expected a whole number ≤ {maximum:,}.")
    return int(value)


def check_share(value: float, name: str, *, below: float = 1.0) -> float:
    """Judge a share of subjects, above 0 and below `below`.

    Examples
    --------
    >>> check_share(0.1, "quantile", below=0.5)
    0.1
    """
    number = isinstance(value, int | float | np.integer | np.floating)
    if not number or isinstance(value, bool) or not 0 < value < below:
        raise InputError(f"{name}={value!r}; expected a share above 0 and below {below:g}.")
    return float(value)


def check_random_state(random_state: int | np.random.Generator | None) -> np.random.Generator:
    """Turn a seed into a generator; a generator is passed on, None is a new one every time.

    Examples
    --------
    >>> int(check_random_state(0).integers(1000))
    850
    """
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"random_state={random_state!r}; expected a whole number ≥ 0, a numpy Generator, "
            "or None."
        ) from error


def as_floats(values: ArrayLike, name: str = "values") -> NDArray[np.float64]:
    """Give anything array-like back as a new array of 64-bit floats.

    Examples
    --------
    >>> as_floats([True, None]).tolist()
    [1.0, nan]
    """
    with np.errstate(over="ignore"):  # too large for a float becomes infinite, which is refused
        return as_numbers(values, name).astype(np.float64)


def _objects_to_floats(array: NDArray[Any], name: str) -> NDArray[np.float64]:
    for value in array.flat:
        # float() would take text and the real part of complex numbers without a word.
        if isinstance(value, str | bytes | complex | np.complexfloating):
            raise InputError(f"{name}: holds {value!r}, which is not a number. Convert it first.")
    try:
        return np.where(pd.isna(array), np.nan, array).astype(np.float64)
    except (ValueError, TypeError, OverflowError) as error:
        raise InputError(f"{name}: holds something that is not a number ({error}).") from error
