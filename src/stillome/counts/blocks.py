"""Elementwise functions of large arrays, applied in blocks that bound memory."""

from collections.abc import Callable

import numpy as np

from stillome.arrays import Floats
from stillome.counts.workers import in_order

_BLOCK_ELEMENTS = 2**17


def in_blocks(function: Callable[..., Floats], *arrays: Floats) -> Floats:
    """Apply an elementwise function to flat pieces of the arrays, several at a time."""
    arrays = tuple(np.broadcast_arrays(*arrays))
    shape = arrays[0].shape
    arrays = tuple(np.atleast_1d(a) for a in arrays)
    result = np.empty(arrays[0].shape)
    rows = max(1, _BLOCK_ELEMENTS // max(1, result[:1].size))

    def fill(start: int) -> None:
        part = slice(start, start + rows)
        flat = function(*(a[part].ravel() for a in arrays))
        result[part] = flat.reshape(result[part].shape)

    starts = range(0, len(result), rows)
    for _ in in_order(fill, starts, 1 if len(starts) == 1 else None):
        pass
    return result.reshape(shape)
