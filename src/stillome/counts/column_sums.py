"""Sums over subjects of tables that are small enough for single precision."""

import numpy as np

from stillome.arrays import AnyFloats


def column_sums(values: AnyFloats) -> AnyFloats:
    """Return the sum of every column (e,) of a band of subjects (n, e), in its own precision.

    A product with ones takes a fraction of the time of a sum in double precision. Bands have at
    most 8,192 subjects, and are added up in double precision (`EdgeTable.sums`), so that few digits
    are lost; where columns of equal numbers have to be recognised, use double precision.

    Examples
    --------
    >>> column_sums(np.array([[1.0, 2.0], [3.0, 4.0]])).tolist()
    [4.0, 6.0]
    """
    return np.asarray(np.ones(len(values), values.dtype) @ values)
