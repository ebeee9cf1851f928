"""Negative binomial counts at or above a floor, on flat arrays of the same length."""

import numpy as np
from scipy import special

from stillome.arrays import Floats
from stillome.counts.quantiles import quantile
from stillome.counts.tails import SMALLEST_TAIL, at_zero, mass_and_tail, tail_at

_WALK_BELOW = 12  # from zero, steps of the recursion are cheaper than a cdf up to this floor
_LEAST_ABOVE = 1e-12


def mass_below(floor: Floats, mean: Floats, size: Floats) -> Floats:
    """Return P(X < floor)."""
    step = at_zero(mean, size)
    total = step.copy()
    ratio = mean / (size + mean)
    highest = int(floor.max(initial=1))
    for k in range(1, min(highest, _WALK_BELOW)):
        step = step * ratio * ((size + (k - 1)) / k)
        total += np.where(k < floor, step, 0.0)
    far = np.flatnonzero(floor > _WALK_BELOW)
    if len(far):
        lower = np.zeros(len(far), dtype=bool)
        total[far] = tail_at(floor[far] - 1, mean[far], size[far], lower)
    return np.minimum(total, 1 - _LEAST_ABOVE)


def scores_above(
    k: Floats, below: Floats, mean: Floats, size: Floats, share: Floats, capped: Floats
) -> Floats:
    """Return normal scores of counts among those that reach the floor (mass 1 − `below`).

    `share` is the position of a count within its step, from the top. The step of a count at the
    ceiling (`capped`) contains everything above.
    """
    upper = k > mean
    step, tail = mass_and_tail(k, mean, size, upper)
    at_top = capped > 0
    if at_top.any():
        beyond = np.where(upper, tail, 1 - tail)
        step = np.where(at_top, step + beyond, step)
        tail = np.where(at_top, np.where(upper, 0.0, 1.0), tail)
    reached = np.where(upper, tail + share * step, tail - share * step - below)
    relative = np.clip(reached / (1 - below), SMALLEST_TAIL, 1 - 1e-16)
    return np.asarray(np.where(upper, -1.0, 1.0) * special.ndtri(relative))


def counts_above(scores: Floats, below: Floats, mean: Floats, size: Floats) -> Floats:
    """Return the counts whose scores among those that reach the floor are these."""
    upper = scores > 0
    part = (1 - below) * special.ndtr(-np.abs(scores))
    return quantile(np.where(upper, part, below + part), upper, mean, size)
