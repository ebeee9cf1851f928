"""Calibration of quantiles: how real counts deviate from the negative binomial distribution.

The position of a count in its expected distribution is written as a normal score, standard normal
if the distribution is right (randomised quantile residuals; Dunn and Smyth 1996). The empirical
quantiles of these scores, over all edges of about the same rate, show how it is wrong: longer
tails, or more counts at the floor.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy import special

from stillome.arrays import Floats
from stillome.methods.stages.replay.rate_groups import between_groups, group_by_rate
from stillome.methods.stages.stage_tuning import STAGE_TUNING, StageTuning

_GRID = np.linspace(-2.5, 2.5, 41)  # at its ends, 37 of 6,000 scores lie beyond
_LEAST_SLOPE = 0.1  # of the expected score in the true one; a step of the data has slope 0
_HALVINGS = 6  # of the 40 pieces between the points of the grid


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
        groups = group_by_rate(log_rates, tuning.group_size)
        if not groups.members:
            return cls.none()
        levels = special.ndtr(_GRID)
        quantiles = np.stack([np.quantile(scores[group], levels) for group in groups.members])
        # Increasing, so that there is an inverse.
        steps = np.maximum(np.diff(quantiles, axis=1), _LEAST_SLOPE * (_GRID[1] - _GRID[0]))
        first = quantiles[:, :1]
        excess = np.hstack([first, first + np.cumsum(steps, axis=1)]) - _GRID
        return cls(groups.log_rates, excess)

    def expected_scores(self, true: Floats, log_rates: Floats) -> Floats:
        """Map standard normal scores to scores in the distribution expected at these rates."""
        if self._is_none:
            return true
        return np.asarray(true + self._at(true, *between_groups(self.log_rates, log_rates)))

    def true_scores(self, scores: Floats, log_rates: Floats) -> Floats:
        """Map scores in the expected distribution to standard normal ones; the exact inverse."""
        if self._is_none:
            return scores
        place = between_groups(self.log_rates, log_rates)
        # The function is piecewise linear: find the piece, then solve within it.
        low = np.zeros(np.shape(scores), np.intp)
        high = np.full(np.shape(scores), len(_GRID) - 1)
        for _ in range(_HALVINGS):
            middle = (low + high) // 2
            beyond = _GRID[middle] + self._at_column(middle, *place) <= scores
            low, high = np.where(beyond, middle, low), np.where(beyond, high, middle)
        first, last = self._at_column(low, *place), self._at_column(low + 1, *place)
        width = _GRID[1] - _GRID[0]
        across = (scores - _GRID[low] - first) / (width + last - first)
        # Beyond the grid the excess is constant.
        return np.asarray(scores - first - np.clip(across, 0, 1) * (last - first))

    @property
    def _is_none(self) -> bool:
        return len(self.log_rates) == 1 and not self.excess.any()

    def _at(self, scores: Floats, below: NDArray[np.intp], part: Floats) -> Floats:
        """Interpolate the excess at true scores; constant beyond the ends of the grid."""
        width = _GRID[1] - _GRID[0]
        place = np.clip((scores - _GRID[0]) / width, 0, len(_GRID) - 1)
        column = np.minimum(place.astype(np.intp), len(_GRID) - 2)
        first = self._at_column(column, below, part)
        return first + (place - column) * (self._at_column(column + 1, below, part) - first)

    def _at_column(self, column: NDArray[np.intp], below: NDArray[np.intp], part: Floats) -> Floats:
        """Return the excess at points of the grid, between two rates."""
        flat, corner = self.excess.ravel(), below * len(_GRID) + column
        if len(self.log_rates) == 1:
            return flat[corner]
        return flat[corner] + part * (flat[corner + len(_GRID)] - flat[corner])


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
