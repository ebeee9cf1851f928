"""Tables of a run folder: columns of a known kind, and one sentence where a table is damaged."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from stillome.exceptions import FileError
from stillome.persistence import MISSING
from stillome.spreadsheets import with_formulas

_YES_NO = {"True": True, "False": False}


class Columns(NamedTuple):
    """Columns that a table must have, by what they hold; others are kept as they look."""

    text: Sequence[str] = ()
    numbers: Sequence[str] = ()
    yes_no: Sequence[str] = ()


def read_run_table(path: str | os.PathLike[str], columns: Columns) -> pd.DataFrame:
    """Read one TSV of a run folder; numbers keep every bit.

    Parameters
    ----------
    path : path-like
    columns : Columns

    Raises
    ------
    FileError
        If the file is missing, no table, or lacks a column.
    """
    path = Path(path)
    text, numbers, yes_no = columns
    try:
        # As text, which keeps "001"; NumPy then reads the shortest decimal back to the same bits.
        table = with_formulas(
            pd.read_csv(
                path, sep="\t", dtype=str, keep_default_na=False, na_values=[], encoding="utf-8"
            )
        )
    except (OSError, ValueError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise FileError(f"{path}: cannot be read as a table ({reason}).") from error
    missing = [name for name in (*text, *numbers, *yes_no) if name not in table]
    if missing:
        raise FileError(f"{path}: no column {', '.join(missing)}.")
    for name in table.columns.difference(text):
        values = table[name]
        if name in yes_no and not values.isin(list(_YES_NO)).all():
            raise FileError(f"{path}: column {name} holds other things than True/False.")
        table[name] = _as_they_look(values)
        if name in numbers and not pd.api.types.is_numeric_dtype(table[name].dtype):
            raise FileError(f"{path}: column {name} should hold numbers.")
    return table.astype(dict.fromkeys(numbers, float))


def _as_they_look(column: "pd.Series[Any]") -> "pd.Series[Any]":
    """Return truth values or numbers where all values are such or missing, else the text."""
    if column.isin(list(_YES_NO)).all():
        return column.map(_YES_NO).astype(bool)
    for kind in (np.int64, np.float64):
        values = column.mask(column == MISSING, "nan").to_numpy(dtype=object)
        try:
            return pd.Series(values.astype(kind), index=column.index, name=column.name)
        except (ValueError, OverflowError):
            continue
    return column.mask(column == MISSING)
