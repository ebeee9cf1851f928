"""Matrices of numbers as text, with or without names of rows and columns."""

import csv
import gzip
import itertools
import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stillome.arrays import Floats
from stillome.exceptions import FileError
from stillome.io.free_memory import check_array, check_fits
from stillome.io.guarded_files import Item, decoded

_PLAIN = b"0123456789.,eE+-\n\r\t "
_BLOCK_BYTES = 2**20
_CELL_BYTES = 60  # of a short text in a list
_MISSING = frozenset({"nan", "n/a", "na", ""})


class TextMatrix(NamedTuple):
    """A matrix with the names written above and beside it, if any."""

    values: Floats
    columns: tuple[str, ...] | None
    rows: tuple[str, ...] | None


def parse_matrix(item: Item) -> TextMatrix:
    """Read a delimited matrix; lines starting with ``#`` are comments.

    Rows become numbers one by one: cells as text take ten times the memory of numbers.

    Raises
    ------
    FileError
        If a cell is not a number or the rows differ in length.
    """
    data = item.data()
    fast = _parse_plain(data, item.label)
    if fast is not None:
        return TextMatrix(fast, None, None)
    named = _parse_plain_under_names(data, item.label)
    if named is not None:
        return named
    return _parse_cells(_rows_of(decoded(data, item.label), item.label), item.label)


def split_cells(text: str, label: str) -> list[list[str]]:
    """Split text into rows of cells; the first row decides the delimiter.

    Raises
    ------
    FileError
        If there is no row, or rows differ in length.
    """
    check_fits(2 * len(text) + _CELL_BYTES * _n_cells(text), label)
    rows = list(_rows_of(text, label))
    if all(len(row) > 1 and not row[-1] for row in rows):
        rows = [row[:-1] for row in rows]
    return rows


def is_nearly_square(text: str) -> bool:
    """Whether a text has as many lines as columns, but for names above and beside the numbers."""
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    if not lines:
        return False
    mark = delimiter_of(lines[0])
    width = len(lines[0].split()) if mark is None else lines[0].count(mark) + 1
    return abs(len(lines) - width) <= 2


def _rows_of(text: str, label: str) -> Iterator[list[str]]:
    """Yield rows of cells; the last cell is empty where lines end with a delimiter."""
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    if not lines:
        raise FileError(f"{label}: empty; no matrix in it. Write the file again.")
    mark = delimiter_of(lines[0])
    if mark is None:
        yield from (line.split("#", 1)[0].split() for line in lines)
        return
    try:
        for row in csv.reader(lines, delimiter=mark):
            yield [cell.strip() for cell in row]
    except csv.Error as error:
        raise FileError(f"{label}: not a table ({error}). Write the file again.") from error


def _n_cells(text: str) -> int:
    """Return about how many cells a text has."""
    mark = delimiter_of(text.split("\n", 1)[0])
    return text.count("\n") + text.count(mark or " ") + 1


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


def _parse_plain(data: bytes, label: str) -> Floats | None:
    """Parse rows of plain numbers as JSON, which is twice as fast as any parser of tables."""
    if data.translate(None, _PLAIN):
        return None
    body = data.strip().replace(b"\r\n", b"\n")
    first = body.split(b"\n", 1)[0]
    n_columns = max(first.count(b"\t"), first.count(b","), len(first.split()) - 1) + 1
    check_array((body.count(b"\n") + 1, n_columns), label)
    try:
        parts = [_plain_rows(block, first) for block in _blocks_of_lines(body)]
        values = np.concatenate(parts)
    except (ValueError, OverflowError):
        return None
    return values if values.ndim == 2 and values.size else None


def _parse_plain_under_names(data: bytes, label: str) -> TextMatrix | None:
    """Parse plain numbers under one row of names; nothing where the table is less regular."""
    head, _, body = data.partition(b"\n")
    if not head.strip() or head.startswith(b"#"):
        return None
    names = next(_rows_of(decoded(head, label), label))
    if all(map(is_number, names)):
        return None
    values = _parse_plain(body, label) if body.strip() else None
    if values is None or values.shape[1] != len(names):
        return None
    return TextMatrix(values, tuple(names), None)


def _blocks_of_lines(body: bytes) -> Iterator[bytes]:
    """Cut text at line ends into blocks, whose numbers take little memory as Python objects."""
    start = 0
    while start < len(body):
        end = body.find(b"\n", start + _BLOCK_BYTES)
        end = len(body) if end < 0 else end
        yield body[start:end]
        start = end + 1


def _plain_rows(block: bytes, first: bytes) -> Floats:
    if b"\t" in first:
        block = block.replace(b"\t", b",")
    elif b"," not in first:
        block = b"\n".join(b",".join(line.split()) for line in block.split(b"\n"))
    return np.array(json.loads(b"[[" + block.replace(b"\n", b"],[") + b"]]"), dtype=np.float64)


class _Body:
    """Rows of a table as numbers, with their first cells as text, which may be names."""

    def __init__(self, label: str) -> None:
        self.label = label
        self.starts: list[str] = []
        self.numbers: list[Floats] = []
        self.open_end = True  # every line ends with a delimiter

    def add(self, row: list[str]) -> None:
        """Add a row, which must be as long as those before."""
        width = len(self.numbers[0]) if self.numbers else len(row)
        if len(row) != width:
            raise FileError(
                f"{self.label}: row {len(self.numbers) + 1} has {len(row)} cells, the first has "
                f"{width}. The file may be cut off."
            )
        named = len(row) > 1 and not is_number(row[0])
        self.numbers.append(_numbers(["nan", *row[1:]] if named else row, self.label))
        if len(self.numbers) == 1:
            check_array((len(row), len(row)), self.label)  # most matrices are square
        self.starts.append(row[0] if row else "")
        self.open_end &= len(row) > 1 and not row[-1]

    @property
    def names(self) -> tuple[str, ...] | None:
        """The names beside the rows, if there are any."""
        return None if all(map(is_number, self.starts)) else tuple(self.starts)


def _numbers(cells: list[str], label: str) -> Floats:
    try:
        return np.array(list(map(float, cells)))
    except ValueError:  # some are missing
        pass
    try:
        return np.array([to_number(cell) for cell in cells])
    except ValueError as error:
        raise FileError(f"{label}: a cell is not a number ({error}). Correct it.") from error


def _parse_cells(rows: Iterator[list[str]], label: str) -> TextMatrix:
    first = next(rows)
    columns = None if all(is_number(cell) for cell in first) else tuple(first)
    body = _Body(label)
    for row in rows if columns is not None else itertools.chain([first], rows):
        body.add(row)
    if not body.numbers:
        raise FileError(f"{label}: no numbers in it. Write the file again.")
    values, names = np.array(body.numbers), body.names
    if body.open_end and (columns is None or not columns[-1]):
        values, columns = values[:, :-1], None if columns is None else columns[:-1]
    if names is not None:
        values = values[:, 1:]
    if columns is not None and names is not None and len(columns) == values.shape[1] + 1:
        columns = columns[1:]
    if columns is not None and len(columns) != values.shape[1]:
        raise FileError(f"{label}: {len(columns)} names above {values.shape[1]} columns.")
    return TextMatrix(values, columns, names)
