"""What lies behind a written count of a simulated scan, drawn from its posterior.

A written count has several explanations: how it was rounded, whether the edge was tracked, how many
of its streamlines are false. Their probabilities are computed exactly, and one of them is drawn.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from stillome.arrays import Floats
from stillome.counts.negative_binomial import nb_cdf, nb_pmf, nb_quantile
from stillome.simulate.count_writer import Counts, CountWriter
from stillome.simulate.scanner import FALSE_SHAPE, ScanLaw

TINY = 1e-12
_IGNORED = 1e-6  # probability of more false streamlines than are considered behind a zero

Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Causes:
    """What lies behind written counts; arrays of one shape."""

    tracked: Flags
    kept: Counts  # true streamlines that were not lost, where tracked
    rounding: Floats


def draw_causes(
    written: Counts, law: ScanLaw, survival: Floats, writer: CountWriter, rng: np.random.Generator
) -> Causes:
    """Draw the cause of every count (n, E), given the survival of streamlines in these scans."""
    tracked, kept = np.ones(written.shape, dtype=bool), written.copy()
    rounding = rng.random(written.shape)
    # Elsewhere the count is certainly the number of true streamlines.
    open_ = (written <= writer.largest_rounded) | (law.false > 0)
    smallest = np.broadcast_to(writer.smallest_written(written), written.shape)
    shapes = np.broadcast_to(law.shapes, written.shape)
    edges = _Edges(
        written[open_],
        smallest[open_],
        np.maximum(law.rates * survival, TINY)[open_],
        shapes[open_],
        special.ndtr(law.empty)[open_],
        law.false[open_],
    )
    tracked[open_], kept[open_], rounding[open_] = edges.draw(writer, rng)
    return Causes(tracked, kept, rounding)


@dataclass(frozen=True, eq=False)
class _Edges:
    """Edges whose counts have several explanations; all arrays have the shape (m,)."""

    written: Counts
    smallest: Counts
    mean: Floats  # of true streamlines that were not lost
    shapes: Floats
    empty: Floats  # probability that the edge is not tracked
    false: Floats  # expected false streamlines

    def draw(self, writer: CountWriter, rng: np.random.Generator) -> tuple[Flags, Counts, Floats]:
        """Draw whether edges were tracked, their true streamlines, and the rounding."""
        best, tracked = np.zeros(len(self.mean)), np.ones(len(self.mean), dtype=bool)
        low, high = self.written.copy(), self.written.copy()
        rounding = np.full(len(self.mean), 0.5)
        for probability, value in writer.roundings:
            lowest, highest = writer.raw_range(self.written, self.smallest, value)
            possible = np.flatnonzero(lowest <= highest)
            for is_tracked in (True, False):
                edge, false = self._explanations(possible, highest, is_tracked)
                low_, high_ = lowest[edge] - false, highest[edge] - false
                weight = self._weight(edge, false, low_, high_, is_tracked)
                # Exponential race: the largest weight ÷ exponential wins, in proportion to weight.
                score = probability * weight / rng.standard_exponential(len(edge))
                np.maximum.at(best, edge, score)
                won = (score == best[edge]) & (score > 0)
                winner = edge[won]
                tracked[winner], rounding[winner] = is_tracked, value
                low[winner], high[winner] = low_[won], high_[won]
        return tracked, self._kept(low, high, rng), rounding

    def _explanations(
        self, possible: NDArray[np.intp], highest: Counts, is_tracked: bool
    ) -> tuple[NDArray[np.intp], Counts]:
        """Return edges, each as often as numbers of false streamlines are possible, and these."""
        if not is_tracked:  # all are false
            return possible, np.zeros(len(possible), dtype=np.int64)
        false = self.false[possible]
        ratio = np.maximum(false, TINY) / (false + FALSE_SHAPE)
        most = np.where(self.written[possible] == 0, np.log(_IGNORED) / np.log(ratio), np.inf)
        most = np.minimum(highest[possible], np.where(false > 0, np.ceil(most), 0))
        times = most.astype(np.int64) + 1
        first = np.cumsum(times) - times
        edge = np.repeat(possible, times)
        return edge, np.arange(len(edge)) - np.repeat(first, times)

    def _weight(
        self, edge: NDArray[np.intp], false: Counts, low: Counts, high: Counts, is_tracked: bool
    ) -> Floats:
        expected, some = self.false[edge], self.false[edge] > 0
        if is_tracked:
            weight = 1 - self.empty[edge]
            weight *= _mass(low, high, self.mean[edge], self.shapes[edge])
            weight[some] *= nb_pmf(false[some], expected[some], FALSE_SHAPE)
            return np.asarray(weight)
        weight = np.where(low == 0, self.empty[edge], 0.0)
        chance = _mass(low[some], high[some], expected[some], np.full(some.sum(), FALSE_SHAPE))
        weight[some] = self.empty[edge][some] * chance
        return weight

    def _kept(self, low: Counts, high: Counts, rng: np.random.Generator) -> Counts:
        """Draw true streamlines between bounds."""
        position = rng.random(len(low))
        kept = high.copy()
        below = (low <= 0) & (high > 0)
        limit = nb_cdf(high[below], self.mean[below], self.shapes[below])
        drawn = nb_quantile(position[below] * limit, self.mean[below], self.shapes[below])
        kept[below] = np.minimum(drawn, high[below])
        two = (low > 0) & (low < high)
        lower = nb_pmf(low[two], self.mean[two], self.shapes[two])
        upper = nb_pmf(high[two], self.mean[two], self.shapes[two])
        kept[two] = np.where(position[two] * (lower + upper) < lower, low[two], high[two])
        return kept


def _mass(low: Counts, high: Counts, mean: Floats, size: Floats) -> Floats:
    """Return P(low ≤ X ≤ high); above 0, high is low or low + 1."""
    mass = np.empty(len(low))
    below = low <= 0
    mass[below] = nb_cdf(high[below], mean[below], size[below])
    above, two = ~below, ~below & (low < high)
    mass[above] = nb_pmf(low[above], mean[above], size[above])
    mass[two] += nb_pmf(high[two], mean[two], size[two])
    return mass
