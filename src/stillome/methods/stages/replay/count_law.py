"""The law of a subject's counts at one motion: empty, or negative binomial above a floor.

    P(A_e = 0) = π_e,   A_e | A_e > 0 ~ NB(rate_e, φ_e) given A_e ≥ floor, calibrated by rate

A hurdle model (Mullahy 1986). Where π is the negative binomial's own probability of a count below
the floor, this is the negative binomial with small counts written as 0.
"""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from stillome.arrays import AnyFloats, Floats
from stillome.counts.blocks import in_blocks
from stillome.counts.floors import counts_above, mass_below, scores_above
from stillome.methods.stages.replay.calibration import Calibration
from stillome.methods.stages.replay.small_values import N_VALUES, SmallValues

_SMALLEST, _LARGEST = 1e-300, 1 - 1e-16
_SURPRISE = 60.0  # −log of a probability that is as good as 0


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
    small : SmallValues
        Of the values just above the floor.
    ceiling : float
    """

    log_rates: Floats
    dispersions: Floats
    floors: Floats
    below: Floats
    empty: Floats
    calibration: Calibration
    small: SmallValues
    ceiling: float = np.inf

    @classmethod
    def negative_binomial(
        cls, log_rates: Floats, dispersions: Floats, floors: Floats | float = 1.0
    ) -> "CountLaw":
        """Return the law without a hurdle: counts below the floor are written as 0."""
        below = probability_below(log_rates, dispersions, floors)
        floors_ = np.broadcast_to(np.asarray(floors, np.float64), (len(log_rates), 1))
        return cls(
            log_rates,
            dispersions,
            floors_,
            below,
            below,
            Calibration.none(),
            SmallValues.none(),
        )

    def scores(self, counts: NDArray[Any], positions: Floats) -> Floats:
        """Return the positions of counts (n, E) in the law as normal scores, (n, E).

        Standard normal if the counts follow the law and `positions`, where each count sits within
        its step, are uniform.
        """

        def block(k: Floats, share: Floats, *arrays: Floats) -> Floats:
            some = np.flatnonzero(k > 0)
            scores = special.ndtri(np.maximum(arrays[-1] * (1 - share), _SMALLEST))
            cells = _Cells(*(array[some] for array in arrays))
            among = self._scores_among(k[some], share[some], cells)
            scores[some] = _over_hurdle(among, cells.empty)
            return np.asarray(scores)

        k = np.where(counts > 0, np.maximum(counts, self.floors), 0).astype(np.float64)
        return in_blocks(block, k, positions, *self._arrays)

    def _scores_among(self, k: Floats, share: Floats, cells: "_Cells") -> Floats:
        """Return calibrated scores among present counts."""
        capped = np.where(k >= self.ceiling, 1.0, 0.0)
        mean, size = np.exp(cells.log_rate), 1 / cells.phi
        scores = np.empty(len(k))
        large = np.flatnonzero(k >= cells.floor + N_VALUES)
        among = scores_above(
            k[large], cells.below[large], mean[large], size[large], share[large], capped[large]
        )
        scores[large] = self.calibration.true_scores(among, cells.log_rate[large])
        few = np.flatnonzero(k < cells.floor + N_VALUES)
        small = _Cells(*(array[few] for array in cells))
        cumulative = self.small.cumulative(small.floor, small.log_rate, 1 / small.phi)
        at = (k[few] - small.floor).astype(np.intp)
        rows = np.arange(len(few))
        top, bottom = cumulative[rows, at + 1], cumulative[rows, at]
        level = top - share[few] * (top - bottom)
        reached = np.maximum(level * special.ndtr(self._top_of_small(small)), _SMALLEST)
        scores[few] = special.ndtri(np.minimum(reached, _LARGEST))
        return scores

    def _top_of_small(self, cells: "_Cells") -> Floats:
        """Return the score among present counts up to which they are small values."""
        last, none = cells.floor + (N_VALUES - 1), np.zeros(len(cells.floor))
        mean, size = np.exp(cells.log_rate), 1 / cells.phi
        among = scores_above(last, cells.below, mean, size, none, none)
        return self.calibration.true_scores(among, cells.log_rate)

    def scores_if_present(self, counts: NDArray[Any], positions: Floats) -> Floats:
        """Return uncalibrated scores among counts that are present, from which to calibrate."""

        def block(k: Floats, share: Floats, *arrays: Floats) -> Floats:
            cells, none = _Cells(*arrays), np.zeros(len(k))
            mean, size = np.exp(cells.log_rate), 1 / cells.phi
            return scores_above(k, cells.below, mean, size, share, none)

        return in_blocks(
            block, np.maximum(counts, self.floors).astype(np.float64), positions, *self._arrays
        )

    def counts_at(self, scores: Floats) -> Floats:
        """Return the counts (n, E) at these normal scores (n, E)."""

        def block(score: Floats, *arrays: Floats) -> Floats:
            counts = np.zeros(len(score))
            some = np.flatnonzero(special.ndtr(score) > arrays[-1])
            cells = _Cells(*(array[some] for array in arrays))
            counts[some] = self._counts_among(_after_hurdle(score[some], cells.empty), cells)
            return counts

        return np.minimum(in_blocks(block, scores, *self._arrays), self.ceiling)

    def _counts_among(self, among: Floats, cells: "_Cells") -> Floats:
        """Return present counts at calibrated scores."""
        expected = self.calibration.expected_scores(among, cells.log_rate)
        counts = counts_above(expected, cells.below, np.exp(cells.log_rate), 1 / cells.phi)
        few = np.flatnonzero(counts < cells.floor + N_VALUES)
        small = _Cells(*(array[few] for array in cells))
        cumulative = self.small.cumulative(small.floor, small.log_rate, 1 / small.phi)
        whole = np.maximum(special.ndtr(self._top_of_small(small)), _SMALLEST)
        level = special.ndtr(among[few]) / whole
        counts[few] = small.floor + (cumulative[:, 1:-1] < level[:, None]).sum(axis=1)
        return counts

    def at(self, rows: NDArray[np.intp], columns: NDArray[np.intp]) -> "CountLaw":
        """Return the law of these N counts only, as one row (1, N)."""
        log_rates, dispersions, floors, below, empty = (
            array[rows, columns][None] for array in self._arrays
        )
        return replace(
            self,
            log_rates=log_rates,
            dispersions=dispersions,
            floors=floors,
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
    def _arrays(self) -> tuple[Floats, ...]:
        """Return all arrays (n, E), in the order of `_Cells`."""
        floors = np.broadcast_to(self.floors, self.log_rates.shape)
        return self.log_rates, self.dispersions, floors, self.below, self.empty


class _Cells(NamedTuple):
    """The law of some counts; flat arrays of the same length."""

    log_rate: Floats
    phi: Floats
    floor: Floats
    below: Floats
    empty: Floats


def probability_below(log_rates: Floats, dispersions: Floats, floors: Floats | float) -> Floats:
    """Return P(count < floor) of the negative binomial, (n, E)."""
    floors_ = np.broadcast_to(np.asarray(floors, np.float64), log_rates.shape)
    return in_blocks(mass_below, floors_, np.exp(log_rates), 1 / dispersions)


def logits_below(log_rates: AnyFloats, dispersions: AnyFloats, floors: Floats) -> AnyFloats:
    """Return log(P / (1 − P)) of the same P, (n, E).

    At a floor of 1 in the precision of the rates: log P(0) = −log(1 + φ rate) / φ loses no digits.
    """
    if floors.max(initial=1) > 1:
        # Next to 1, single precision would have no digits of a probability.
        double = log_rates.astype(np.float64), dispersions.astype(np.float64)
        return np.asarray(special.logit(probability_below(*double, floors)))
    found = np.exp(log_rates)
    found *= dispersions
    np.log1p(found, out=found)
    found /= dispersions
    np.minimum(found, _SURPRISE, out=found)
    np.log(np.expm1(found, out=found), out=found)
    return np.negative(found, out=found)


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
