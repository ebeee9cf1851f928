"""The check of a table before it is drawn."""

from collections.abc import Iterable

import pandas as pd

from stillome.exceptions import InputError


def check_columns(
    table: pd.DataFrame, name: str, columns: Iterable[str], advice: str
) -> pd.DataFrame:
    """Return the table if it has rows and the columns that are drawn.

    Parameters
    ----------
    table : pandas.DataFrame
    name : str
        What the message calls it.
    columns : iterable of str
    advice : str
        What to pass instead, as the end of a sentence.

    Examples
    --------
    >>> check_columns(pd.DataFrame({"epoch": [1]}), "history", ["epoch"], "a history").shape
    (1, 1)
    """
    if not isinstance(table, pd.DataFrame):
        raise InputError(f"{name}: a {type(table).__name__}, not a table; pass {advice}.")
    missing = [column for column in columns if column not in table.columns]
    if missing:
        raise InputError(f"{name}: no column {', '.join(missing)}; pass {advice}.")
    if table.empty:
        raise InputError(f"{name}: no rows; pass {advice}.")
    return table
