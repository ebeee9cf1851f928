"""Small values: how often a pipeline writes each of the values just above its floor.

Real counts are no smooth distribution there. One pipeline writes 1.8 times as many 3s as 4s, and
more 6s than 5s. Among the first few values from the floor on, the negative binomial probabilities
are therefore multiplied by factors per value, which depend smoothly on the rate. The probability
of all of these values together stays as it is.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from stillome.arrays import Floats
from stillome.methods.stages.replay.rate_groups import between_groups, group_by_rate
from stillome.methods.stages.stage_tuning import STAGE_TUNING, StageTuning

N_VALUES = 8
_LEAST_MASS = 1e-290
_LARGEST_LOG_FACTOR = 3.0
_ROUNDS = 8  # of proportional fitting


@dataclass(frozen=True)
class SmallValues:
    """Factors of the probabilities of small values, by rate.

    Attributes
    ----------
    log_rates : array of shape (R,)
    log_factors : array of shape (R, 8)
        Of the floor, the floor + 1, ...; all 0 where the negative binomial is right.
    """

    log_rates: Floats
    log_factors: Floats

    @classmethod
    def none(cls) -> Self:
        """Return factors of 1."""
        return cls(np.zeros(1), np.zeros((1, N_VALUES)))

    @classmethod
    def fit(
        cls,
        offsets: Floats,
        floors: Floats,
        log_rates: Floats,
        sizes: Floats,
        tuning: StageTuning = STAGE_TUNING,
    ) -> Self:
        """Learn from counts among the small values, by proportional fitting in groups of rates.

        Parameters
        ----------
        offsets : array of shape (N,)
            Counts minus their floors, 0 to 7.
        floors, log_rates, sizes : arrays of shape (N,)
        tuning : StageTuning
        """
        groups = group_by_rate(log_rates, tuning.group_size)
        if not groups.members:
            return cls.none()
        masses = _masses(floors, np.exp(log_rates), sizes)
        rows = []
        for group in groups.members:
            observed = np.bincount(offsets[group].astype(np.intp), minlength=N_VALUES) + 0.5
            factors = np.ones(N_VALUES)
            for _ in range(_ROUNDS):
                weighted = masses[group] * factors
                expected = (weighted / weighted.sum(axis=1, keepdims=True)).sum(axis=0) + 0.5
                factors = factors * observed / expected
            rows.append(np.clip(np.log(factors), -_LARGEST_LOG_FACTOR, _LARGEST_LOG_FACTOR))
        return cls(groups.log_rates, np.stack(rows))

    def cumulative(self, floors: Floats, log_rates: Floats, sizes: Floats) -> Floats:
        """Return the cumulative shares (N, 9) of the small values, from 0 to 1."""
        masses = _masses(floors, np.exp(log_rates), sizes) * np.exp(self._at(log_rates))
        shares = np.zeros((len(masses), N_VALUES + 1))
        np.cumsum(masses, axis=1, out=shares[:, 1:])
        return np.asarray(shares / shares[:, -1:])

    def _at(self, log_rates: Floats) -> Floats:
        if len(self.log_rates) == 1:
            return np.broadcast_to(self.log_factors, (len(log_rates), N_VALUES))
        below, part = between_groups(self.log_rates, log_rates)
        low, high = self.log_factors[below], self.log_factors[below + 1]
        return np.asarray(low + part[:, None] * (high - low))


def _masses(floors: Floats, means: Floats, sizes: Floats) -> Floats:
    """Return the probabilities (N, 8) of the first values, relative to that of the floor."""
    masses = np.empty((len(means), N_VALUES))
    masses[:, 0] = 1.0
    ratio = means / (sizes + means)
    for step in range(1, N_VALUES):
        k = floors + (step - 1)
        masses[:, step] = masses[:, step - 1] * ratio * (sizes + k) / (k + 1)
    return np.maximum(masses, _LEAST_MASS)
