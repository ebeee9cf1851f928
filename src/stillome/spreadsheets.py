"""Text that a spreadsheet would run as a formula, in the tables that are written.

Spreadsheets take a cell that starts with ``=``, ``+``, ``-`` or ``@`` as a formula, which can open
other files. In written tables such text has an apostrophe in front, which spreadsheets do not
show; reading takes it away again.
"""

import re
from collections.abc import Callable
from typing import Any

import pandas as pd

_FORMULA = re.compile(r"^'*[=+\-@\t\r]")
_MARKED = re.compile(r"^'+[=+\-@\t\r]")
_NUMBER = re.compile(r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$|^[+-]inf$")


def is_formula(text: str) -> bool:
    """Whether a spreadsheet would run this text; numbers it would not.

    Examples
    --------
    >>> [is_formula(text) for text in ("=1+1", "@x", "-0.5", "a=b")]
    [True, True, False, False]
    """
    return bool(_FORMULA.match(text)) and not _NUMBER.match(text)


def marked(text: Any) -> Any:
    """Return text that is no formula, with an apostrophe where it would be one."""
    return f"'{text}" if isinstance(text, str) and is_formula(text) else text


def unmarked(text: Any) -> Any:
    """Return the text that `marked` was given.

    Examples
    --------
    >>> [unmarked(marked(text)) for text in ("=1+1", "'=1", "it's", "-5")]
    ['=1+1', "'=1", "it's", '-5']
    """
    return text[1:] if isinstance(text, str) and _MARKED.match(text) else text


def without_formulas(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table whose text and names of columns are no formulas."""
    return _mapped(table, marked)


def with_formulas(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table that `without_formulas` was given."""
    return _mapped(table, unmarked)


def _mapped(table: pd.DataFrame, change: Callable[[Any], Any]) -> pd.DataFrame:
    changed = table.copy()
    for place, (_, values) in enumerate(table.items()):
        if values.dtype.kind not in "iufb":
            changed.isetitem(place, values.map(change, na_action="ignore"))
    if table.index.dtype.kind not in "iufb":
        changed.index = table.index.map(change)
    changed.columns = table.columns.map(change)
    return changed
