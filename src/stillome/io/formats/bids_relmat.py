"""BIDS derivatives (BEP017 draft): `*_relmat.{dense.tsv,sparse.tsv,tsv,h5,zarr}` with JSON."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from stillome.exceptions import FileError
from stillome.io.connectome_data import Contents, Holding
from stillome.io.formats import hdf5, zarr_store
from stillome.io.formats.edge_lists import edges_to_holding
from stillome.io.formats.text_matrix import (
    format_number,
    is_number,
    parse_matrix,
    split_cells,
    to_number,
    write_text_matrix,
)
from stillome.io.guarded_files import Item, open_item
from stillome.persistence import read_json, write_json

PRODUCER = "BIDS relmat"
_RELMAT = re.compile(r"_relmat\.(dense\.tsv|sparse\.tsv|tsv|csv|h5|hdf5|zarr)$")
_ENTITY = re.compile(r"([a-z]+)-([a-z0-9]+)", re.IGNORECASE)
_MAX_PARENTS = 4


def recognises(item: Item, head: bytes) -> bool:
    """Whether the name ends like that of a relationship matrix."""
    return bool(_RELMAT.search(item.name))


def read(item: Item) -> Contents:
    """Read one matrix; its measure and regions are in files of the same folder or above."""
    sidecar = _inherited(item.path, "relmat.json")
    description = read_json(sidecar) if sidecar else {}
    nodes = _inherited(item.path, "nodeindices.tsv")
    regions = read_nodes(nodes) if nodes else None
    notes: tuple[str, ...] = ()
    if description.get("Directed") is True:
        notes = ("its JSON says that it is directed.",)
    holding = _holding(item, regions)
    if regions is not None and holding.regions is None and len(regions) == holding.values.shape[-1]:
        holding = replace(holding, regions=regions)
    measure = _measure(item, description)
    atlas = _entities(item.path.name).get("seg", _entities(item.path.name).get("atlas"))
    return Contents(PRODUCER, (replace(holding, measure=measure, atlas=atlas),), notes)


def write(path: Path, holding: Holding) -> None:
    """Write one matrix in the variant that its name says, and its JSON beside it."""
    name = path.name.lower()
    if name.endswith((".h5", ".hdf5")):
        hdf5.write(path, holding)
    elif name.endswith(".zarr"):
        zarr_store.write(path, holding)
    elif name.endswith("sparse.tsv"):
        _write_sparse(path, holding)
    else:
        write_text_matrix(path, holding.values, names=holding.regions)
    write_json(path.parent / f"{_stem(path)}.json", relmat_json(holding))


def relmat_json(holding: Holding, **more: Any) -> dict[str, Any]:
    """Return the JSON that BEP017 asks for, for a matrix of fibre counts."""
    return {
        "RelationshipMeasure": holding.measure,
        "Directed": False,
        "Weighted": True,
        "ValidDiagonal": False,
        "NonNegative": True,
        **more,
    }


def _holding(item: Item, regions: tuple[str, ...] | None) -> Holding:
    if item.name.endswith((".h5", ".hdf5")):
        return hdf5.read(item).holdings[0]
    if item.name.endswith(".zarr"):
        return zarr_store.read(item).holdings[0]
    if item.name.endswith("sparse.tsv"):
        return _sparse(item, regions)
    values, columns, rows = parse_matrix(item)
    return Holding(values, regions=rows or columns)


def _sparse(item: Item, regions: tuple[str, ...] | None) -> Holding:
    """Read lines ``row column value``, counted from 0, with or without a header."""
    lines = split_cells(item.text(), item.label)
    if not all(is_number(cell) for cell in lines[0]):
        lines = lines[1:]
    if not lines or any(len(line) != 3 or not is_number(line[2]) for line in lines):
        raise FileError(f"{item.label}: a sparse matrix needs lines of row, column, value.")
    pairs = [(line[0], line[1]) for line in lines]
    weights = np.array([to_number(line[2]) for line in lines])
    if regions is None:
        return edges_to_holding(pairs, weights, measure="count", label=item.label)
    places = [str(i) for i in range(len(regions))]
    known = set(places)
    numbered = all(name in known for pair in pairs for name in pair)
    nodes = places if numbered else list(regions)
    holding = edges_to_holding(pairs, weights, measure="count", label=item.label, nodes=nodes)
    return replace(holding, regions=regions)


def _write_sparse(path: Path, holding: Holding) -> None:
    """Write the edges that are not 0 by the names of their regions, counted if they have none."""
    matrix = np.asarray(holding.values)
    names = holding.regions or tuple(str(i) for i in range(len(matrix)))
    lines = ["source\ttarget\tvalue"]
    for i, j in zip(*np.nonzero(np.triu(matrix)), strict=True):
        lines.append(f"{names[i]}\t{names[j]}\t{format_number(float(matrix[i, j]))}")
    path.write_text("\n".join(lines) + "\n", "utf-8")


def _measure(item: Item, description: dict[str, Any]) -> str:
    stated = description.get("RelationshipMeasure")
    named = _entities(item.path.name).get("meas")
    return stated if isinstance(stated, str) and stated else named or "count"


def read_nodes(path: Path) -> tuple[str, ...]:
    """Read the names of rows and columns in the order of ``matrix_index``."""
    rows = split_cells(open_item(path).text(), str(path))
    header = [cell.lower() for cell in rows[0]]
    name = next((header.index(n) for n in ("label", "name", "node_index") if n in header), None)
    if name is None or any(len(row) != len(header) for row in rows):
        raise FileError(f"{path}: node indices without a column 'label'. Add it.")
    body = rows[1:]
    if "matrix_index" in header:
        column = header.index("matrix_index")
        if not all(row[column].isdecimal() for row in body):
            raise FileError(f"{path}: matrix_index is not a number in some row. Correct it.")
        body = sorted(body, key=lambda row: int(row[column]))
    return tuple(row[name] for row in body)


def _inherited(path: Path, suffix: str) -> Path | None:
    """Find the nearest file whose entities all apply, as BIDS lets files be inherited."""
    own = _entities(path.name)
    folder = path.parent
    for _ in range(_MAX_PARENTS):
        found = sorted(folder.glob(f"*{suffix}")) if folder.is_dir() else []
        fitting = [f for f in found if _entities(f.name).items() <= own.items()]
        if fitting:
            return max(fitting, key=lambda f: len(_entities(f.name)))
        if (folder / "dataset_description.json").exists() or folder == folder.parent:
            break
        folder = folder.parent
    return None


def _entities(name: str) -> dict[str, str]:
    return dict(_ENTITY.findall(name.split(".", maxsplit=1)[0]))


def _stem(path: Path) -> str:
    return path.name[: path.name.index("_relmat") + len("_relmat")]
