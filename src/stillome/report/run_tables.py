"""Tables of a run folder: a damaged one is answered with one sentence."""

import os
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from stillome.exceptions import FileError
from stillome.persistence import MISSING

ID = "participant_id"
_AGAIN = "Run the step that writes it again."


def read_run_table(
    path: str | os.PathLike[str],
    *,
    text: Sequence[str] = (),
    numbers: Sequence[str] = (),
    yes_no: Sequence[str] = (),
) -> pd.DataFrame:
    """Read one TSV of a run folder.

    Parameters
    ----------
    path : path-like
    text, numbers, yes_no : sequences of str
        Columns that must be there and what they hold. Others are kept as they look.

    Raises
    ------
    FileError
        If the file is missing, no table, or lacks a column.
    """
    path = Path(path)
    try:
        table = pd.read_csv(
            path,
            sep="\t",
            dtype=dict.fromkeys([*text, *yes_no], str),
            keep_default_na=False,
            na_values={},
            encoding="utf-8",
        )
    except (OSError, ValueError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise FileError(f"{path}: cannot be read as a table ({reason}). {_AGAIN}") from error
    missing = [name for name in (*text, *numbers, *yes_no) if name not in table]
    if missing:
        raise FileError(f"{path}: no column {', '.join(missing)}. {_AGAIN}")
    for name in numbers:
        table[name] = _as_numbers(table[name], path)
    for name in yes_no:
        table[name] = table[name].map({"True": True, "False": False})
        if table[name].isna().any():
            raise FileError(f"{path}: column {name} holds other things than True/False. {_AGAIN}")
    for name in table.columns.difference([*text, *numbers, *yes_no]):
        table[name] = _as_they_look(table[name])
    return table


def _as_numbers(column: "pd.Series[float]", path: Path) -> "pd.Series[float]":
    try:
        return pd.to_numeric(column.mask(column.astype(str) == MISSING)).astype(float)
    except (ValueError, TypeError) as error:
        raise FileError(
            f"{path}: column {column.name} should hold numbers ({error}). {_AGAIN}"
        ) from error


def _as_they_look(column: "pd.Series[float]") -> "pd.Series[float]":
    """Return numbers where all values are numbers or missing, else what stands there."""
    known = column.mask(column.astype(str) == MISSING)
    try:
        return pd.to_numeric(known)
    except (ValueError, TypeError):
        return known
