"""Elementwise functions of large arrays, applied in blocks that bound memory."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from stillome.arrays import Floats

_BLOCK_ELEMENTS = 2**17
_MOST_THREADS = 4


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
    n_threads = min(len(starts), os.cpu_count() or 1, _MOST_THREADS)
    # The functions spend their time in compiled loops, which leave other threads free.
    with ThreadPoolExecutor(max(n_threads, 1)) as pool:
        list(pool.map(fill, starts))
    return result.reshape(shape)
