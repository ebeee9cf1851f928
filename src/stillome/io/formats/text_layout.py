"""How a text matrix is laid out: its separator, and how its numbers are written."""

import re
from pathlib import Path
from typing import NamedTuple

from stillome.exceptions import StillomeError
from stillome.io.formats.text_matrix import delimiter_of, format_number, is_number
from stillome.io.guarded_files import open_item

_DECIMALS = re.compile(r"^[+-]?\d+\.(\d+)(e[+-]?\d+)?$", re.IGNORECASE)


class TextLayout(NamedTuple):
    """The layout of a text matrix.

    Attributes
    ----------
    mark : str
        What stands between two numbers.
    form : str
        A format of Python, such as ``.6f`` or ``.18e``; empty for the shortest way.
    """

    mark: str
    form: str = ""

    def written(self, value: float) -> str:
        """Return a number in this layout.

        Examples
        --------
        >>> TextLayout(" ", ".3f").written(2), TextLayout(",").written(2)
        ('2.000', '2')
        """
        return format(float(value), self.form) if self.form else format_number(value)


def layout_of(path: Path) -> TextLayout | None:
    """Return the layout of a text matrix; None if it cannot be read, or is in an archive."""
    if not path.is_file():
        return None
    try:
        text = open_item(path).head().decode("utf-8-sig", errors="replace")
    except StillomeError:
        return None
    # The last line may be cut off.
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    lines = lines[:-1] or lines
    if not lines:
        return None
    blanks = re.search(r"\S(\s+)\S", lines[0])
    mark = delimiter_of(lines[0]) or (blanks[1] if blanks else " ")
    cells = [c for line in lines for c in re.split(r"[\s,;]+", line.strip(" \t,;")) if is_number(c)]
    return TextLayout(mark, _form_of(cells))


def _form_of(cells: list[str]) -> str:
    """Return the format in which all numbers are written, where there is one."""
    found = [_DECIMALS.match(cell) for cell in cells]
    forms = {f".{len(m[1])}{'e' if m[2] else 'f'}" if m else "" for m in found}
    return forms.pop() if len(forms) == 1 else ""
