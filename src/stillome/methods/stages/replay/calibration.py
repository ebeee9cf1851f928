"""Real counts are not exactly negative binomial: how their quantiles differ from it.

Where a count lies in the law that is expected of it is put as a normal score, standard normal if
the law is right. Over all edges of about the same rate one sees how it is wrong (fewer zeros,
longer tails), and a quantile can be carried from one rate to another as the counts really do.
"""

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import special

from stillome.arrays import Floats

_GRID = np.linspace(-3.5, 3.5, 57)
_LEAST_PER_RATE = 3000
_MOST_RATES = 16
_MOST_COUNTS = 200_000
_IN_TAIL = 30  # with fewer counts beyond it, a quantile is not estimated but extrapolated


def _nothing() -> Floats:
    return np.zeros((1, len(_GRID)))


@dataclass(frozen=True)
class Calibration:
    """What has to be added to normal scores, by rate.

    Attributes
    ----------
    log_rates : array of shape (R,)
    excess : array of shape (R, 57)
        Score in the expected law less the score in the law that counts really follow, on a grid
        of the latter; 0 where the expected law is right.
    """

    log_rates: Floats = field(default_factory=lambda: np.zeros(1))
    excess: Floats = field(default_factory=_nothing)

    @classmethod
    def fit(cls, scores: Floats, log_rates: Floats) -> Self:
        """Learn from the scores of many counts in the law expected of them.

        Parameters
        ----------
        scores, log_rates : arrays of shape (N,)
        """
        n_rates = int(np.clip(len(scores) // _LEAST_PER_RATE, 0, _MOST_RATES))
        if n_rates == 0:
            return cls()
        groups = np.array_split(np.argsort(log_rates, kind="stable"), n_rates)
        middles = np.array([float(np.median(log_rates[group])) for group in groups])
        excess = np.stack([_excess(scores[group]) for group in groups])
        # Rates that are all alike cannot be told apart.
        kept = np.r_[True, np.diff(middles) > 1e-6]
        return cls(middles[kept], excess[kept])

    def carry(self, scores: Floats, rates: Floats, to_rates: Floats) -> Floats:
        """Carry scores in the law expected at one rate to those at another.

        The same score comes back where the rates are the same.
        """
        if len(self.log_rates) == 1 and not self.excess.any():
            return scores
        here, there = self._between(np.log(rates)), self._between(np.log(to_rates))
        inverse = np.stack([_GRID - np.interp(_GRID, _GRID + row, _GRID) for row in self.excess])
        true = scores - self._at(inverse, scores, *here)
        change = self._at(self.excess, true, *there) - self._at(self.excess, true, *here)
        return np.asarray(scores + change)

    def _between(self, log_rates: Floats) -> tuple[NDArray[np.intp], Floats]:
        """Return the rate below, and how far towards the next one."""
        if len(self.log_rates) == 1:
            return np.zeros(log_rates.shape, np.intp), np.zeros(log_rates.shape)
        place = np.interp(log_rates, self.log_rates, np.arange(len(self.log_rates)))
        below = np.minimum(place.astype(np.intp), len(self.log_rates) - 2)
        return below, place - below

    def _at(self, table: Floats, scores: Floats, below: NDArray[np.intp], part: Floats) -> Floats:
        """Look up a table (R, 57) between its rates and scores; its ends go on beyond them."""
        place = np.clip((scores - _GRID[0]) / (_GRID[1] - _GRID[0]), 0, len(_GRID) - 1.001)
        column = place.astype(np.intp)
        across = place - column
        flat = table.ravel()
        corner = below * len(_GRID) + column
        low = flat[corner] + across * (flat[corner + 1] - flat[corner])
        if len(self.log_rates) == 1:
            return np.asarray(low)
        corner = corner + len(_GRID)
        high = flat[corner] + across * (flat[corner + 1] - flat[corner])
        return np.asarray(low + part * (high - low))


def some_counts(n_subjects: int, n_edges: int) -> NDArray[np.intp]:
    """Choose flat positions of counts to learn from: all of them, or evenly spread ones."""
    total = n_subjects * n_edges
    step = max(1, total // _MOST_COUNTS)
    # A step that shares no factor with the number of edges visits all of them.
    while step > 1 and np.gcd(step, n_edges) > 1:
        step += 1
    return np.arange(0, total, step)


def _excess(scores: NDArray[Any]) -> Floats:
    share = special.ndtr(_GRID)
    reach = special.ndtri(1 - min(_IN_TAIL / len(scores), 0.4))
    inside = np.abs(_GRID) <= reach
    quantiles = np.quantile(scores, share[inside])
    return np.interp(_GRID, _GRID[inside], quantiles - _GRID[inside])
