"""Files next to connectomes and motion: sidecars, lists of regions, single transforms."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from stillome.arrays import Floats
from stillome.exceptions import FileError
from stillome.io.formats.bids_relmat import read_nodes
from stillome.io.formats.text_matrix import is_number
from stillome.io.guarded_files import existing_path, open_item
from stillome.io.inspection_record import Inspection, columns_of, short, some
from stillome.io.motion.fsl import read_flirt_matrix
from stillome.io.motion.itk_transforms import mat_kind, read_itk_transform
from stillome.io.region_labels import NAME_COLUMNS, read_labels
from stillome.io.region_names import described
from stillome.io.sidecars import describe_json, parse_object
from stillome.io.text_files import parse_numbers, read_text

_LIMIT = 64 * 2**20
_AVSCALE = b"Rotation & Translation Matrix"
_MODEL = "model.json"


def describe_companion(path: str | os.PathLike[str]) -> Inspection | None:
    """Describe a file that its name or first bytes identify; None if it is not one of these.

    Raises
    ------
    FileError
        If it is one of these, but damaged.
    """
    checked, shown = existing_path(path), os.fspath(path)
    if checked.is_dir():
        model = checked / _MODEL
        return describe_json(model, shown) if model.is_file() else None
    name = checked.name.lower()
    if name.endswith("_nodeindices.tsv"):
        table = pd.DataFrame({"name": read_nodes(checked)})
        return _regions(shown, table, "BIDS node indices")
    if name.endswith(".safetensors"):
        return _safetensors(checked, shown)
    if name.endswith(".json"):
        return describe_json(checked, shown)
    return _avscale(checked, shown) if open_item(checked).head().startswith(_AVSCALE) else None


def describe_regions(path: str | os.PathLike[str]) -> Inspection | None:
    """Describe a list of regions; None if it is not one.

    It is one if there is a column of names, or if every line is a name without blanks, or a number
    and a name.
    """
    lines = open_item(path).head().decode("utf-8", errors="replace").splitlines()
    lines = [line for line in lines if line.strip() and not line.lstrip().startswith("#")]
    if len(lines) < 2:
        return None
    header = {cell.strip().lower() for cell in lines[0].replace(",", "\t").split("\t")}
    cells = [line.split() for line in lines]
    listed = all(len(row) == 1 and not is_number(row[0].replace(",", "")) for row in cells)
    numbered = all(len(row) > 1 and row[0].isdigit() and not is_number(row[1]) for row in cells)
    if not (listed or numbered or (len(header) > 1 and header & set(NAME_COLUMNS))):
        return None
    table = read_labels(Path(path))
    if not listed:
        return _regions(os.fspath(path), table, "list of regions")
    facts = {"names": f"{len(table)} ({some(list(table['name']))})"}
    facts["used for"] = "the names of regions (labels=...), or ids of subjects (subjects=...)"
    return Inspection(os.fspath(path), "list of names", facts)


def describe_transform(path: str | os.PathLike[str]) -> Inspection | None:
    """Describe a single transform, rigid or not; None if it is not a transform."""
    kind = mat_kind(path)
    if kind == "flirt":
        return _transform(os.fspath(path), read_flirt_matrix(path, rigid=False), "FLIRT")
    if kind == "itk":
        return _transform(os.fspath(path), read_itk_transform(path, rigid=False), "ITK")
    return None


def _transform(path: str, matrix: Floats, tool: str, *notes: str) -> Inspection:
    facts = {
        "translation": f"{short(float(np.linalg.norm(matrix[:3, 3])))} mm",
        "determinant": short(float(np.linalg.det(matrix[:3, :3]))),
        "used for": "residual misalignment, where it leads from a frame of the scan to its first",
    }
    return Inspection(path, f"transform ({tool})", facts, notes)


def _avscale(path: Path, shown: str) -> Inspection:
    matrix = parse_numbers(read_text(path, limit=_LIMIT).splitlines()[1:5], shown)
    if matrix.shape != (4, 4):
        raise FileError(f"{shown}: no 4×4 matrix below its first line. Run avscale again.")
    note = "a printed transform; read_motion reads the .mat that it was made from."
    return _transform(shown, matrix, "FSL avscale", note)


def _regions(path: str, table: pd.DataFrame, producer: str) -> Inspection:
    names = [str(name) for name in table["name"]]
    known, notes = described(names)
    atlas = " of Desikan-Killiany" if "hemisphere" in known else ""
    facts = {"regions": f"{len(names)}{atlas} ({some(names)})"}
    facts |= columns_of(table.drop(columns="name"))
    facts["used for"] = "the names and the order of regions (labels=...)"
    return Inspection(path, producer, facts, tuple(notes))


def _safetensors(path: Path, shown: str) -> Inspection:
    """Read the names and shapes of the arrays, not the arrays themselves."""
    data = open_item(path)
    size = data.path.stat().st_size
    with data.path.open("rb") as stream:
        length = int.from_bytes(stream.read(8), "little")
        if size < 8 or length > min(size - 8, _LIMIT):
            raise FileError(f"{shown}: cut off, or no safetensors file. Copy it again.")
        header: dict[str, Any] = parse_object(stream.read(length), shown)
    header.pop("__metadata__", None)
    try:
        shapes = [f"{name} {tuple(map(int, about['shape']))}" for name, about in header.items()]
    except (KeyError, TypeError, ValueError) as error:
        raise FileError(f"{shown}: damaged safetensors header ({error}). Copy it again.") from error
    facts = {
        "arrays": f"{len(shapes)} ({some(shapes)})",
        "size": f"{size / 2**20:.3g} MiB",
        "used for": f"the fitted arrays of a model; its {_MODEL} is in the same folder",
    }
    return Inspection(shown, "arrays of a model (safetensors)", facts)
