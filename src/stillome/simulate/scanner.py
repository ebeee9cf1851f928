"""The scanner of simulated subjects: draws the same scan with and without the nuisance."""

from dataclasses import dataclass

import numpy as np

from stillome.arrays import Floats
from stillome.simulate.count_writer import Counts, CountWriter
from stillome.simulate.nuisances import Nuisance
from stillome.simulate.scan_population import ScanPopulation

FALSE_SHAPE = 0.5  # of the gamma factor of false streamlines: few edges get many
_BLOCK_SUBJECTS = 64
_SUSCEPTIBILITY_SD = 0.2  # of the logarithm of a subject's dose


@dataclass(frozen=True, eq=False)
class ScannedPeople:
    """What the generator knows of subjects: everything except the noise of their scans."""

    factors: Floats  # (n, K)
    presence: Floats  # (n, H)
    values: Floats  # (n,), the nuisance

    def part(self, rows: slice) -> "ScannedPeople":
        """Return some of the subjects."""
        return ScannedPeople(self.factors[rows], self.presence[rows], self.values[rows])


@dataclass(frozen=True, eq=False)
class ScanLaw:
    """Parameters of the scans of some subjects; each broadcasts to (n, E)."""

    rates: Floats  # expected streamlines without the nuisance
    shapes: Floats  # of the gamma factor of the rate
    survival: Floats  # expected share of streamlines that the nuisance leaves
    dispersion: Floats  # of that share between scans; 0 if it is the same in all
    empty_free: Floats  # probit of an edge that is not tracked, without the nuisance
    empty: Floats  # and with it
    false: Floats  # expected false streamlines

    def scan_survival(self, rng: np.random.Generator) -> Floats:
        """Draw the share of streamlines that is left in one scan: beta around its expectation."""
        if not self.dispersion.any():
            return self.survival
        inside = np.clip(self.survival, 1e-6, 1 - 1e-6)
        return rng.beta(inside / self.dispersion, (1 - inside) / self.dispersion)


@dataclass(frozen=True, eq=False)
class Scanner:
    """Draws scans of subjects of a population, with and without a nuisance."""

    population: ScanPopulation
    nuisance: Nuisance
    writer: CountWriter

    def law(self, people: ScannedPeople) -> ScanLaw:
        """Return the parameters of the scans of some subjects."""
        truth, nuisance = self.population, self.nuisance
        dose = nuisance.dose(people.values)[:, None]
        # Individual differences in susceptibility, through a factor that also acts on the counts.
        susceptible = dose * np.exp(_SUSCEPTIBILITY_SD * people.factors[:, 3:4])
        empty = truth.empty + people.presence @ truth.empty_loadings
        return ScanLaw(
            rates=np.exp(truth.log_means + people.factors @ truth.loadings),
            shapes=truth.shapes,
            survival=np.exp(-susceptible * truth.losses),
            # The variance of the survival grows with the dose; a beta variable needs some.
            dispersion=nuisance.noise * np.maximum(dose, 1e-3),
            empty_free=empty,
            empty=empty + dose * truth.empty_slopes * nuisance.loses_edges,
            false=dose * truth.spurious * nuisance.adds_edges,
        )

    def scan(self, people: ScannedPeople, rng: np.random.Generator) -> tuple[Counts, Counts]:
        """Return observed and motion-free edges (n, E) of the same streamlines."""
        law = self.law(people)
        intensity = rng.standard_gamma(law.shapes, law.rates.shape) / law.shapes * law.rates
        lottery = rng.standard_normal(law.rates.shape)
        streamlines = rng.poisson(intensity)
        kept = rng.binomial(streamlines, law.scan_survival(rng))
        false = rng.poisson(law.false / FALSE_SHAPE * rng.standard_gamma(FALSE_SHAPE, kept.shape))
        rounding = rng.random(kept.shape)
        observed = self.writer.write(np.where(lottery > law.empty, kept, 0) + false, rounding)
        free = self.writer.write(np.where(lottery > law.empty_free, streamlines, 0), rounding)
        return observed, free


def subject_blocks(n_subjects: int) -> list[slice]:
    """Return slices of subjects, small enough to hold many arrays of their edges."""
    return [slice(i, i + _BLOCK_SUBJECTS) for i in range(0, n_subjects, _BLOCK_SUBJECTS)]
