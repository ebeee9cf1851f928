"""Names of regions: read, compared across tools, and put into one order."""

import functools
import os
from collections.abc import Sequence
from importlib import resources
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from stillome.exceptions import FileError, InputError
from stillome.io.guarded_files import open_item

NAME_COLUMNS = ("name", "label", "region", "region_name", "labelname", "roi", "node")
_HEMISPHERES = {"left": "lh", "right": "rh", "l": "lh", "r": "rh", "lh": "lh", "rh": "rh"}


@functools.cache
def _dk68() -> pd.DataFrame:
    with resources.files("stillome.data").joinpath("dk68.tsv").open("r", encoding="utf-8") as file:
        table = pd.read_csv(file, sep="\t")
    return table[["name", "hemisphere", "lobe", "x", "y", "z"]]


def desikan_killiany() -> pd.DataFrame:
    """Return the 68 cortical regions of Desikan and Killiany in FreeSurfer's order.

    Columns ``name``, ``hemisphere``, ``lobe`` and the centroid ``x``, ``y``, ``z`` (mm, MNI).

    Examples
    --------
    >>> desikan_killiany()["name"].iloc[5]
    'ctx-lh-fusiform'
    """
    return _dk68().copy()


@functools.lru_cache(maxsize=4096)
def canonical(name: str) -> str:
    """Bring one region's name to a spelling that tools agree on.

    Examples
    --------
    >>> canonical("ctx-lh-bankssts") == canonical("lh.bankssts") == canonical("Left-bankssts")
    True
    """
    words = [word for word in _words(name) if word != "ctx"]
    sides = [i for i, word in enumerate(words) if word in _HEMISPHERES]
    if sides and sides[0] in (0, len(words) - 1):
        side = _HEMISPHERES[words.pop(sides[0])]
        words.insert(0, side)
    return "-".join(words)


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


def described(names: Sequence[str]) -> tuple[pd.DataFrame, list[str]]:
    """Return a table of regions, with places in the brain for those of Desikan and Killiany.

    Returns
    -------
    table : pandas.DataFrame
    notes : list of str
        Says so if those regions do not come in FreeSurfer's order.
    """
    table = pd.DataFrame({"name": list(names)})
    known = desikan_killiany()
    keys = [canonical(name) for name in names]
    places = {canonical(name): i for i, name in enumerate(known["name"])}
    if not all(key in places for key in keys):
        return table, []
    order = [places[key] for key in keys]
    described_table = known.iloc[order].reset_index(drop=True)
    described_table["name"] = list(names)
    notes = []
    if order != sorted(order):
        first = next(i for i, place in enumerate(order) if place != sorted(order)[i])
        notes.append(
            f"Desikan-Killiany regions in another order than FreeSurfer's from entry {first + 1} "
            "on (alphabetical?); kept as named."
        )
    return described_table, notes


def positions_of(wanted: Sequence[str], names: Sequence[str], label: str) -> NDArray[np.intp]:
    """Find where in `names` each wanted region stands.

    Raises
    ------
    FileError
        If a wanted region is missing, or a name is ambiguous.
    """
    check_unique(names, label)
    places = {name: i for i, name in enumerate(names)}
    if not all(name in places for name in wanted):
        places = {canonical(name): i for i, name in enumerate(names)}
        wanted = [canonical(name) for name in wanted]
    missing = [name for name in wanted if name not in places]
    if missing:
        raise FileError(
            f"{label}: no region {missing[0]!r} among its {len(names)} "
            f"(e.g. {names[0]!r}). Give labels=... that all subjects have."
        )
    return np.array([places[name] for name in wanted], dtype=np.intp)


def check_unique(names: Sequence[str], label: str) -> None:
    """Refuse a region that is named twice."""
    if len(set(names)) != len(names):
        seen: set[str] = set()
        twice = next(name for name in names if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise FileError(f"{label}: region {twice!r} is named twice. Name every region once.")


def _words(name: str) -> list[str]:
    for mark in "_. /":
        name = name.replace(mark, "-")
    return [word for word in name.lower().split("-") if word]


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
