"""The next round's counts: drawn ones in place of zeros, a few subjects at a time."""

import numpy as np
from numpy.typing import NDArray

from stillome.arrays import Floats
from stillome.counts.edge_tables import StoredTable
from stillome.counts.workers import in_order
from stillome.methods.inv_fa.ordered_table import in_single, subject_blocks
from stillome.methods.inv_fa.parts import InvariantModel
from stillome.methods.stages.replay.counterfactual import positions_in_step
from stillome.methods.stages.replay.imputation import without_zeros


def imputed(
    edges: StoredTable,
    model: InvariantModel,
    latent: Floats,
    confounds: Floats,
    floors: Floats,
    number: int,
) -> StoredTable:
    """Return counts (n, E) in the unit of the model, with drawn ones in place of zeros.

    Parameters
    ----------
    edges : StoredTable of shape (n, E)
        The training subjects, in their own unit.
    model : InvariantModel
    latent : array of shape (n, K)
    confounds : array of shape (n, C)
    floors : array of shape (n, 1)
    number : int
        Of the round; each draws other numbers.
    """
    store = edges.plan.store(edges.shape, np.float32)

    def draw(rows: slice) -> tuple[int, NDArray[np.float32]]:
        counts, motion = in_single(float(model.unit), edges.subjects(rows)), confounds[rows]
        level, lot = (positions_in_step(counts, [number, k], model.edge_ranks) for k in (0, 1))
        law = model.count_law(model.law(latent[rows], motion, motion), motion, floors[rows])
        return rows.start, without_zeros(counts, law, level, lot)

    for start, counts in in_order(draw, subject_blocks(edges.shape), shared=edges.plan.shared):
        store.write_rows(start, counts)
    return StoredTable.on(store, edges.plan)
