"""Plain text: a whole file as text, or as rows of numbers."""

import os
import re
from collections.abc import Iterable

import numpy as np

from stillome.arrays import Floats
from stillome.exceptions import FileError
from stillome.io.guarded_files import MAX_BYTES, decoded, open_item, read_bytes

_SEPARATOR = re.compile(r"[\s,;]+")
_MISSING = frozenset({"n/a", "na", "nan", "-nan", "+nan"})


def read_text(path: str | os.PathLike[str], *, limit: int = MAX_BYTES) -> str:
    """Return the content of a UTF-8 text file that is not empty.

    Raises
    ------
    FileError
        If the file is missing, a folder, empty, larger than `limit` bytes, or not UTF-8.
    """
    checked = open_item(path).path
    text = decoded(read_bytes(checked, limit=limit), str(path))
    if not text.strip():
        raise FileError(f"{path}: the file is empty. Write it again.")
    return text


def parse_numbers(lines: Iterable[str], name: str) -> Floats:
    """Return rows of numbers, shape (rows, columns), separated by blanks, commas or semicolons.

    Lines that are empty or start with ``#`` are passed over; ``nan`` and ``n/a`` are missing.

    Raises
    ------
    FileError
        If a cell is not a number, is infinite, or the rows differ in length.

    Examples
    --------
    >>> parse_numbers(["0 1.5", "2 nan"], "rms")
    array([[0. , 1.5],
           [2. , nan]])
    """
    rows: list[list[float]] = []
    for number, line in enumerate(lines, start=1):
        cells = _SEPARATOR.split(line.strip().rstrip(",;"))
        if cells == [""] or cells[0].startswith("#"):
            continue
        try:
            rows.append([np.nan if c.lower() in _MISSING else float(c) for c in cells])
        except ValueError as error:
            raise FileError(
                f"{name}: line {number} holds something that is not a number ({error})."
            ) from error
        if len(rows[-1]) != len(rows[0]):
            raise FileError(
                f"{name}: line {number} has {len(rows[-1])} numbers; the first has {len(rows[0])}."
            )
    if not rows:
        raise FileError(f"{name}: no numbers in this file. Write it again.")
    array = np.array(rows, dtype=np.float64)
    if np.isinf(array).any():
        raise FileError(f"{name}: holds an infinite number. Write it again.")
    return array
