"""Tails and single terms of the negative binomial, on flat arrays of the same length."""

import numpy as np
from numpy.typing import NDArray
from scipy import special

from stillome.arrays import Floats

Flags = NDArray[np.bool_]

SMALLEST_TAIL = 1e-300
_LOST_DIGITS = 1e-6
# A step of the recursion takes a hundredth of the time of an incomplete beta function.
_ADDED_BELOW = 48
_LEAST_START, _LEAST_REST = 1e-280, 1e-3  # below these, the sum from 0 on has lost digits


def at_zero(mean: Floats, size: Floats) -> Floats:
    """P(X = 0)."""
    return np.asarray(np.exp(-size * np.log1p(mean / size)))


def probability_mass(k: Floats, mean: Floats, size: Floats) -> Floats:
    """P(X = k)."""
    log_powers = k * np.log(mean / (size + mean)) - size * np.log1p(mean / size)
    return np.asarray(np.exp(log_powers - special.betaln(size, k + 1) - np.log(size + k)))


def tail_at(k: Floats, mean: Floats, size: Floats, upper: Flags) -> Floats:
    """P(X > k) where `upper`, else P(X ≤ k)."""
    return mass_and_tail(k, mean, size, upper)[1]


def mass_and_tail(k: Floats, mean: Floats, size: Floats, upper: Flags) -> tuple[Floats, Floats]:
    """P(X = k), and P(X > k) where `upper`, else P(X ≤ k).

    Small counts are added up from 0 on; for others, the tail is an incomplete beta function.
    """
    mass, tail = np.empty(len(k)), np.empty(len(k))
    added = k < _ADDED_BELOW
    near = np.flatnonzero(added)
    order = near[np.argsort(k[near].astype(np.uint8), kind="stable")]
    mass[order], total, start = _added_up(k[order], mean[order], size[order])
    above = upper[order]
    tail[order] = np.where(above, 1 - total, total)
    added[order] = (start > _LEAST_START) & (~above | (1 - total > _LEAST_REST))
    far = np.flatnonzero(~added)
    if len(far):
        k, mean, size = k[far], mean[far], size[far]
        mass[far] = probability_mass(k, mean, size)
        tail[far] = _incomplete_beta(k, mean, size, upper[far])
    return mass, tail


def _added_up(k: Floats, mean: Floats, size: Floats) -> tuple[Floats, Floats, Floats]:
    """Return P(X = k), P(X ≤ k) and P(X = 0) of counts in increasing order."""
    ratio = mean / (size + mean)
    start = at_zero(mean, size)
    step, total = start.copy(), start.copy()
    highest = int(k[-1]) if len(k) else 0
    for number, first in enumerate(np.searchsorted(k, np.arange(1, highest + 1)), start=1):
        factor = size[first:] + (number - 1)
        factor *= ratio[first:]
        factor /= number
        step[first:] *= factor
        total[first:] += step[first:]
    return step, total, start


def _incomplete_beta(k: Floats, mean: Floats, size: Floats, upper: Flags) -> Floats:
    """P(X > k) where `upper`, else P(X ≤ k)."""
    first, second = np.where(upper, k + 1, size), np.where(upper, size, k + 1)
    total = size + mean
    share, rest = np.where(upper, mean, size) / total, np.where(upper, size, mean) / total
    result = np.asarray(special.betainc(first, second, share))
    # So near to 1 the share has lost digits that its complement has; that form is ten times slower.
    lost = np.flatnonzero(rest < _LOST_DIGITS)
    if len(lost):
        result[lost] = special.betaincc(second[lost], first[lost], rest[lost])
    return result
