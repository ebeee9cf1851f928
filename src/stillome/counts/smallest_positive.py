"""The smallest positive value of rows or columns."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stillome.arrays import Floats

_BEYOND = 1e38  # twice more than any value, also in single precision


def smallest_positive(values: NDArray[Any], axis: int) -> Floats:
    """Return the smallest positive value along an axis; infinite where there is none.

    Examples
    --------
    >>> smallest_positive(np.array([[0, 3], [0, 2]]), axis=0).tolist()
    [inf, 2.0]
    """
    # A sum takes a tenth of the time of a choice.
    smallest = (values + np.multiply(values <= 0, _BEYOND, dtype=np.float32)).min(axis=axis)
    return np.asarray(np.where(smallest < _BEYOND / 2, smallest, np.inf), np.float64)
