"""Reading the names of regions that a user gives: a list, a file, or the name of an atlas."""

import os
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from stillome.exceptions import FileError, InputError
from stillome.io.guarded_files import open_item
from stillome.io.region_names import check_unique, desikan_killiany

NAME_COLUMNS = ("name", "label", "region", "region_name", "labelname", "roi", "node")


def read_labels(labels: str | os.PathLike[str] | Sequence[str]) -> pd.DataFrame:
    """Return a table of regions from names, a file of names, or ``"dk68"``.

    Parameters
    ----------
    labels : sequence of str, path-like or "dk68"
        A file is a table with a column ``name`` or ``label``, a look-up table of lines
        ``number name …``, or one name per line.

    Raises
    ------
    FileError, InputError
        If the names cannot be read, or one occurs twice.
    """
    if isinstance(labels, str) and labels.lower() == "dk68":
        return desikan_killiany()
    if isinstance(labels, str | os.PathLike):
        table = _read_label_file(Path(labels))
    else:
        table = pd.DataFrame({"name": [str(name) for name in labels]})
    names = list(table["name"])
    if not names:
        raise InputError("labels: no region is named. Give one name per region.")
    check_unique(names, "labels")
    return table


def _read_label_file(path: Path) -> pd.DataFrame:
    item = open_item(path)
    lines = [line.rstrip("\r") for line in item.text().split("\n")]
    rows = [line for line in lines if line.strip() and not line.lstrip().startswith("#")]
    if not rows:
        raise FileError(f"{path}: no region is named in it. Give one name per line.")
    mark = next((mark for mark in "\t,;" if mark in rows[0]), None)
    cells = [[cell.strip() for cell in row.split(mark)] for row in rows]
    header = [cell.lower() for cell in cells[0]]
    column = next((header.index(name) for name in NAME_COLUMNS if name in header), None)
    if column is not None and len(header) > 1:
        return _label_table(cells[1:], header, column, path)
    if column is not None:
        cells = cells[1:]
    if all(len(row) > 1 and row[0].isdigit() for row in cells):
        return pd.DataFrame({"name": [row[1] for row in cells]})
    return pd.DataFrame({"name": [row.strip() for row in rows[column is not None :]]})


def _label_table(rows: list[list[str]], header: list[str], column: int, path: Path) -> pd.DataFrame:
    if any(len(row) != len(header) for row in rows):
        raise FileError(f"{path}: a row has another number of cells than its header. Correct it.")
    table = pd.DataFrame(rows, columns=header).rename(columns={header[column]: "name"})
    table = table.loc[:, ~table.columns.duplicated()]
    for place in ("x", "y", "z"):
        if place in table:
            table[place] = pd.to_numeric(table[place], errors="coerce")
    known = ["name", "hemisphere", "lobe", "x", "y", "z"]
    return table[[name for name in known if name in table]]
