"""Edge lists: one line per connection, ``source target <weight> …``, maybe of several subjects."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from stillome.arrays import Floats
from stillome.exceptions import FileError
from stillome.io.connectome_data import Contents, Holding
from stillome.io.formats.text_matrix import (
    first_cells,
    format_number,
    is_number,
    split_cells,
    to_number,
)
from stillome.io.free_memory import check_array
from stillome.io.guarded_files import Item
from stillome.io.subject_ids import ID_COLUMNS

PRODUCER = "edge list"
CMP3 = "Connectome Mapper 3"
_ENDS = (
    ("source", "target"),
    ("from", "to"),
    ("node1", "node2"),
    ("region1", "region2"),
    ("row", "column"),
    ("i", "j"),
)
_MAX_REGIONS = 20_000


def recognises(item: Item, head: bytes) -> bool:
    """Whether the header names the two ends of an edge."""
    return _ends(first_cells(head)) is not None


def read(item: Item) -> Contents:
    """Read an edge list: absent edges are 0, every other column is a measure.

    Raises
    ------
    FileError
        If a pair occurs twice, or a weight is not a number.
    """
    rows = split_cells(item.text(), item.label)
    header = [cell.lower() for cell in rows[0]]
    ends = _ends(header)
    if ends is None or any(len(row) != len(header) for row in rows):
        raise FileError(f"{item.label}: rows of different length in an edge list. Correct it.")
    subject = next((header.index(name) for name in ID_COLUMNS if name in header), None)
    weights = [i for i in range(len(header)) if i not in (*ends, subject)]
    weights = [i for i in weights if all(is_number(row[i]) for row in rows[1:])]
    if not weights or len(rows) < 2:
        raise FileError(f"{item.label}: an edge list without a column of weights. Add one.")
    pairs = [(row[ends[0]], row[ends[1]]) for row in rows[1:]]
    owners = None if subject is None else [row[subject] for row in rows[1:]]
    producer = CMP3 if "number_of_fibers" in header else PRODUCER
    one_based = producer == CMP3
    holdings = tuple(
        edges_to_holding(
            pairs,
            np.array([to_number(row[i]) for row in rows[1:]]),
            measure=header[i],
            owners=owners,
            one_based=one_based,
            label=item.label,
        )
        for i in weights
    )
    return Contents(producer, holdings)


def edges_to_holding(
    pairs: Sequence[tuple[str, str]],
    weights: Floats,
    *,
    measure: str,
    label: str,
    owners: Sequence[str] | None = None,
    one_based: bool = False,
    nodes: Sequence[str] | None = None,
) -> Holding:
    """Build matrices from edges.

    A pair that is listed once is used for both directions. One that is listed in both directions
    is kept as written, so that a contradiction is found later.

    Raises
    ------
    FileError
        If the same subject has the same pair twice.
    """
    names = list(nodes) if nodes is not None else _nodes(pairs, one_based)
    places = {name: i for i, name in enumerate(names)}
    subjects = list(dict.fromkeys(owners)) if owners is not None else ["only"]
    number = {subject: i for i, subject in enumerate(subjects)}
    shape = (len(subjects), len(names), len(names))
    if len(names) > _MAX_REGIONS:
        raise FileError(f"{label}: {len(names)} regions are more than an edge list can fill.")
    check_array(shape, label)
    which = np.array([number[o] for o in owners] if owners is not None else [0] * len(pairs))
    try:
        left = np.array([places[pair[0]] for pair in pairs], dtype=np.intp)
        right = np.array([places[pair[1]] for pair in pairs], dtype=np.intp)
    except KeyError as error:
        raise FileError(f"{label}: an edge leads to {error}, which is not a region.") from error
    stack = np.zeros(shape)
    flat = np.ravel_multi_index((which, left, right), shape)
    if len(np.unique(flat)) != len(flat):
        seen, counts = np.unique(flat, return_counts=True)
        _, i, j = np.unravel_index(seen[counts > 1][0], shape)
        raise FileError(f"{label}: pair {names[i]}/{names[j]} is listed twice. Keep one line.")
    stack[which, left, right] = weights
    once = ~np.isin(np.ravel_multi_index((which, right, left), shape), flat)
    stack[which[once], right[once], left[once]] = weights[once]
    return Holding(
        stack if owners is not None else stack[0],
        measure=measure,
        regions=tuple(names),
        subject_ids=tuple(subjects) if owners is not None else None,
        partial=nodes is None,
    )


def write(path: Path, holding: Holding) -> None:
    """Write the edges that are not 0, each once; a stack gets a column ``subject``."""
    plain = path.name.lower()
    mark = "," if plain.endswith(".csv") else "\t"
    values = np.asarray(holding.values)
    names = holding.regions or tuple(str(i + 1) for i in range(values.shape[-1]))
    owners = holding.subject_ids
    header = ["source", "target", holding.measure]
    lines = [mark.join(header if owners is None else ["subject", *header])]
    for position, matrix in enumerate(values if values.ndim == 3 else values[None]):
        for i, j in zip(*np.nonzero(np.triu(matrix)), strict=True):
            cells = [names[i], names[j], format_number(float(matrix[i, j]))]
            lines.append(mark.join(cells if owners is None else [owners[position], *cells]))
    path.write_text("\n".join(lines) + "\n", "utf-8")


def _ends(header: Sequence[str]) -> tuple[int, int] | None:
    lower = [cell.lower() for cell in header]
    for left, right in _ENDS:
        if left in lower and right in lower and len(lower) > 2:
            return lower.index(left), lower.index(right)
    return None


def _nodes(pairs: Sequence[tuple[str, str]], one_based: bool) -> list[str]:
    """List the regions: by number where they are numbers, else as they first appear."""
    seen = dict.fromkeys(name for pair in pairs for name in pair)
    if not all(name.isdecimal() and len(name) < 7 for name in seen):
        return list(seen)
    numbers = {int(name) for name in seen}
    if {str(number) for number in numbers} != set(seen):
        return list(seen)
    first = 1 if one_based or 0 not in numbers else 0
    return [str(number) for number in range(min(first, *numbers), max(numbers) + 1)]
