"""MRtrix3: `tck2connectome` writes plain numbers, usually only the upper triangle.

Also the MRtrix3_connectome app, and UK Biobank's packed tables, which are the same inside.
"""

import re
from pathlib import Path

from stillome.exceptions import FileError
from stillome.io.connectome_data import Contents, Holding
from stillome.io.connectome_measures import kind_of
from stillome.io.formats.text_matrix import (
    first_cells,
    is_nearly_square,
    is_number,
    parse_matrix,
    write_text_matrix,
)
from stillome.io.guarded_files import Item

PRODUCER = "MRtrix3"
UK_BIOBANK = "UK Biobank"
LABELLED = "labelled matrix"
_SUFFIXES = (".csv", ".tsv", ".txt", ".dat")
_UK_BIOBANK = re.compile(r"connectome_([a-z0-9_]+?)_\d+m\.csv$")
_PARCELLATION = re.compile(r"(?:^|_)(?:desc|atlas|seg|parc)-([a-z0-9]+)", re.IGNORECASE)


def recognises(item: Item, head: bytes) -> bool:
    """Whether this is a table of numbers without a header."""
    cells = first_cells(head)
    return item.name.endswith(_SUFFIXES) and bool(cells) and all(is_number(c) for c in cells)


def recognises_labelled(item: Item, head: bytes) -> bool:
    """Whether this is a table under a row of names: as many columns as rows."""
    cells = first_cells(head)
    if not item.name.endswith(_SUFFIXES) or len(cells) < 2 or all(is_number(c) for c in cells):
        return False
    try:
        matrix = parse_matrix(item) if is_nearly_square(item.text()) else None
    except FileError:
        return False
    if matrix is None:
        return False
    named_alike = matrix.rows is None or matrix.rows == matrix.columns
    return matrix.values.shape[0] == matrix.values.shape[1] > 1 and named_alike


def read(item: Item) -> Contents:
    """Read one matrix; row and column 0 are the unassigned streamlines if the name says so."""
    values, columns, rows = parse_matrix(item)
    producer = PRODUCER if columns is None and rows is None else LABELLED
    released = _UK_BIOBANK.search(item.name)
    if released:
        producer = UK_BIOBANK
    measure = released.group(1) if released else measure_of(item.name)
    holding = Holding(
        values,
        measure=measure,
        atlas=atlas_of(item.path.name),
        regions=rows or columns,
        background="unassigned" in item.name,
    )
    return Contents(producer, (holding,))


def measure_of(name: str) -> str:
    """Return the word in a file's name that says what was measured; ``count`` if none does."""
    kind = kind_of(name)
    if kind == "count":
        return "count"
    words = re.split(r"[_.]", name.removesuffix(".gz").rsplit(".", 1)[0])
    return next((word for word in reversed(words) if kind_of(word) == kind), kind)


def atlas_of(name: str) -> str | None:
    """Return the parcellation that a BIDS-like name speaks of."""
    found = _PARCELLATION.search(name)
    return found.group(1) if found else None


def write(path: Path, holding: Holding) -> None:
    """Write one matrix without a header; packed if the name ends in ``.gz``."""
    write_text_matrix(path, holding.values)


def write_labelled(path: Path, holding: Holding) -> None:
    """Write one matrix under the names of its regions."""
    write_text_matrix(path, holding.values, names=holding.regions)
