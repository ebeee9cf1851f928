"""Fibre lengths in the same file as the counts, and their mean over subjects."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stillome.arrays import Floats
from stillome.io.connectome_data import Contents, Holding
from stillome.io.connectome_measures import kind_of


def lengths_beside(contents: Contents, chosen: Holding) -> Holding | None:
    """Return the lengths that belong to the chosen counts.

    Of several, those whose name ends like that of the counts (``count_end``), or else the mean.
    """
    found = [
        holding
        for holding in contents.holdings
        if kind_of(holding.measure) == "length"
        and holding.atlas == chosen.atlas
        and holding is not chosen
    ]
    if len(found) > 1:
        ending = chosen.measure.rsplit("_", 1)[-1]
        same = [holding for holding in found if holding.measure.endswith(f"_{ending}")]
        found = same or [holding for holding in found if "mean" in holding.measure.lower()]
    return found[0] if len(found) == 1 else None


def mean_lengths(matrices: NDArray[Any]) -> Floats:
    """Average over the subjects that have the edge; 0 where nobody has it.

    Examples
    --------
    >>> mean_lengths(np.array([[[0, 40.0], [40.0, 0]], [[0, 0.0], [0.0, 0]]])).tolist()
    [[0.0, 40.0], [40.0, 0.0]]
    """
    known = (matrices > 0).sum(axis=0)
    total = matrices.sum(axis=0, dtype=np.float64)
    return np.asarray(np.divide(total, known, out=np.zeros_like(total), where=known > 0))
