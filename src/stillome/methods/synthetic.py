"""Synthetic subjects, drawn from a fitted model."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stillome.arrays import Floats

# Of `benchmarks/robustness.py`: the attack by the nearest synthetic subject, models of 200 and 400
# simulated subjects.
DISCLOSED = (
    "Not anonymous: who was among the training subjects can be guessed from it (AUC 0.57 to 0.73 "
    "for inv-fa and 200 to 400 simulated subjects; 0.5 is chance)"
)


class SyntheticCohort(NamedTuple):
    """Synthetic subjects.

    Attributes
    ----------
    connectomes : array of shape (n, V, V)
        int64 if the model was fitted to whole numbers, else float64 in the unit of the training
        weights.
    confounds : array of shape (n, C) or None
        In the users' units; None if the model uses none.
    traits : array of shape (n,) or (n, T), or None
        In the users' units; None if the model was fitted without.
    """

    connectomes: NDArray[np.int64] | Floats
    confounds: Floats | None
    traits: Floats | None
