"""Confounds and traits: one row per subject."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from stillome.cohort.validation.number_checks import as_floats
from stillome.cohort.validation.subject_checks import check_table
from stillome.exceptions import ConfoundsError, InputError, MissingConfoundError


def check_confounds(
    confounds: ArrayLike,
    *,
    n_subjects: int | None = None,
    n_confounds: int | None = None,
    allow_missing: bool = False,
    allow_constant: bool = False,
    name: str = "confounds",
) -> NDArray[np.float64]:
    """Judge motion or other confounds and give them back as (n, C) floats.

    Parameters
    ----------
    confounds : array-like of shape (n,) or (n, C)
        One row per subject, in the user's own units (mm, rad, dummies).
    n_subjects, n_confounds : int, optional
        What is expected.
    allow_missing : bool, default=False
        Whether NaN (motion unknown) may stay.
    allow_constant : bool, default=False
        Whether a column may hold the same value for everybody, as it may for one new subject.
    name : str, default="confounds"
        What the message calls the argument.

    Raises
    ------
    ConfoundsError
        If anything is not as it should be.

    Examples
    --------
    >>> check_confounds([0.1, 0.4, 0.2]).shape
    (3, 1)
    """
    try:
        array = as_floats(confounds, name)
    except InputError as error:
        raise ConfoundsError(str(error)) from error
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2 or 0 in array.shape:
        raise ConfoundsError(
            f"{name}: shape {array.shape}; expected (n,) or (n, C) with one row per subject."
        )
    _check_length(array, n_subjects, name, ConfoundsError)
    if n_confounds is not None and array.shape[1] != n_confounds:
        raise ConfoundsError(
            f"{name}: {array.shape[1]} columns; the model was fitted with {n_confounds}. "
            "Give the same confounds in the same order."
        )
    if np.isinf(array).any() or (not allow_missing and np.isnan(array).any()):
        row, column = np.argwhere(~np.isfinite(array))[0]
        message = (
            f"{name}: {array[row, column]} at subject {row}, column {column}; "
            "fill in the value or leave out the subject."
        )
        if np.isnan(array[row, column]):
            raise MissingConfoundError(message, name, int(row), int(column))
        raise ConfoundsError(message)
    if not allow_constant:
        _check_not_constant(array, name)
    return array


def check_traits(
    traits: ArrayLike, *, n_subjects: int | None = None, name: str = "traits"
) -> NDArray[np.float64]:
    """Judge traits and give them back as (n, T) floats; NaN means missing.

    Raises
    ------
    InputError
        If the length does not match, a value is infinite, or a trait has fewer than two values
        or does not vary.

    Examples
    --------
    >>> check_traits([101.0, float("nan"), 97.0]).shape
    (3, 1)
    """
    array = as_floats(traits, name)
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2 or 0 in array.shape:
        raise InputError(
            f"{name}: shape {array.shape}; expected (n,) or (n, T) with one row per subject."
        )
    _check_length(array, n_subjects, name, InputError)
    if np.isinf(array).any():
        row, column = np.argwhere(np.isinf(array))[0]
        raise InputError(f"{name}: infinite at subject {row}, column {column}; use NaN if missing.")
    for column, values in enumerate(array.T):
        known = values[~np.isnan(values)]
        if len(known) < 2 or known.min() == known.max():
            raise InputError(
                f"{name}: column {column} has {len(known)} known values that do not vary; "
                "a trait must differ between subjects. Leave it out."
            )
    return array


def check_columns(table: pd.DataFrame, names: Sequence[str], what: str) -> NDArray[np.float64]:
    """Judge named columns of a table and give them back as (n, T) floats; NaN means missing.

    Parameters
    ----------
    table : pandas.DataFrame
        One row per subject.
    names : sequence of str
        Columns of it.
    what : str
        What the message calls a column: "trait", "confound".

    Raises
    ------
    InputError
        If there are fewer than two subjects, or a column is missing, holds text, no value at all,
        or the same value for everybody.

    Examples
    --------
    >>> check_columns(pd.DataFrame({"age": [8, 9], "site": ["A", "B"]}), ["age"], "trait").shape
    (2, 1)
    """
    table = check_table(table, f"table of each {what}")
    if len(table) < 2:
        few = "1 subject has" if len(table) == 1 else "0 subjects have"
        raise InputError(f"{few} everything asked for; at least 2 are needed for a {what}.")
    for name in names:
        if name not in table:
            raise InputError(f"{what} {name!r} is not among {', '.join(table.columns)}.")
        column = table[name]
        if not pd.api.types.is_numeric_dtype(column):
            raise InputError(f"{what} {name!r} holds text, not numbers. Code it as numbers first.")
        known = column.dropna()
        if known.empty:
            raise InputError(
                f"{what} {name!r} holds no value for any of the {len(column)} subjects. "
                "Leave it out."
            )
        if known.nunique() < 2:
            raise InputError(f"{what} {name!r} is {known.iloc[0]:g} for everybody. Leave it out.")
    return table[list(names)].to_numpy(dtype=np.float64, na_value=np.nan)


def check_features(features: ArrayLike, *, name: str = "features") -> NDArray[np.float64]:
    """Judge a representation and give it back as (n, p) floats.

    Raises
    ------
    InputError
        If it is not a table of finite numbers.

    Examples
    --------
    >>> check_features([[0.5, -1.0]]).shape
    (1, 2)
    """
    array = as_floats(features, name)
    if array.ndim != 2 or 0 in array.shape:
        raise InputError(f"{name}: shape {array.shape}; expected (n, p) with one row per subject.")
    if not np.isfinite(array).all():
        row, column = np.argwhere(~np.isfinite(array))[0]
        raise InputError(f"{name}: {array[row, column]} at subject {row}, column {column}.")
    return array


def _check_length(
    array: NDArray[Any], n_subjects: int | None, name: str, error: type[InputError]
) -> None:
    if n_subjects is not None and len(array) != n_subjects:
        raise error(f"{name}: {len(array)} rows for {n_subjects} subjects. Give one row for each.")


def _check_not_constant(array: NDArray[np.float64], name: str) -> None:
    for column, values in enumerate(array.T):
        known = values[~np.isnan(values)]
        if len(known) == 0 or known.min() == known.max():
            raise ConfoundsError(
                f"{name}: column {column} is the same for all {len(known)} subjects that have it; "
                "there is nothing to adjust for. Leave it out."
            )
