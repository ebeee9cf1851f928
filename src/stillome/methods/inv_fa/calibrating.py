"""The calibration of quantiles and of small values, from some counts of a table."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stillome.arrays import Floats
from stillome.counts.edge_tables import EdgeTable
from stillome.counts.workers import in_order
from stillome.methods.stages.replay.calibration import Calibration, some_counts
from stillome.methods.stages.replay.count_law import CountLaw
from stillome.methods.stages.replay.counterfactual import Laws, positions_in_step
from stillome.methods.stages.replay.small_values import N_VALUES, SmallValues
from stillome.methods.stages.stage_tuning import StageTuning


def calibrate(
    counts: EdgeTable,
    laws: Laws,
    ranks: NDArray[np.intp],
    floors: Floats,
    tuning: StageTuning,
) -> tuple[Calibration, SmallValues]:
    """Calibrate the quantiles of counts that are present.

    Parameters
    ----------
    counts : EdgeTable of shape (n, E)
    laws : callable
        From a block of edges, and then from subjects, to the law of their counts.
    ranks : array of shape (E,)
        Of the edges, see `edge_ranks`.
    floors : array of shape (n, 1)
    tuning : StageTuning
    """
    rows, chosen = some_counts(*counts.shape, tuning)
    values, log_rates, dispersions = _at(counts, laws, rows, np.argsort(ranks)[chosen])
    present = values > 0
    values, log_rates, dispersions = (p[present] for p in (values, log_rates, dispersions))
    own = floors[rows[present]]
    # Every count is a row of its own here.
    law = CountLaw.negative_binomial(log_rates[:, None], dispersions[:, None], own)
    positions = positions_in_step(values[None], [0]).T
    scores = law.scores_if_present(values[:, None], positions)[:, 0]
    calibration = Calibration.fit(scores, log_rates, tuning)
    offsets = values - own[:, 0]
    few = (offsets >= 0) & (offsets < N_VALUES)
    cells = offsets[few], own[few, 0], log_rates[few], 1 / dispersions[few]
    return calibration, SmallValues.fit(*cells, tuning)


def _at(
    counts: EdgeTable,
    laws: Laws,
    rows: NDArray[np.intp],
    columns: NDArray[np.intp],
) -> tuple[Floats, Floats, Floats]:
    """Return counts, log rates and dispersions (N,) of some subjects and edges."""
    found = np.empty((3, len(rows)))

    def look(edges: slice) -> tuple[NDArray[np.intp], list[NDArray[Any]]]:
        here = np.flatnonzero((columns >= edges.start) & (columns < edges.stop))
        place = rows[here], columns[here] - edges.start
        return here, [part[place] for part in (counts.read(edges), *laws(edges)(slice(None)))]

    blocks = counts.plan.blocks(counts.shape[1])
    for here, parts in in_order(look, blocks, shared=counts.plan.shared):
        found[:, here] = parts
    return found[0], found[1], found[2]
