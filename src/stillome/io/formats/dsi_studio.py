"""DSI Studio: connectivity matrices as MAT files, and connectograms as text."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import scipy.io
from numpy.typing import NDArray

from stillome.exceptions import FileError
from stillome.io.connectome_data import Contents, Holding
from stillome.io.formats.text_matrix import first_cells, format_number, is_number, to_number
from stillome.io.guarded_files import Item
from stillome.io.stacks import texts_of

PRODUCER = "DSI Studio"
CONNECTOGRAM = "DSI Studio connectogram"
_SUFFIX = " r2r"
_MEASURES = re.compile(r"\.(n?count2?|mean_length|n?qa|n?fa|md|ad|rd|[a-z_]+?)\.(pass|end)\.")


def from_mat(variables: dict[str, Any], item: Item) -> Contents | None:
    """Read ``connectivity`` with ``name``, or since 2026 one matrix per ``<measure> r2r``."""
    name = variables.get("name")
    if name is None:
        return None
    regions = _names(name, item)
    atlas = _first_name(variables.get("atlas"), item)
    modern = {key: v for key, v in variables.items() if key.endswith(_SUFFIX)}
    matrices = {key.removesuffix(_SUFFIX): v for key, v in modern.items()}
    notes: tuple[str, ...] = ()
    if not matrices and "connectivity" in variables:
        measure = _MEASURES.search(item.name)
        matrices = {measure.group(1) if measure else "count": variables["connectivity"]}
        if measure and measure.group(2) == "pass":
            notes = ("DSI Studio's 'pass' counts a streamline on every edge that it passes.",)
    found = {key: v for key, v in matrices.items() if isinstance(v, np.ndarray) and v.ndim == 2}
    if not found:
        return None
    for key, values in found.items():
        if regions is not None and len(values) != len(regions):
            raise FileError(f"{item.label}: {len(regions)} names for {len(values)} rows of {key}.")
    holdings = tuple(Holding(v, measure=k, atlas=atlas, regions=regions) for k, v in found.items())
    return Contents(PRODUCER, holdings, notes)


def recognises_connectogram(item: Item, head: bytes) -> bool:
    """Whether the first two cells say ``data``, or this is DSI Studio's other table."""
    cells = first_cells(head)
    return cells[:2] == ["data", "data"] or item.name.endswith("network_measures.txt")


def read_connectogram(item: Item) -> Contents:
    """Read a connectogram: row 1 holds sums, row 2 names, tabs trail."""
    if item.name.endswith("network_measures.txt"):
        raise FileError(
            f"{item.label}: network measures, not a matrix. Give *.connectivity.mat instead."
        )
    rows = [line.rstrip("\t\r").split("\t") for line in item.text().split("\n") if line.strip()]
    size = len(rows) - 2
    if size < 1 or any(len(row) != size + 2 for row in rows):
        raise FileError(
            f"{item.label}: matrix is {max(size, 0)}×{len(rows[-1]) - 2}, expected square."
        )
    names = tuple(cell.strip() for cell in rows[1][2:])
    body = [row[2:] for row in rows[2:]]
    if not all(is_number(cell) for row in body for cell in row):
        raise FileError(f"{item.label}: a cell is not a number. Export the connectogram again.")
    values = np.array([[to_number(cell) for cell in row] for row in body])
    return Contents(CONNECTOGRAM, (Holding(values, regions=names),))


def write(path: Path, holding: Holding) -> None:
    """Write one matrix as a MAT file of version 4 with ``connectivity``, ``name`` and ``atlas``."""
    variables: dict[str, NDArray[Any]] = {
        "connectivity": np.asarray(holding.values, dtype=np.float64)
    }
    names = holding.regions or tuple(f"region{i + 1}" for i in range(len(holding.values)))
    variables["name"] = _as_bytes("\n".join(names) + "\n")
    variables["atlas"] = _as_bytes(holding.atlas or "atlas")
    scipy.io.savemat(path, variables, format="4")


def write_connectogram(path: Path, holding: Holding) -> None:
    """Write one matrix as a connectogram, tabs trailing as DSI Studio writes them."""
    values = np.asarray(holding.values)
    names = holding.regions or tuple(f"region{i + 1}" for i in range(len(values)))
    sums = [format_number(value) for value in values.sum(axis=0).tolist()]
    lines = ["\t".join(["data", "data", *sums]), "\t".join(["data", "data", *names])]
    for name, total, row in zip(names, sums, values.tolist(), strict=True):
        lines.append("\t".join([total, name, *(format_number(value) for value in row)]))
    path.write_text("\n".join(line + "\t" for line in lines) + "\n", "utf-8")


def _names(value: Any, item: Item) -> tuple[str, ...] | None:
    """Names come newline-joined, as bytes or as text."""
    if isinstance(value, np.ndarray) and value.dtype.kind in "iuf":
        codes = np.clip(np.nan_to_num(value), 0, 255).astype(np.uint8)
        text = codes.tobytes().decode("utf-8", errors="replace")
    else:
        texts = texts_of(value, item.label) or ()
        text = "\n".join(texts)
    names = tuple(line.strip("\0 ") for line in text.strip("\0\n ").split("\n"))
    return names if names != ("",) else None


def _first_name(value: Any, item: Item) -> str | None:
    names = None if value is None else _names(value, item)
    return names[0] if names else None


def _as_bytes(text: str) -> NDArray[np.uint8]:
    return np.frombuffer(text.encode("utf-8"), dtype=np.uint8)[None, :]
