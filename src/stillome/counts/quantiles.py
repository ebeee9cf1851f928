"""Negative binomial quantiles of flat arrays: exact, and about a microsecond each."""

import numpy as np
from numpy.typing import NDArray
from scipy import special

from stillome.arrays import Floats
from stillome.counts.tails import (
    SMALLEST_TAIL,
    Flags,
    at_zero,
    mass_and_tail,
)

# From zero, a step of the recursion is far cheaper than a cdf; beyond this mean it is not.
_WALK_FROM_ZERO_MEAN = 8.0
_WALK_FROM_ZERO_STEPS = 24
_WALK_STEPS = 4
_SMALLEST_SHRINKAGE = 1e-6


def quantile(tail: Floats, upper: Flags, mean: Floats, size: Floats) -> Floats:
    """Quantiles of flat arrays: a walk from zero where it is short, a search elsewhere."""
    result = np.full(tail.shape, -1.0)
    level = np.where(upper, 1 - tail, tail)
    exact = ~upper | (tail > 1e-3)  # 1 − tail has lost digits elsewhere
    step = at_zero(mean, size)
    result[exact & (level <= step)] = 0.0
    open_ = np.flatnonzero(exact & (level > step) & (mean <= _WALK_FROM_ZERO_MEAN))
    if len(open_):
        _walk_from_zero(result, open_, level, step, mean, size)
    rest = np.flatnonzero(result < 0)
    if len(rest):
        result[rest] = _search(tail[rest], upper[rest], mean[rest], size[rest])
    return result


def _walk_from_zero(
    result: Floats, open_: NDArray[np.intp], level: Floats, step: Floats, mean: Floats, size: Floats
) -> None:
    level, step, size_ = level[open_], step[open_], size[open_]
    ratio = mean[open_] / (size_ + mean[open_])
    total = step.copy()
    for k in range(1, _WALK_FROM_ZERO_STEPS + 1):
        step = step * ratio * ((size_ + (k - 1)) / k)
        total = total + step
        found = total >= level
        result[open_[found]] = k
        stay = ~found
        open_, level, step, total = open_[stay], level[stay], step[stay], total[stay]
        ratio, size_ = ratio[stay], size_[stay]
        if not len(open_):
            return


def _search(tail: Floats, upper: Flags, mean: Floats, size: Floats) -> Floats:
    """Newton steps on the normal scale inside a bracket; each round ends in a short walk."""
    # The smaller tail has more digits; for levels of one half or more, 1 − level loses none.
    upper, tail = upper ^ (tail > 0.5), np.where(tail > 0.5, 1 - tail, tail)
    tail = np.maximum(tail, SMALLEST_TAIL)
    target = np.where(upper, -1.0, 1.0) * special.ndtri(tail)
    result = np.empty(tail.shape)
    open_: NDArray[np.intp] = np.arange(len(tail))
    k = _gamma_guess(target, mean, size)
    low, high = np.zeros(len(tail)), np.full(len(tail), np.inf)
    round_ = 0
    while len(open_):
        k, found, too_high, reached, step = _walk(k, tail, upper, mean, size)
        result[open_[found]] = k[found]
        high = np.where(too_high, np.minimum(high, k - 1), high)
        low = np.where(too_high, low, np.maximum(low, k + 1))
        # Where rounding has emptied a bracket, the tails on both sides of it agree with the level.
        closed = ~found & (low >= high)
        result[open_[closed]] = low[closed]
        stay = ~(found | closed)
        open_, upper = open_[stay], upper[stay]
        k, tail, mean, size, target, low, high, reached, step = (
            a[stay] for a in (k, tail, mean, size, target, low, high, reached, step)
        )
        round_ += 1
        k = _next_guess(k, reached, step, upper, target, low, high, halve=round_ % 4 == 0)
    return result


def _gamma_guess(target: Floats, mean: Floats, size: Floats) -> Floats:
    """Wilson–Hilferty quantile of the gamma with the same mean and variance."""
    shape = mean * size / (mean + size)
    root = 1 - 1 / (9 * shape) + target / (3 * np.sqrt(shape))
    return np.floor(mean * np.maximum(root, 0.0) ** 3)


def _walk(
    k: Floats, tail: Floats, upper: Flags, mean: Floats, size: Floats
) -> tuple[Floats, Flags, Flags, Floats, Floats]:
    """Evaluate the tail at k, then step towards the quantile by the ratio of neighbouring terms.

    Returns the counts reached, which are quantiles, which are too high, the tails and the terms.
    """
    step, reached = mass_and_tail(k, mean, size, upper)
    sign = np.where(upper, -1.0, 1.0)
    ratio = mean / (size + mean)
    # A tail that shrinks by subtraction keeps its digits only while it stays near its start.
    still = tail < _SMALLEST_SHRINKAGE * reached
    for turn in range(_WALK_STEPS + 1):
        enough = sign * (reached - tail) >= 0
        before = np.where(k > 0, reached - sign * step, np.where(upper, 1.0, 0.0))
        # At zero nothing lies below, whatever rounding says.
        found = enough & ((sign * (before - tail) < 0) | (k == 0))
        too_high = enough & ~found
        if turn == _WALK_STEPS or found.all():
            break
        next_step = step * ratio * (size + k) / (k + 1)
        last_step = step * k / (ratio * (size + k - 1 + (k == 0)))
        still = still | found
        reached = np.where(still, reached, np.where(too_high, before, reached + sign * next_step))
        step = np.where(still, step, np.where(too_high, last_step, next_step))
        k = np.where(still, k, np.where(too_high, k - 1, k + 1))
    return k, found, too_high, reached, step


def _next_guess(
    k: Floats,
    reached: Floats,
    step: Floats,
    upper: Flags,
    target: Floats,
    low: Floats,
    high: Floats,
    *,
    halve: bool,
) -> Floats:
    at = np.where(upper, -1.0, 1.0) * special.ndtri(np.clip(reached, SMALLEST_TAIL, 1 - 1e-16))
    density = np.exp(-0.5 * at**2) / np.sqrt(2 * np.pi)
    guess = np.floor(k + (target - at) * density / np.maximum(step, SMALLEST_TAIL) + 0.5)
    middle = np.where(np.isfinite(high), np.floor((low + high) / 2), 2 * k + 1)
    wild = ~np.isfinite(guess) | (guess < low) | (guess > high)
    return np.where(wild | halve, middle, guess)
