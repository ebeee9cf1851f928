"""Hashes of numbers by which rows and columns are told apart, for many of them at once.

Sums of mixed bits modulo 2⁶⁴: of two rows or columns that differ, fewer than one pair in 10¹⁶ has
the same. They are no protection against somebody who looks for such a pair.
"""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Hashes: TypeAlias = NDArray[np.uint64]

# Of the generator SplitMix64 (Steele, Lea and Flood 2014).
_STEP = np.uint64(0x9E3779B97F4A7C15)
_ROUNDS = (
    (np.uint64(30), np.uint64(0xBF58476D1CE4E5B9)),
    (np.uint64(27), np.uint64(0x94D049BB133111EB)),
)
_LAST = np.uint64(31)
_ELEMENTS = 2**15  # that are mixed at a time


def hashes_of_sets(values: NDArray[Any]) -> Hashes:
    """Return a hash of every row (n, E), the same for its values in any order, (n,).

    Examples
    --------
    >>> first, second, third = hashes_of_sets(np.array([[1.0, 2.0], [2.0, 1.0], [2.0, 2.0]]))
    >>> bool(first == second), bool(first == third)
    (True, False)
    """
    found = np.empty(len(values), np.uint64)
    for rows in _pieces(values):
        found[rows] = _mixed(values[rows]).sum(axis=1, dtype=np.uint64)
    return found


def hashes_of_columns(values: NDArray[Any]) -> Hashes:
    """Return a hash of every column (n, E), which depends on the order of its values, (E,).

    Examples
    --------
    >>> first, second, third = hashes_of_columns(np.array([[1.0, 2.0, 1.0], [2.0, 1.0, 2.0]]))
    >>> bool(first == third), bool(first == second)
    (True, False)
    """
    places = _mixed(np.arange(1, len(values) + 1)) | np.uint64(1)
    found = np.zeros(values.shape[1], np.uint64)
    for rows in _pieces(values):
        mixed = _mixed(values[rows])
        mixed *= places[rows, None]
        found += mixed.sum(axis=0, dtype=np.uint64)
    return found


def _pieces(values: NDArray[Any]) -> list[slice]:
    """Return consecutive rows, few enough for a cache."""
    step = max(_ELEMENTS // max(values.shape[1], 1), 1)
    return [slice(start, start + step) for start in range(0, len(values), step)]


def _mixed(values: NDArray[Any]) -> NDArray[Any]:
    """Return the bits of numbers, each bit of the answer depending on all of them."""
    # In double precision, so that whole numbers of all types are the same; −0 becomes 0.
    bits = np.ascontiguousarray(values + 0.0, "<f8").view("<u8")
    bits += _STEP
    for shift, factor in _ROUNDS:
        bits ^= bits >> shift
        bits *= factor
    bits ^= bits >> _LAST
    return bits
