"""The oracle of simulated scans: draws the scan without the nuisance from its posterior.

The cause of every written count is drawn first (`scan_causes`), then the streamlines that were
lost. Edges are independent given the subject, so that the draw is exact. Only where the survival
varies between scans is it the end of a short Gibbs sampler: totals are then 0.1 % too low.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from stillome.arrays import Floats
from stillome.simulate.count_writer import Counts, CountWriter
from stillome.simulate.scan_causes import TINY, Causes, draw_causes
from stillome.simulate.scanner import ScanLaw, ScannedPeople, Scanner, subject_blocks

# Where the survival varies between scans: steps of a Gibbs sampler, and candidates of each step.
_STEPS, _CANDIDATES = 3, 24


@dataclass(frozen=True, eq=False)
class ScanOracle:
    """Known are the population, the nuisance and every subject; not the noise of a scan."""

    scanner: Scanner
    people: ScannedPeople

    def draw(self, observed: NDArray[Any], rng: np.random.Generator) -> Counts:
        """Draw motion-free edges (n, E) given the observed ones (n, E)."""
        drawn = np.empty(observed.shape, dtype=np.int64)
        for rows in subject_blocks(len(observed)):
            law = self.scanner.law(self.people.part(rows))
            counts = observed[rows].astype(np.int64)
            drawn[rows] = _unscanned(counts, law, self.scanner.writer, rng)
        return drawn


def _unscanned(
    written: Counts, law: ScanLaw, writer: CountWriter, rng: np.random.Generator
) -> Counts:
    survival = law.scan_survival(rng)
    causes = draw_causes(written, law, survival, writer, rng)
    if law.dispersion.any():
        for _ in range(_STEPS):
            survival = _draw_survival(survival, causes, law, rng)
            causes = draw_causes(written, law, survival, writer, rng)
    mean = law.rates * survival
    unseen = rng.poisson(rng.standard_gamma(law.shapes, mean.shape) / law.shapes * mean)
    kept = np.where(causes.tracked, causes.kept, unseen)
    # Given the survivors, the gamma factor has shape + kept; lost streamlines are Poisson given it.
    scale = law.rates * (1 - survival) / (law.shapes + mean)
    streamlines = kept + rng.poisson(rng.standard_gamma(law.shapes + kept) * scale)
    tracked, tracked_free = special.ndtr(-law.empty), special.ndtr(-law.empty_free)
    chance = np.where(
        causes.tracked,
        tracked_free / np.maximum(tracked, TINY),
        (tracked_free - tracked) / np.maximum(1 - tracked, TINY),
    )
    stays = rng.random(mean.shape) < chance
    return writer.write(np.where(stays, streamlines, 0), causes.rounding)


def _draw_survival(
    survival: Floats, causes: Causes, law: ScanLaw, rng: np.random.Generator
) -> Floats:
    """Choose among the present survival and candidates from its prior, by likelihood."""

    def likelihood(candidate: Floats) -> Floats:
        # Of a negative binomial count, relative to that at the mean which fits it best.
        mean = np.maximum(law.rates * candidate, TINY)
        rise = special.xlogy(kept, mean / np.maximum(kept, 1))
        fall = (kept + law.shapes) * np.log((mean + law.shapes) / (kept + law.shapes))
        return np.where(causes.tracked, np.exp(rise - fall), 1.0)

    kept = causes.kept
    total, chosen = likelihood(survival), survival
    for _ in range(_CANDIDATES):
        candidate = law.scan_survival(rng)
        weight = likelihood(candidate)
        total = total + weight
        chosen = np.where(rng.random(total.shape) * total < weight, candidate, chosen)
    return chosen
