"""Counts in groups of about the same rate, and interpolation between these groups."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stillome.arrays import Floats

_SAME = 1e-6  # groups whose log rates differ by less are redundant


class RateGroups(NamedTuple):
    """Groups of counts.

    Attributes
    ----------
    log_rates : array of shape (R,)
        Median of each group, increasing.
    members : list of arrays
        Positions of the counts of each group.
    """

    log_rates: Floats
    members: list[NDArray[np.intp]]


def group_by_rate(log_rates: Floats, group_size: int) -> RateGroups:
    """Divide counts with these log rates (N,) into groups of at least this size.

    Examples
    --------
    >>> group_by_rate(np.array([3.0, 1.0, 2.0, 4.0]), 2).log_rates.tolist()
    [1.5, 3.5]
    """
    n_groups = len(log_rates) // group_size
    if n_groups == 0:
        return RateGroups(np.zeros(0), [])
    members = np.array_split(np.argsort(log_rates, kind="stable"), n_groups)
    middles = np.array([float(np.median(log_rates[group])) for group in members])
    kept = np.flatnonzero(np.r_[True, np.diff(middles) > _SAME])
    return RateGroups(middles[kept], [members[place] for place in kept])


def between_groups(groups: Floats, log_rates: Floats) -> tuple[NDArray[np.intp], Floats]:
    """Return the group below each log rate, and the relative distance to the next, 0 to 1.

    With one group only, the distance is 0 everywhere.
    """
    if len(groups) == 1:
        return np.zeros(log_rates.shape, np.intp), np.zeros(log_rates.shape)
    place = np.interp(log_rates, groups, np.arange(len(groups)))
    below = np.minimum(place.astype(np.intp), len(groups) - 2)
    return below, place - below
