"""Small tables of the page: a caption, columns, rows of text."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Column:
    """One column: its title, and whether it holds numbers (which stand at the right)."""

    title: str
    number: bool = True


@dataclass(frozen=True)
class Row:
    """One row; the one of the method itself is marked."""

    values: tuple[Any, ...]
    ours: bool = False


@dataclass(frozen=True)
class HtmlTable:
    """What the template draws; values are text, or a state with a word for a badge."""

    caption: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]


def html_table(
    caption: str, titles: Sequence[str], rows: Sequence[Row], *, text: Sequence[str] = ()
) -> HtmlTable:
    """Make a table; columns named in `text` (and the first) stand at the left.

    Examples
    --------
    >>> html_table("Ages", ["who", "age"], [Row(("A", "4"))]).columns[1].number
    True
    """
    columns = tuple(Column(title, number=title not in text) for title in titles)
    return HtmlTable(caption, columns, tuple(rows))


def passed_badge(passed: bool | None, removed: str) -> dict[str, str]:
    """Return the badge of a certificate; `removed` is "motion", or "motion or site".

    None is a certificate that cannot tell, since its probes have too little power.

    Examples
    --------
    >>> passed_badge(None, "motion")
    {'state': 'unknown', 'word': 'cannot be told'}
    """
    if passed is None:
        return {"state": "unknown", "word": "cannot be told"}
    if passed:
        return {"state": "good", "word": "none"}
    return {"state": "bad", "word": f"{removed} read"}
