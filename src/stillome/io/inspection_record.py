"""The result of an inspection, and how its facts are worded."""

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd


@dataclass(frozen=True)
class Inspection:
    """What was recognised at a path.

    Attributes
    ----------
    path : str
    producer : str
        Who wrote it, or what kind of table it is.
    facts : dict of str to str
        In the order in which they are shown: subjects, regions, measure, range, …
    warnings : tuple of str
        What the user should check.
    """

    path: str
    producer: str
    facts: dict[str, str]
    warnings: tuple[str, ...] = ()


def columns_of(table: pd.DataFrame) -> dict[str, str]:
    """Return the range or the number of values of every column.

    Examples
    --------
    >>> columns_of(pd.DataFrame({"age": [9.0, 11.0], "sex": ["F", "M"]}))
    {'age': '9 to 11', 'sex': '2 values'}
    """
    facts = {}
    for name in table.columns:
        column = table[name]
        missing = f", {column.isna().sum()} missing" if column.isna().any() else ""
        if pd.api.types.is_numeric_dtype(column) and column.notna().any():
            facts[str(name)] = f"{range_of(column.min(), column.max())}{missing}"
        else:
            facts[str(name)] = f"{column.nunique()} values{missing}"
    return facts


def range_of(low: float, high: float) -> str:
    """Return ``low to high`` in few digits."""
    return f"{short(low)} to {short(high)}"


def some(names: Sequence[str]) -> str:
    """List the first three.

    Examples
    --------
    >>> some(["A", "B", "C", "D"])
    'A, B, C, …'
    """
    return ", ".join(names[:3]) + (", …" if len(names) > 3 else "")


def short(value: float) -> str:
    """Return a number in few digits."""
    return f"{value:.6g}"
