"""Wide tables: one row per subject, one column per edge (``A__B`` or ``edge_0`` …)."""

import io
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from stillome.arrays import Floats
from stillome.exceptions import FileError
from stillome.io.connectome_data import Contents, Holding
from stillome.io.formats.text_matrix import delimiter_of, first_cells, format_number
from stillome.io.guarded_files import Item, decoded
from stillome.io.subject_ids import ID_COLUMNS

PRODUCER = "wide table"
_NUMBERED = re.compile(r"^(edge|e|conn|connection)[_-]?(\d+)$", re.IGNORECASE)


def recognises(item: Item, head: bytes) -> bool:
    """Whether most columns are named after edges."""
    cells = first_cells(head)
    edges = [c for c in cells if _is_edge(c)]
    return len(edges) >= 3 and len(edges) >= len(cells) - 20


def read(item: Item) -> Contents:
    """Read all subjects; named pairs become matrices, numbered edges stay vectors.

    Raises
    ------
    FileError
        If the table has no ids, or the pairs are not those of one set of regions.
    """
    data = item.data()
    text = decoded(data, item.label)
    mark = delimiter_of(text.split("\n", maxsplit=1)[0]) or r"\s+"
    try:
        table = pd.read_csv(io.StringIO(text), sep=mark, dtype=str, keep_default_na=False)
    except (ValueError, OverflowError) as error:
        raise FileError(f"{item.label}: not a table ({error}). Correct it.") from error
    edges = [name for name in table.columns if _is_edge(name)]
    ids = _ids(table, edges, item.label)
    try:
        values = table[edges].replace({"n/a": "nan", "NA": "nan", "": "nan"}).astype(np.float64)
    except ValueError as error:
        raise FileError(f"{item.label}: a cell is not a number ({error}). Correct it.") from error
    if all(_NUMBERED.match(name) for name in edges):
        numbers = [int(re.sub(r"\D", "", name)) for name in edges]
        vectors = values.to_numpy()[:, np.argsort(numbers, kind="stable")]
        return Contents(PRODUCER, (Holding(vectors, subject_ids=ids, edges=True),))
    matrices, regions = _matrices(values.to_numpy(), edges, item.label)
    return Contents(PRODUCER, (Holding(matrices, regions=regions, subject_ids=ids),))


def write(path: Path, holding: Holding) -> None:
    """Write one row per subject and one column ``A__B`` per edge of the upper triangle."""
    values = np.asarray(holding.values)
    names = holding.regions or tuple(f"region{i + 1}" for i in range(values.shape[1]))
    ids = holding.subject_ids or tuple(str(i + 1) for i in range(len(values)))
    mark = "," if path.name.lower().endswith(".csv") else "\t"
    rows, columns = np.triu_indices(values.shape[1], k=1)
    header = [f"{names[i]}__{names[j]}" for i, j in zip(rows, columns, strict=True)]
    lines = [mark.join(["participant_id", *header])]
    for subject, matrix in zip(ids, values, strict=True):
        cells = [format_number(value) for value in matrix[rows, columns].tolist()]
        lines.append(mark.join([subject, *cells]))
    path.write_text("\n".join(lines) + "\n", "utf-8")


def _is_edge(name: str) -> bool:
    left, mark, right = name.partition("__")
    return bool(_NUMBERED.match(name)) or bool(mark and left and right)


def _ids(table: pd.DataFrame, edges: Sequence[str], label: str) -> tuple[str, ...]:
    others = [name for name in table.columns if name not in set(edges)]
    lower = {name.lower(): name for name in others}
    column = next((lower[name] for name in ID_COLUMNS if name in lower), None)
    if column is None:
        raise FileError(f"{label}: no column of subject ids. Call it participant_id.")
    if len(table) == 0:
        raise FileError(f"{label}: no subjects in it. Add a row for each.")
    return tuple(str(name) for name in table[column])


def _matrices(values: Floats, edges: Sequence[str], label: str) -> tuple[Floats, tuple[str, ...]]:
    pairs = [name.partition("__")[::2] for name in edges]
    names = list(dict.fromkeys(name for pair in pairs for name in pair))
    size = len(names)
    if len(edges) not in (size * (size - 1) // 2, size * (size + 1) // 2):
        raise FileError(
            f"{label}: {len(edges)} edges between {size} regions; expected "
            f"{size * (size - 1) // 2}. Give every pair once."
        )
    places = {name: i for i, name in enumerate(names)}
    left = np.array([places[a] for a, _ in pairs])
    right = np.array([places[b] for _, b in pairs])
    keys = np.minimum(left, right) * size + np.maximum(left, right)
    if len(np.unique(keys)) != len(keys):
        raise FileError(f"{label}: a pair of regions has two columns. Give every pair once.")
    matrices = np.zeros((len(values), size, size))
    matrices[:, left, right] = values
    matrices[:, right, left] = values
    return matrices, tuple(names)
