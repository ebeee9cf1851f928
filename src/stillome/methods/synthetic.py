"""Subjects that a fitted model draws."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class SyntheticCohort(NamedTuple):
    """Subjects nobody ever scanned, drawn from a fitted model.

    Attributes
    ----------
    connectomes : array of shape (n, V, V), int64
    confounds : array of shape (n, C) or None
        In the users' units; None when the model does not know any.
    traits : array of shape (n,) or (n, T), or None
        In the users' units; None when the model was fitted without.
    """

    connectomes: NDArray[np.int64]
    confounds: NDArray[np.float64] | None
    traits: NDArray[np.float64] | None
