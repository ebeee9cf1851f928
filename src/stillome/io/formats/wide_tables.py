"""Wide tables: one row per subject, one column per edge (``A__B`` or ``edge_0`` …)."""

import csv
import io
import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from stillome.arrays import Floats
from stillome.exceptions import FileError
from stillome.io.connectome_data import Contents, Holding
from stillome.io.formats.text_matrix import delimiter_of, first_cells, format_number
from stillome.io.free_memory import check_array
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
    names, rows = _cells(decoded(item.data(), item.label), item.label)
    places = [i for i, name in enumerate(names) if _is_edge(name)]
    edges = [names[i] for i in places]
    column = _id_column(names, item.label)
    ids: list[str] = []
    numbers: list[Floats] = []
    try:
        for row in rows:
            ids.append(row[column])
            numbers.append(np.array([_number(row[i]) for i in places]))
    except ValueError as error:
        raise FileError(f"{item.label}: a cell is not a number ({error}). Correct it.") from error
    if not numbers:
        raise FileError(f"{item.label}: no subjects in it. Add a row for each.")
    values = np.array(numbers)
    if all(_NUMBERED.match(name) for name in edges):
        order = np.argsort([int(re.sub(r"\D", "", name)) for name in edges], kind="stable")
        vectors = values[:, order]
        return Contents(PRODUCER, (Holding(vectors, subject_ids=tuple(ids), edges=True),))
    matrices, regions = _matrices(values, edges, item.label)
    return Contents(PRODUCER, (Holding(matrices, regions=regions, subject_ids=tuple(ids)),))


def write(path: Path, holding: Holding) -> None:
    """Write one row per subject and one column ``A__B`` per edge of the upper triangle."""
    values = np.asarray(holding.values)
    names = holding.regions or tuple(f"region{i + 1}" for i in range(values.shape[1]))
    ids = holding.subject_ids or tuple(str(i + 1) for i in range(len(values)))
    mark = "," if path.name.lower().endswith(".csv") else "\t"
    rows, columns = np.triu_indices(values.shape[1], k=1)
    header = [f"{names[i]}__{names[j]}" for i, j in zip(rows, columns, strict=True)]
    with path.open("w", encoding="utf-8", newline="") as stream:
        table = csv.writer(stream, delimiter=mark, lineterminator="\n")
        table.writerow(["participant_id", *header])
        for subject, matrix in zip(ids, values, strict=True):
            cells = [format_number(value) for value in matrix[rows, columns].tolist()]
            table.writerow([subject, *cells])


def _is_edge(name: str) -> bool:
    left, mark, right = name.partition("__")
    return bool(_NUMBERED.match(name)) or bool(mark and left and right)


def _cells(text: str, label: str) -> tuple[list[str], Iterator[list[str]]]:
    """Return the names of the columns, and the rows of cells one by one.

    A table of 400 regions has 80,000 columns; pandas would take minutes.
    """
    first = text.split("\n", maxsplit=1)[0]
    mark = delimiter_of(first)
    # Both directions of an edge are in the answer.
    check_array((text.count("\n") + 1, 2, len(first.split(mark))), label)
    rows = _rows(text, mark, label)
    names = next(rows)
    return names, _checked(rows, len(names), label)


def _rows(text: str, mark: str | None, label: str) -> Iterator[list[str]]:
    try:
        if mark is None:
            yield from (row for line in text.splitlines() if (row := line.split()))
        else:
            yield from filter(None, csv.reader(io.StringIO(text), delimiter=mark, strict=True))
    except csv.Error as error:
        raise FileError(f"{label}: not a table ({error}). Correct it.") from error


def _checked(rows: Iterator[list[str]], width: int, label: str) -> Iterator[list[str]]:
    for number, row in enumerate(rows, start=2):
        if len(row) != width:
            raise FileError(
                f"{label}: {len(row)} cells in row {number}, expected {width}. Correct it."
            )
        yield row


def _number(cell: str) -> float:
    return math.nan if cell in ("n/a", "NA", "") else float(cell)


def _id_column(names: Sequence[str], label: str) -> int:
    lower = {name.lower(): i for i, name in enumerate(names) if not _is_edge(name)}
    column = next((lower[name] for name in ID_COLUMNS if name in lower), None)
    if column is None:
        raise FileError(f"{label}: no column of subject ids. Call it participant_id.")
    return column


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
