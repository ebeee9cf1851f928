"""The training subjects as a table that a fit can go through again and again."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stillome.cohort.subject_rows import AnyRows, SubjectRows
from stillome.counts.block_plan import BlockPlan
from stillome.counts.edge_tables import StoredTable
from stillome.counts.workers import on_a_cluster
from stillome.methods.weight_units import Unitless

_ELEMENTS = 2**17  # of a block of subjects, of which a replay needs some thirty arrays


def in_canonical_order(
    edges: AnyRows, order: NDArray[np.intp], memory: float | None = None
) -> StoredTable:
    """Copy edges (n, E), subject by subject, into blocks of edges with subjects in this order.

    Whole numbers are kept in as few bytes as hold them, others in their own dtype.
    """
    source = SubjectRows.of(edges)
    known = Unitless.of(part for _, part in source.parts())
    dtype = np.dtype(getattr(source.source, "dtype", np.float64)).newbyteorder("=")
    if known.whole:
        dtype = np.min_scalar_type(int(known.largest))
    plan = replace(BlockPlan.of(source.shape, memory), shared=on_a_cluster())
    store = plan.store(source.shape, dtype)
    for start, part in source.parts():
        store.write_rows(start, part)
    store.reorder(order)
    return StoredTable.on(store, plan)


def in_single(unit: float, edges: NDArray[Any]) -> NDArray[np.float32]:
    """Return edges in the unit of the model, in single precision."""
    return edges.astype(np.float32) if unit == 1 else (edges * unit).astype(np.float32)


def subject_step(shape: tuple[int, ...]) -> int:
    """Return how many subjects are computed at a time, so that all their edges take little memory.

    Examples
    --------
    >>> subject_step((1000, 2278)), subject_step((1000, 79800))
    (57, 1)
    """
    return max(_ELEMENTS // max(shape[1], 1), 1)


def subject_blocks(shape: tuple[int, ...]) -> list[slice]:
    """Return blocks of `subject_step` consecutive subjects."""
    step, n = subject_step(shape), shape[0]
    return [slice(start, min(start + step, n)) for start in range(0, n, step)]
