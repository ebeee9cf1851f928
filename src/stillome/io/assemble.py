"""Matrices of single subjects, aligned to one set of regions in one order."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from stillome.exceptions import FileError
from stillome.io.aligned_matrices import AlignedMatrices, Reading
from stillome.io.clean import check_square
from stillome.io.connectome_data import Holding
from stillome.io.region_names import described, positions_of


@dataclass(frozen=True, eq=False)
class Assembled:
    """Matrices (n, V, V) as written, of which none was read yet, with their regions."""

    stack: AlignedMatrices
    regions: pd.DataFrame
    notes: tuple[str, ...]
    warnings: tuple[str, ...]


# Sizes of common parcellations: one more row suggests tck2connectome -keep_unassigned.
_COMMON_SIZES = frozenset({68, 82, 84, 90, 100, 116, 148, 164, 200, 246, 300, 360, 379, 400, 500})


def assemble(readings: Sequence[Reading], labels: pd.DataFrame | None) -> Assembled:
    """Align matrices by the names of their regions, or else by size.

    Raises
    ------
    FileError
        E1, E2, or a region that one subject lacks.
    """
    for reading in readings:
        check_square(reading.holding.values.shape, reading.label)
        names, size = reading.holding.regions, reading.holding.values.shape[0]
        if names is not None and len(names) != size:
            raise FileError(f"{reading.label}: {len(names)} region names for {size} rows.")
    if readings[0].holding.partial:
        return _assemble_partial(readings, labels)
    warnings: list[str] = []
    trimmed = [_without_background(reading, labels, warnings) for reading in readings]
    if all(reading.holding.regions is not None for reading in trimmed):
        return _assemble_named(trimmed, labels, warnings)
    return _assemble_unnamed(trimmed, labels, warnings)


def check_sizes(labels: Sequence[str], sizes: Sequence[int]) -> None:
    """Refuse the first subject whose number of regions is not that of most (E2)."""
    usual, count = Counter(sizes).most_common(1)[0]
    for label, size in zip(labels, sizes, strict=True):
        if size != usual:
            raise FileError(
                f"{label}: {size} regions; the other {count} subjects have {usual}. "
                "Give labels=... or exclude the subject."
            )


def region_table(
    names: Sequence[str] | None, size: int, labels: pd.DataFrame | None, label: str
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Return the regions as a table, from the user's labels, the file's names, or numbers."""
    if labels is not None:
        if len(labels) != size:
            raise FileError(
                f"{label}: {size} regions, but labels=... names {len(labels)}. Name every row."
            )
        if set(labels.columns) == {"name"}:
            table, notes = described(list(labels["name"]))
            return table, tuple(notes)
        return labels.reset_index(drop=True), ()
    if names is not None:
        table, notes = described(names)
        return table, tuple(notes)
    numbered = pd.DataFrame({"name": [f"region-{i + 1:03d}" for i in range(size)]})
    if size - 1 in _COMMON_SIZES and size not in _COMMON_SIZES:
        note = f"{size} regions are {size - 1} + 1: if row 0 is -keep_unassigned, give labels=...."
        return numbered, (note,)
    return numbered, ()


def _without_background(
    reading: Reading, labels: pd.DataFrame | None, warnings: list[str]
) -> Reading:
    """Leave out row and column 0 where they are not a region."""
    holding = reading.holding
    size = holding.values.shape[0]
    wanted = None if labels is None else len(labels)
    unnamed_extra = holding.regions is None and wanted == size - 1
    if size == wanted or not (holding.background or unnamed_extra):
        return reading
    if not warnings:
        warnings.append(f"{reading.label}: row and column 0 left out (unassigned streamlines).")
    values = holding.values[1:, 1:]
    check_square(values.shape, reading.label)
    names = holding.regions[1:] if holding.regions is not None else None
    return Reading(reading.label, reading.subject, Holding(values, regions=names))


def _assemble_unnamed(
    readings: Sequence[Reading], labels: pd.DataFrame | None, warnings: list[str]
) -> Assembled:
    sizes = [reading.holding.values.shape[0] for reading in readings]
    check_sizes([reading.label for reading in readings], sizes)
    table, notes = region_table(None, sizes[0], labels, readings[0].label)
    stack = AlignedMatrices(readings, [None] * len(readings), sizes[0])
    return Assembled(stack, table, notes, tuple(warnings))


def _assemble_named(
    readings: Sequence[Reading], labels: pd.DataFrame | None, warnings: list[str]
) -> Assembled:
    if labels is None:
        sizes = [reading.holding.values.shape[0] for reading in readings]
        check_sizes([reading.label for reading in readings], sizes)
    first = readings[0].holding.regions or ()
    wanted = list(first) if labels is None else list(labels["name"])
    known: dict[tuple[str, ...], NDArray[np.intp] | None] = {tuple(wanted): None}
    orders = []
    for reading in readings:
        names = reading.holding.regions or ()
        if names not in known:
            known[names] = positions_of(wanted, names, reading.label)
        orders.append(known[names])
    table, notes = region_table(wanted, len(wanted), labels, readings[0].label)
    moved = sum(order is not None for order in orders)
    if moved and labels is None:
        notes = (*notes, f"{moved} subjects had their regions in another order; aligned by label.")
    stack = AlignedMatrices(readings, orders, len(wanted))
    return Assembled(stack, table, notes, tuple(warnings))


def _assemble_partial(readings: Sequence[Reading], labels: pd.DataFrame | None) -> Assembled:
    """Use the regions of all subjects: edge lists leave out regions without edges."""
    union = list(dict.fromkeys(n for r in readings for n in r.holding.regions or ()))
    numbered = all(name.isdecimal() for name in union)
    if numbered:
        union.sort(key=int)
    wanted = union if labels is None else list(labels["name"])
    places = {name: i for i, name in enumerate(wanted)}
    if labels is not None and numbered:
        first = 0 if "0" in union else 1
        places = {str(i + first): i for i in range(len(wanted))}
    unknown = next((name for name in union if name not in places), None)
    if unknown is not None:
        raise FileError(
            f"{readings[0].label}: an edge leads to {unknown!r}, which labels=... does not name."
        )
    table, notes = region_table(wanted, len(wanted), labels, readings[0].label)
    orders = [
        np.array([places[name] for name in reading.holding.regions or ()], dtype=np.intp)
        for reading in readings
    ]
    return Assembled(AlignedMatrices(readings, orders, len(wanted), partial=True), table, notes, ())
