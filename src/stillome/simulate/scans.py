"""Cohorts as tractography pipelines write them: the second family of simulated cohorts.

Different in making from `simulate_cohort`: streamlines of a Poisson process with heavy-tailed
gamma intensities, edges that are not tracked at all (zero inflation with dependence across edges),
a floor below which the pipeline writes 0, and nuisances that act on all of these.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import special

from stillome.arrays import Floats
from stillome.cohort.cohort import Cohort
from stillome.cohort.edges import edges_to_matrices
from stillome.cohort.validation import check_count, check_random_state
from stillome.counts.negative_binomial import nb_pmf
from stillome.exceptions import InputError
from stillome.simulate.desikan_killiany import load_desikan_killiany
from stillome.simulate.scan_population import (
    N_FACTORS,
    N_PRESENCE_FACTORS,
    ScanPopulation,
    draw_scan_population,
)
from stillome.simulate.simulated_cohort import (
    RandomState,
    SimulatedCohort,
    check_choice,
    numbered_ids,
)

Counts = NDArray[np.int64]

_BLOCK_SUBJECTS = 64
_PROPOSALS = 24
_EXPLAINED = 0.3
# What the reference pipeline does to small counts: 1.8 times as many 3s as 4s, more 6s than 5s.
_ROUNDED_UP_TO_FLOOR, _FIVE_TO_SIX = 0.42, 0.15


@dataclass(frozen=True)
class Nuisance:
    """One nuisance variable and how it acts.

    Attributes
    ----------
    meaning : str
    column : str
        Its name in ``cohort.motion``.
    draw : callable
        From a generator and n to values (n,).
    dose : callable
        From values to the dose that multiplies every effect.
    noise : float
        How much the survival of streamlines varies between scans, per unit of dose: discarded
        volumes.
    """

    meaning: str
    column: str
    draw: Callable[[np.random.Generator, int], Floats]
    dose: Callable[[Floats], Floats]
    noise: float = 0.0


def _millimetres(rng: np.random.Generator, n: int) -> Floats:
    return np.asarray(0.35 * np.exp(0.55 * rng.standard_normal(n)))


def _some(share: float) -> Callable[[np.random.Generator, int], Floats]:
    return lambda rng, n: (rng.random(n) < share).astype(np.float64)


NUISANCES: dict[str, Nuisance] = {
    "motion": Nuisance(
        "head motion in mm: streamlines lost, edges lost, false short edges",
        "rms_mm",
        _millimetres,
        lambda c: c,
    ),
    "lost-volumes": Nuisance(
        "head motion in mm that also adds noise: volumes were discarded",
        "rms_mm",
        _millimetres,
        lambda c: c,
        noise=0.3,
    ),
    "incomplete": Nuisance(
        "1 for the 9 % of scans that were not completed, else 0",
        "incomplete",
        _some(0.09),
        lambda c: 0.15 * c,
    ),
    "late": Nuisance(
        "1 for the 47 % of scans after a change of the protocol, else 0",
        "late",
        _some(0.47),
        lambda c: 0.07 * c,
    ),
}


@dataclass(frozen=True, eq=False)
class _People:
    """Everything about subjects that the generator knows, except for the noise of their scans."""

    factors: Floats  # (n, K)
    presence: Floats  # (n, H)
    values: Floats  # (n,), the nuisance

    def part(self, rows: slice) -> "_People":
        return _People(self.factors[rows], self.presence[rows], self.values[rows])


@dataclass(frozen=True, eq=False)
class _Scanner:
    """Draws scans of people with and without the nuisance; and the way back, as an oracle."""

    population: ScanPopulation
    nuisance: Nuisance
    people: _People
    floor: int

    def scan(self, people: _People, rng: np.random.Generator) -> tuple[Counts, Counts]:
        """Return observed and motion-free edges (n, E) of the same streamlines."""
        truth = self.population
        rates, survival, dose = self._rates(people)
        intensity = rng.standard_gamma(truth.shapes, rates.shape) / truth.shapes * rates
        lottery = rng.standard_normal(rates.shape)
        tracked_free = lottery > self._empty(people)
        tracked = lottery > self._empty(people) + dose * truth.empty_slopes
        streamlines = rng.poisson(intensity)
        kept = rng.binomial(streamlines, self._noisy(survival, dose, rng))
        false = rng.poisson(dose * truth.spurious * 2 * rng.standard_gamma(0.5, rates.shape))
        rounding = rng.random(rates.shape)
        observed = self.written(np.where(tracked, kept, 0) + false, rounding)
        return observed, self.written(np.where(tracked_free, streamlines, 0), rounding)

    def written(self, counts: NDArray[np.int64], rounding: Floats) -> Counts:
        """Return counts as the pipeline writes them: none below the floor, some rounded up."""
        if self.floor < 2:
            return counts
        below = (counts == self.floor - 1) & (rounding < _ROUNDED_UP_TO_FLOOR)
        six = (counts == 5) & (rounding < _FIVE_TO_SIX) & (self.floor <= 5)
        counts = np.where(below, self.floor, np.where(six, 6, counts))
        return np.where(counts < self.floor, 0, counts)

    def draw(self, observed: NDArray[np.int64], rng: np.random.Generator) -> Counts:
        """Draw motion-free edges given observed ones (the `Oracle` of the cohort)."""
        drawn = np.empty(observed.shape, dtype=np.int64)
        for rows in _blocks(len(observed)):
            drawn[rows] = self._draw_block(observed[rows], self.people.part(rows), rng)
        return drawn

    def _draw_block(
        self, observed: NDArray[np.int64], people: _People, rng: np.random.Generator
    ) -> Counts:
        """Add lost streamlines to what is there; redraw empty and false edges."""
        truth = self.population
        rates, survival, dose = self._rates(people)
        survival = self._likely_survival(observed, rates, survival, dose, rng)
        scale = rates * (1 - survival) / (truth.shapes + rates * survival)
        lost = rng.poisson(rng.standard_gamma(truth.shapes + observed) * scale)
        free = special.ndtr(-self._empty(people))
        here = special.ndtr(-(self._empty(people) + dose * truth.empty_slopes))
        stays = rng.random(rates.shape) < free / np.maximum(here, 1e-12)
        regrown = self.written(np.where(stays, observed + lost, 0), rng.random(rates.shape))
        # A small count may consist of false streamlines only; nothing is known of the edge then.
        false = nb_pmf(observed, np.maximum(dose * truth.spurious, 1e-12), 0.5)
        true = here * nb_pmf(observed, rates * survival, truth.shapes)
        true *= nb_pmf(0, np.maximum(dose * truth.spurious, 1e-12), 0.5)
        false *= 1 - here + here * nb_pmf(0, rates * survival, truth.shapes)
        open_ = (observed == 0) | (rng.random(rates.shape) * (true + false) < false)
        answer = np.where(open_, 0, regrown)
        for _ in range(_PROPOSALS):
            seen, unseen = self.scan(people, rng)
            accepted = open_ & (seen == 0)
            answer[accepted] = unseen[accepted]
            open_ &= ~accepted
            if not open_.any():
                break
        return answer

    def _noisy(self, survival: Floats, dose: Floats, rng: np.random.Generator) -> Floats:
        """Draw the survival of each scan's streamlines: beta around its expectation."""
        if not self.nuisance.noise:
            return survival
        # The variance grows with the dose; without a dose nothing is lost.
        concentration = 1 / (self.nuisance.noise * np.maximum(dose, 1e-3))
        inside = np.clip(survival, 1e-6, 1 - 1e-6)
        return rng.beta(inside * concentration, (1 - inside) * concentration)

    def _likely_survival(
        self,
        observed: NDArray[np.int64],
        rates: Floats,
        survival: Floats,
        dose: Floats,
        rng: np.random.Generator,
    ) -> Floats:
        """Draw survivals given the counts, by sampling importance resampling."""
        if not self.nuisance.noise:
            return survival
        total, chosen = np.zeros(rates.shape), survival
        for _ in range(_PROPOSALS):
            proposal = np.maximum(self._noisy(survival, dose, rng), 1e-9)
            weight = nb_pmf(observed, rates * proposal, self.population.shapes)
            total += weight
            chosen = np.where(rng.random(rates.shape) * total < weight, proposal, chosen)
        return chosen

    def _rates(self, people: _People) -> tuple[Floats, Floats, Floats]:
        truth = self.population
        rates = np.exp(truth.log_means + people.factors @ truth.loadings)
        dose = self.nuisance.dose(people.values)[:, None]
        # Individual differences in susceptibility, through a factor that also shapes the brain.
        susceptible = dose * np.exp(0.2 * people.factors[:, 3:4])
        return rates, np.exp(-susceptible * truth.losses), dose

    def _empty(self, people: _People) -> Floats:
        return np.asarray(self.population.empty + people.presence @ self.population.empty_loadings)


def simulate_scans(
    n_subjects: int = 1065,
    nuisance: str = "motion",
    *,
    floor: int = 3,
    n_traits: int = 5,
    random_state: RandomState = 0,
) -> SimulatedCohort:
    """Simulate connectomes as a real pipeline writes them, with a nuisance in them.

    The second family of simulated cohorts. Counts have heavy tails, 48 % zeros that go together
    within a person, no value between 0 and the floor, and an excess of the floor itself. The
    nuisance removes streamlines (more on long and frontal edges), removes whole edges by a pattern
    of its own, and adds false short ones. The motion-free network is the same streamlines before
    any was lost.

    Parameters
    ----------
    n_subjects : int, default=1065
    nuisance : str, default="motion"
        "motion", "lost-volumes" (motion that also adds noise), "incomplete" (binary, 9 %) or
        "late" (binary, 47 %).
    floor : int, default=3
        The smallest count that is written; 1 for pipelines without a floor.
    n_traits : int, default=5
        Traits ``trait_1``, ... with mean 0 and variance 1, of which the factors explain 30 %.
    random_state : int, numpy.random.Generator or None, default=0
        Population and subjects come from separate streams.

    Returns
    -------
    SimulatedCohort
        ``cohort.motion`` has one column, the nuisance.

    Examples
    --------
    >>> simulated = simulate_scans(20, random_state=3)
    >>> int(simulated.X[simulated.X > 0].min())
    3
    """
    n_subjects = check_count(n_subjects, "n_subjects", minimum=1)
    n_traits = check_count(n_traits, "n_traits", minimum=1)
    floor = check_count(floor, "floor", minimum=1)
    chosen = NUISANCES[check_choice(nuisance, "nuisance", tuple(NUISANCES))]
    for_population, for_people, for_scans = check_random_state(random_state).spawn(3)
    regions = load_desikan_killiany()
    population = draw_scan_population(regions, n_traits, for_population)
    people = _People(
        for_people.standard_normal((n_subjects, N_FACTORS)),
        for_people.standard_normal((n_subjects, N_PRESENCE_FACTORS)),
        chosen.draw(for_people, n_subjects),
    )
    if n_subjects > 1 and (people.values == people.values[0]).all():
        raise InputError(f"n_subjects={n_subjects}: too few for nuisance={nuisance!r} to vary.")
    scanner = _Scanner(population, chosen, people, floor)
    observed = np.empty((n_subjects, len(population.lengths)), dtype=np.int32)
    free = np.empty_like(observed)
    for rows in _blocks(n_subjects):
        observed[rows], free[rows] = scanner.scan(people.part(rows), for_scans)
    explained = np.full(n_traits, _EXPLAINED)
    cohort = Cohort(
        subject_ids=numbered_ids(n_subjects),
        connectomes=edges_to_matrices(observed),
        motion=pd.DataFrame({chosen.column: people.values}),
        traits=_traits(people.factors @ population.trait_weights.T, for_people),
        regions=regions,
        lengths=edges_to_matrices(population.lengths),
    )
    names = list(cohort.traits.columns)
    return SimulatedCohort(
        cohort,
        edges_to_matrices(free),
        scanner,
        (chosen.column,),
        people.factors,
        pd.Series(explained, index=names, name="explained"),
    )


def _traits(scores: Floats, rng: np.random.Generator) -> pd.DataFrame:
    values = np.sqrt(_EXPLAINED) * scores
    values += np.sqrt(1 - _EXPLAINED) * rng.standard_normal(scores.shape)
    return pd.DataFrame(values, columns=[f"trait_{i + 1}" for i in range(scores.shape[1])])


def _blocks(n_subjects: int) -> list[slice]:
    return [slice(i, i + _BLOCK_SUBJECTS) for i in range(0, n_subjects, _BLOCK_SUBJECTS)]
