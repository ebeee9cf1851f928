"""Tails and single terms of the negative binomial, on flat arrays of the same length."""

import numpy as np
from numpy.typing import NDArray
from scipy import special

from stillome.arrays import Floats

Flags = NDArray[np.bool_]

SMALLEST_TAIL = 1e-300
_LOST_DIGITS = 1e-6


def at_zero(mean: Floats, size: Floats) -> Floats:
    """P(X = 0)."""
    return np.asarray(np.exp(-size * np.log1p(mean / size)))


def probability_mass(k: Floats, mean: Floats, size: Floats) -> Floats:
    """P(X = k)."""
    log_powers = k * np.log(mean / (size + mean)) - size * np.log1p(mean / size)
    return np.asarray(np.exp(log_powers - special.betaln(size, k + 1) - np.log(size + k)))


def tail_at(k: Floats, mean: Floats, size: Floats, upper: Flags) -> Floats:
    """P(X > k) where `upper`, else P(X ≤ k): an incomplete beta function."""
    first, second = np.where(upper, k + 1, size), np.where(upper, size, k + 1)
    total = size + mean
    share, rest = np.where(upper, mean, size) / total, np.where(upper, size, mean) / total
    result = np.asarray(special.betainc(first, second, share))
    # So near to 1 the share has lost digits that its complement has; that form is ten times slower.
    lost = np.flatnonzero(rest < _LOST_DIGITS)
    if len(lost):
        result[lost] = special.betaincc(second[lost], first[lost], rest[lost])
    return result
