"""Matrices of numbers as text, with or without names of rows and columns."""

import csv
import gzip
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stillome.arrays import Floats
from stillome.exceptions import FileError
from stillome.io.guarded_files import Item, decoded

_PLAIN = b"0123456789.,eE+-\n\r\t "
_FAST_BYTES = 16 * 2**20
_MISSING = frozenset({"nan", "n/a", "na", ""})


class TextMatrix(NamedTuple):
    """A matrix with the names written above and beside it, if any."""

    values: Floats
    columns: tuple[str, ...] | None
    rows: tuple[str, ...] | None


def parse_matrix(item: Item) -> TextMatrix:
    """Read a delimited matrix; lines starting with ``#`` are comments.

    Raises
    ------
    FileError
        If a cell is not a number or the rows differ in length.
    """
    data = item.data()
    fast = _parse_plain(data)
    if fast is not None:
        return TextMatrix(fast, None, None)
    return _parse_cells(split_cells(decoded(data, item.label), item.label), item.label)


def split_cells(text: str, label: str) -> list[list[str]]:
    """Split text into rows of cells; the first row decides the delimiter.

    Raises
    ------
    FileError
        If there is no row, or rows differ in length.
    """
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    if not lines:
        raise FileError(f"{label}: empty; no matrix in it. Write the file again.")
    mark = delimiter_of(lines[0])
    if mark is None:
        rows = [line.split("#", 1)[0].split() for line in lines]
    else:
        try:
            rows = list(csv.reader(lines, delimiter=mark))
        except csv.Error as error:
            raise FileError(f"{label}: not a table ({error}). Write the file again.") from error
        rows = [[cell.strip() for cell in row] for row in rows]
        if all(len(row) > 1 and not row[-1] for row in rows):
            rows = [row[:-1] for row in rows]
    return rows


def first_cells(head: bytes) -> list[str]:
    """Return the cells of the first line that is no comment; nothing if this is not text."""
    try:
        text = head.decode("utf-8-sig", errors="strict")
    except UnicodeDecodeError as error:
        if error.start < len(head) - 4:  # otherwise the last character is cut in two
            return []
        text = head[: error.start].decode("utf-8-sig")
    if "\x00" in text:
        return []
    for line in text.splitlines():
        if line.strip() and not line.startswith("#"):
            return [cell.strip().strip('"') for cell in line.rstrip("\r").split(delimiter_of(line))]
    return []


def delimiter_of(line: str) -> str | None:
    """Return the delimiter a line uses; None stands for blanks."""
    return next((mark for mark in "\t,;" if mark in line), None)


def is_number(cell: str) -> bool:
    """Whether a cell is a number, or marks a missing one."""
    if cell.lower() in _MISSING:
        return True
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell


def to_number(cell: str) -> float:
    """Return the number in a cell for which `is_number` holds; NaN if it is missing."""
    return math.nan if cell.lower() in _MISSING else float(cell)


def write_text_matrix(
    path: Path,
    values: NDArray[Any],
    *,
    names: tuple[str, ...] | None = None,
    mark: str | None = None,
    written: Callable[[float], str] | None = None,
) -> None:
    """Write a matrix; the delimiter follows the suffix: comma, tab, otherwise blanks.

    Numbers are written so that they are read back exactly, unless `written` says otherwise.
    """
    plain = path.name.lower().removesuffix(".gz")
    mark = mark or {"csv": ",", "tsv": "\t"}.get(plain.rsplit(".", 1)[-1], " ")
    as_text = written or format_number
    lines = [mark.join(as_text(value) for value in row) for row in values.tolist()]
    if names is not None:
        lines.insert(0, mark.join(names))
    data = ("\n".join(lines) + "\n").encode("utf-8")
    if path.name.lower().endswith(".gz"):
        data = gzip.compress(data, mtime=0)
    path.write_bytes(data)


def format_number(value: float) -> str:
    """Write a number in the shortest way that is read back exactly; whole ones without a point."""
    return str(int(value)) if value == int(value) and abs(value) < 2**53 else repr(float(value))


def _parse_plain(data: bytes) -> Floats | None:
    """Parse rows of plain numbers as JSON, which is twice as fast as any parser of tables."""
    if len(data) > _FAST_BYTES or data.translate(None, _PLAIN):
        return None
    body = data.strip().replace(b"\r\n", b"\n")
    first = body.split(b"\n", 1)[0]
    if b"\t" in first:
        body = body.replace(b"\t", b",")
    elif b"," not in first:
        body = b"\n".join(b",".join(line.split()) for line in body.split(b"\n"))
    try:
        rows = json.loads(b"[[" + body.replace(b"\n", b"],[") + b"]]")
        values = np.array(rows, dtype=np.float64)
    except (ValueError, OverflowError):
        return None
    return values if values.ndim == 2 and values.size else None


def _parse_cells(rows: list[list[str]], label: str) -> TextMatrix:
    columns: tuple[str, ...] | None = None
    names: tuple[str, ...] | None = None
    if not all(is_number(cell) for cell in rows[0]):
        columns, rows = tuple(rows[0]), rows[1:]
    width = len(rows[0]) if rows else 0
    for number, row in enumerate(rows, start=1):
        if len(row) != width:
            raise FileError(
                f"{label}: row {number} has {len(row)} cells, the first has {width}. "
                "The file may be cut off."
            )
    if rows and width > 1 and not all(is_number(row[0]) for row in rows):
        names, rows = tuple(row[0] for row in rows), [row[1:] for row in rows]
    if not rows:
        raise FileError(f"{label}: no numbers in it. Write the file again.")
    if columns is not None and names is not None and len(columns) == len(rows[0]) + 1:
        columns = columns[1:]
    if columns is not None and len(columns) != len(rows[0]):
        raise FileError(f"{label}: {len(columns)} names above {len(rows[0])} columns.")
    return TextMatrix(_numbers(rows, label), columns, names)


def _numbers(rows: list[list[str]], label: str) -> Floats:
    try:
        return np.array([[to_number(cell) for cell in row] for row in rows])
    except ValueError as error:
        raise FileError(f"{label}: a cell is not a number ({error}). Correct it.") from error
