"""In which dtype to compute with counts, and in which to give them back."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stillome.cohort.validation.sliced import is_sliced


def in_wide_dtype(array: NDArray[Any]) -> NDArray[Any]:
    """Give numbers back in a dtype that results of computing with them fit in.

    NumPy takes the logarithm of 8-bit integers in 16-bit floats, and answers in the byte order it
    was given. Integers of 32 and 64 bits stay; shorter ones become 32 bits, floats 64 bits.

    Examples
    --------
    >>> in_wide_dtype(np.array([3], np.uint8)).dtype, in_wide_dtype(np.array([3], ">f4")).dtype
    (dtype('int32'), dtype('float64'))
    """
    if array.dtype.kind == "f":
        return array.astype(np.float64, copy=False)
    if array.dtype.itemsize < 4:
        return array.astype(np.int32)
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def answer_dtype(X: ArrayLike) -> np.dtype[Any]:
    """Return the dtype in which counts of this kind are given back, in native byte order.

    Integers and 32-bit floats stay what they are; other floats become 64 bits.

    Examples
    --------
    >>> answer_dtype(np.zeros(2, ">u2")), answer_dtype(np.zeros(2, "f2"))
    (dtype('uint16'), dtype('float64'))
    """
    given: Any = X if is_sliced(X) else np.asarray(X)
    dtype = np.dtype(given.dtype).newbyteorder("=")
    return np.dtype(np.float64) if dtype.kind == "f" and dtype.itemsize != 4 else dtype
