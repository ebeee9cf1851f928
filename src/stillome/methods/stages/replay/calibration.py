"""Calibration of quantiles: how real counts deviate from the negative binomial distribution.

The position of a count in its expected distribution is written as a normal score, standard normal
if the distribution is right (randomised quantile residuals; Dunn and Smyth 1996). The empirical
quantiles of these scores, over all edges of about the same rate, show how it is wrong: fewer
zeros, longer tails. `carry` maps a score from one rate to another accordingly.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy import special

from stillome.arrays import Floats
from stillome.methods.stages.stage_tuning import STAGE_TUNING, StageTuning

_GRID = np.linspace(-2.5, 2.5, 41)  # at its ends, 37 of 6,000 scores lie beyond


@dataclass(frozen=True)
class Calibration:
    """What has to be added to normal scores, by rate.

    Attributes
    ----------
    log_rates : array of shape (R,)
    excess : array of shape (R, 41)
        Score in the expected distribution minus the score in the empirical one, on a grid of the
        latter; 0 where the expected distribution is right.
    """

    log_rates: Floats
    excess: Floats

    @classmethod
    def none(cls) -> Self:
        """Return the calibration that changes nothing."""
        return cls(np.zeros(1), np.zeros((1, len(_GRID))))

    @classmethod
    def fit(cls, scores: Floats, log_rates: Floats, tuning: StageTuning = STAGE_TUNING) -> Self:
        """Learn from the scores of many counts in the distribution expected of them.

        Parameters
        ----------
        scores, log_rates : arrays of shape (N,)
        tuning : StageTuning
        """
        n_groups = len(scores) // tuning.group_size
        if n_groups == 0:
            return cls.none()
        groups = np.array_split(np.argsort(log_rates, kind="stable"), n_groups)
        middles = np.array([float(np.median(log_rates[group])) for group in groups])
        levels = special.ndtr(_GRID)
        excess = np.stack([np.quantile(scores[group], levels) - _GRID for group in groups])
        # Groups of the same rate are redundant.
        kept = np.r_[True, np.diff(middles) > 1e-6]
        return cls(middles[kept], excess[kept])

    def carry(self, scores: Floats, rates: Floats, to_rates: Floats) -> Floats:
        """Map scores in the distribution expected at one rate to those at another.

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
        """Return the index of the rate below, and the relative distance to the next one."""
        if len(self.log_rates) == 1:
            return np.zeros(log_rates.shape, np.intp), np.zeros(log_rates.shape)
        place = np.interp(log_rates, self.log_rates, np.arange(len(self.log_rates)))
        below = np.minimum(place.astype(np.intp), len(self.log_rates) - 2)
        return below, place - below

    def _at(self, table: Floats, scores: Floats, below: NDArray[np.intp], part: Floats) -> Floats:
        """Interpolate a table (R, 41) between its rates and scores; constant beyond its ends."""
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


def some_counts(
    n_subjects: int, n_edges: int, tuning: StageTuning = STAGE_TUNING
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Choose counts to learn from: rows and columns of all of them, or of evenly spread ones."""
    total = n_subjects * n_edges
    step = max(1, total // tuning.max_counts)
    # A step without a common divisor with the number of edges visits all of them.
    while step > 1 and np.gcd(step, n_edges) > 1:
        step += 1
    rows, columns = np.divmod(np.arange(0, total, step), n_edges)
    return rows, columns
