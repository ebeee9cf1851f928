"""The law of a subject's counts at one motion: empty, or negative binomial above a floor.

    P(A_e = 0) = π_e,   A_e | A_e > 0 ~ NB(rate_e, φ_e) given A_e ≥ floor, calibrated by rate

A hurdle model (Mullahy 1986). Where π is the negative binomial's own probability of a count below
the floor, this is the negative binomial with small counts written as 0.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from stillome.arrays import Floats
from stillome.counts.blocks import in_blocks
from stillome.counts.floors import counts_above, mass_below, scores_above
from stillome.methods.stages.replay.calibration import Calibration

_SMALLEST = 1e-300


@dataclass(frozen=True, eq=False)
class CountLaw:
    """Distribution of counts, per subject and edge.

    Attributes
    ----------
    log_rates, dispersions : arrays of shape (n, E)
        Of the negative binomial.
    floors : array of shape (n, 1)
    below : array of shape (n, E)
        Probability of a count below the floor in the negative binomial.
    empty : array of shape (n, E)
        Probability of no fibres.
    calibration : Calibration
        Of the scores of counts that are present.
    ceiling : float
    """

    log_rates: Floats
    dispersions: Floats
    floors: Floats
    below: Floats
    empty: Floats
    calibration: Calibration
    ceiling: float = np.inf

    @classmethod
    def negative_binomial(
        cls, log_rates: Floats, dispersions: Floats, floors: Floats | float = 1.0
    ) -> "CountLaw":
        """Return the law without a hurdle: counts below the floor are written as 0."""
        below = probability_below(log_rates, dispersions, floors)
        floors_ = np.broadcast_to(np.asarray(floors, np.float64), (len(log_rates), 1))
        return cls(log_rates, dispersions, floors_, below, below, Calibration.none())

    def scores(self, counts: NDArray[Any], positions: Floats) -> Floats:
        """Return the positions of counts (n, E) in the law as normal scores, (n, E).

        Standard normal if the counts follow the law and `positions`, where each count sits within
        its step, are uniform.
        """

        def block(
            k: Floats, share: Floats, log_rate: Floats, phi: Floats, below: Floats, empty: Floats
        ) -> Floats:
            tail = np.maximum(empty * (1 - share), _SMALLEST)
            some = np.flatnonzero(k > 0)
            capped = np.where(k[some] >= self.ceiling, 1.0, 0.0)
            among = scores_above(
                k[some], below[some], np.exp(log_rate[some]), 1 / phi[some], share[some], capped
            )
            among = self.calibration.true_scores(among, log_rate[some])
            scores = special.ndtri(tail)
            scores[some] = _over_hurdle(among, empty[some])
            return np.asarray(scores)

        k = np.where(counts > 0, np.maximum(counts, self.floors), 0).astype(np.float64)
        return in_blocks(block, k, positions, *self._arrays)

    def scores_if_present(self, counts: NDArray[Any], positions: Floats) -> Floats:
        """Return uncalibrated scores among counts that are present, from which to calibrate."""

        def block(
            k: Floats, share: Floats, log_rate: Floats, phi: Floats, below: Floats, empty: Floats
        ) -> Floats:
            none = np.zeros(len(k))
            return scores_above(k, below, np.exp(log_rate), 1 / phi, share, none)

        return in_blocks(
            block, np.maximum(counts, self.floors).astype(np.float64), positions, *self._arrays
        )

    def counts_at(self, scores: Floats) -> Floats:
        """Return the counts (n, E) at these normal scores (n, E)."""

        def block(
            score: Floats, log_rate: Floats, phi: Floats, below: Floats, empty: Floats
        ) -> Floats:
            counts = np.zeros(len(score))
            some = np.flatnonzero(special.ndtr(score) > empty)
            among = _after_hurdle(score[some], empty[some])
            among = self.calibration.expected_scores(among, log_rate[some])
            counts[some] = counts_above(among, below[some], np.exp(log_rate[some]), 1 / phi[some])
            return counts

        counts = in_blocks(block, scores, *self._arrays)
        counts = np.where(counts > 0, np.maximum(counts, self.floors), 0.0)
        # A present edge has at least the floor, whatever rounding of its quantile says.
        present = special.ndtr(scores) > self.empty
        return np.minimum(np.where(present, np.maximum(counts, self.floors), 0.0), self.ceiling)

    def at(self, rows: NDArray[np.intp], columns: NDArray[np.intp]) -> "CountLaw":
        """Return the law of these N counts only, as one row (1, N)."""
        log_rates, dispersions, below, empty = (
            array[rows, columns][None] for array in self._arrays
        )
        return replace(
            self,
            log_rates=log_rates,
            dispersions=dispersions,
            floors=self.floors[rows, 0][None],
            below=below,
            empty=empty,
        )

    def means(self) -> Floats:
        """Return expected counts (n, E)."""
        rates = np.exp(self.log_rates)
        sizes = 1 / self.dispersions
        partial = np.zeros_like(rates)
        highest = int(self.floors.max(initial=1))
        # E[X; X < floor] = rate · P(Y < floor − 1), Y negative binomial with size + 1.
        if highest > 1:
            bigger = rates * (sizes + 1) / sizes
            low = np.maximum(self.floors - 1, 1)
            partial = in_blocks(mass_below, np.broadcast_to(low, rates.shape), bigger, sizes + 1)
            partial = np.where(self.floors > 1, partial, 0.0)
        above = rates * (1 - partial) / (1 - self.below)
        return np.asarray((1 - self.empty) * np.maximum(above, self.floors))

    @property
    def _arrays(self) -> tuple[Floats, Floats, Floats, Floats]:
        return self.log_rates, self.dispersions, self.below, self.empty


def probability_below(log_rates: Floats, dispersions: Floats, floors: Floats | float) -> Floats:
    """Return P(count < floor) of the negative binomial, (n, E)."""
    floors_ = np.broadcast_to(np.asarray(floors, np.float64), log_rates.shape)
    return in_blocks(mass_below, floors_, np.exp(log_rates), 1 / dispersions)


def _over_hurdle(among: Floats, empty: Floats) -> Floats:
    """From scores among present counts to scores among all, without loss in either tail."""
    lower = empty + (1 - empty) * special.ndtr(among)
    upper = (1 - empty) * special.ndtr(-among)
    small = np.maximum(np.minimum(lower, upper), _SMALLEST)
    return np.asarray(np.where(lower < upper, 1.0, -1.0) * special.ndtri(small))


def _after_hurdle(scores: Floats, empty: Floats) -> Floats:
    """From scores among all to scores among present counts; `_over_hurdle` the other way round."""
    lower = (special.ndtr(scores) - empty) / (1 - empty)
    upper = special.ndtr(-scores) / (1 - empty)
    small = np.clip(np.minimum(lower, upper), _SMALLEST, 0.5)
    return np.asarray(np.where(lower < upper, 1.0, -1.0) * special.ndtri(small))
