"""Comma-, tab- or semicolon-separated tables as text, cell by cell; nothing is converted here."""

import csv
import io
import os
from collections import Counter

import pandas as pd

from stillome.exceptions import FileError
from stillome.io.free_memory import check_fits
from stillome.io.text_files import read_text
from stillome.spreadsheets import unmarked

_CELL_BYTES = 60  # of a short text in a list


def read_cells(path: str | os.PathLike[str]) -> tuple[pd.DataFrame, dict[str, str]]:
    """Return a table with a header as text, and the descriptions of its columns if it has them.

    NDA's text files (ABCD up to release 4) explain every column in row 2; that row is
    removed from the table and returned separately. Columns without a name are left out.

    Raises
    ------
    FileError
        If the file is not a table: rows differ in length, a name occurs twice, or there is no row.
    """
    text = read_text(path)
    header = text.split("\n", 1)[0]
    delimiter = next((mark for mark in "\t,;" if mark in header), ",")
    # Cells are there twice, as text of a row and in the table.
    n_cells = text.count(delimiter) + text.count("\n")
    check_fits(3 * len(text) + 2 * _CELL_BYTES * n_cells, str(path))
    try:
        rows = list(csv.reader(io.StringIO(text), delimiter=delimiter, strict=True))
    except csv.Error as error:
        raise FileError(f"{path}: cannot be read as a table ({error}).") from error
    rows = [[unmarked(cell.strip()) for cell in row] for row in rows if any(map(str.strip, row))]
    if not rows:
        raise FileError(f"{path}: no rows in this table. Write it again.")
    names, body = rows[0], rows[1:]
    _check_rows(names, body, path)
    descriptions: dict[str, str] = {}
    if body and _is_description(names, body[0]):
        descriptions = dict(zip(names, body.pop(0), strict=True))
    if not body:
        raise FileError(f"{path}: no row below the header; a table needs at least one.")
    del rows
    table = pd.DataFrame(body, columns=names, dtype=object)
    return table.loc[:, [bool(name) for name in names]], descriptions


def _check_rows(names: list[str], body: list[list[str]], path: str | os.PathLike[str]) -> None:
    for number, row in enumerate(body, start=2):
        if len(row) != len(names):
            raise FileError(
                f"{path}: row {number} has {len(row)} cells; the header has {len(names)}. "
                "Correct this row, or the delimiter."
            )
    twice = [name for name, count in Counter(names).items() if count > 1 and name]
    if twice:
        raise FileError(f"{path}: column {twice[0]!r} occurs more than once. Rename one.")


def _is_description(names: list[str], row: list[str]) -> bool:
    # There is a sentence in the column of ids.
    ids = [row[names.index(name)] for name in ("subjectkey", "src_subject_id") if name in names]
    return any(" " in cell for cell in ids)
