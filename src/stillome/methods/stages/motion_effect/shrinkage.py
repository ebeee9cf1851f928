"""Shrinkage of estimates towards 0, by how much of them chance explains."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stillome.arrays import Floats


def beyond_chance(estimates: NDArray[Any], variances: ArrayLike) -> Floats:
    """Return estimates · max(0, 1 − variance / estimate²).

    This is the positive-part James–Stein rule for each estimate by itself (Stein 1981, Efron and
    Morris 1973): an estimate within its standard error becomes 0, a large one stays as it is.

    Parameters
    ----------
    estimates : array
    variances : array-like
        Their sampling variances; broadcast against `estimates`.

    Examples
    --------
    >>> beyond_chance(np.array([0.5, 2.0, -10.0]), 1.0).tolist()
    [0.0, 1.5, -9.9]
    """
    squares = np.maximum(estimates**2, 1e-12)
    return np.asarray(estimates * np.maximum(0, 1 - np.asarray(variances) / squares))
