"""Longitudinal cohorts: people age between visits, and move less the older they are.

Some edges change with age, others do not; the motion of a visit is partly that of the person.
Whoever takes the effect of motion for an effect of age finds edges that grow where none does.
"""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from stillome.arrays import Floats
from stillome.cohort.cohort import Cohort
from stillome.cohort.edges import edges_to_matrices
from stillome.cohort.scan_ids import scan_id
from stillome.cohort.validation import check_count, check_random_state, check_share
from stillome.exceptions import InputError
from stillome.simulate.desikan_killiany import load_desikan_killiany
from stillome.simulate.population import MOTION_LAWS, N_LATENTS, Population, draw_population
from stillome.simulate.realistic import RateOracle, draw_scans
from stillome.simulate.regimes import REGIMES, Rates, Regime
from stillome.simulate.simulated_cohort import (
    RandomState,
    SimulatedCohort,
    check_choice,
    numbered_ids,
)

_FIRST_AGE = (9.0, 11.0)  # years, as at the baseline of the ABCD study
_BETWEEN_VISITS = 2.0  # years
_LOG_MOTION_PER_YEAR = -0.15
_OWN_MOTION = 0.5  # share of the variance of log motion that a person has at every visit
_AGEING_SD = 0.04  # of the change of a log rate per year, over the edges that change


@dataclass(frozen=True, eq=False)
class _AgeingPopulation(Population):
    """A population whose latents have one more column: the age in years from the mean.

    Attributes
    ----------
    ageing : array of shape (E,)
        Change of the log expected count per year.
    """

    ageing: Floats = None  # type: ignore[assignment]  # fields of the base have defaults

    def rates(self, regime: Regime, latents: Floats, motion: Floats) -> Rates:
        """Return expected counts and dispersions of some scans."""
        rates = super().rates(regime, latents[:, :-1], motion)
        return replace(rates, free=rates.free * np.exp(latents[:, -1:] * self.ageing))


@dataclass(frozen=True, eq=False)
class SimulatedVisits(SimulatedCohort):
    """A cohort of scans of people, with the motion-free network of every scan.

    Attributes
    ----------
    ageing : array of shape (E,)
        Change of the log expected count per year; 0 for edges that do not age.

    Examples
    --------
    >>> simulated = simulate_visits(5, 2, random_state=0)
    >>> simulated.cohort.people[:3], simulated.ageing.shape
    (['sub-0001', 'sub-0001', 'sub-0002'], (2278,))
    """

    ageing: Floats = None  # type: ignore[assignment]  # fields of the base have defaults


def simulate_visits(
    n_people: int = 200,
    n_visits: int = 2,
    regime: str = "thinning",
    *,
    ageing_share: float = 0.3,
    motion_cost: float = 0.28,
    random_state: RandomState = 0,
) -> SimulatedVisits:
    """Simulate people who are scanned several times while they grow up.

    Parameters
    ----------
    n_people : int, default=200
    n_visits : int, default=2
        Two years apart; people are 9 to 11 years old at the first.
    regime : str, default="thinning"
        What motion does; see `simulate_cohort`.
    ageing_share : float, default=0.3
        Share of edges that change with age, above 0 and below 1.
    motion_cost : float, default=0.28
        As in `simulate_cohort`.
    random_state : int, numpy.random.Generator or None, default=0

    Returns
    -------
    SimulatedVisits
        ``cohort`` has ids ``0001_ses-1``, the trait ``age`` (years) and the motion ``rms_mm``.
        Motion falls with age.

    Examples
    --------
    >>> simulated = simulate_visits(20, random_state=0)
    >>> simulated.cohort.subject_ids[:2], simulated.X.shape
    (('sub-0001_ses-1', 'sub-0001_ses-2'), (40, 2278))
    >>> round(float((simulated.ageing != 0).mean()), 1)
    0.3
    """
    n_people = check_count(n_people, "n_people", minimum=1)
    n_visits = check_count(n_visits, "n_visits", minimum=1)
    chosen = REGIMES[check_choice(regime, "regime", tuple(REGIMES))]
    share = check_share(ageing_share, "ageing_share")
    if chosen.confounded:
        raise InputError(f"regime={regime!r}: visits have an age instead; choose another.")
    law = MOTION_LAWS["abcd"]
    for_population, for_people, for_scans = check_random_state(random_state).spawn(3)
    regions = load_desikan_killiany()
    base = draw_population(regions, chosen, law, motion_cost, for_population)
    changes = for_population.random(len(base.lengths)) < share
    slopes = np.where(changes, for_population.normal(0.0, _AGEING_SD, len(changes)), 0.0)
    population = _AgeingPopulation(**vars(base), ageing=slopes)
    person = np.repeat(np.arange(n_people), n_visits)
    first = for_people.uniform(*_FIRST_AGE, n_people)[person]
    age = first + _BETWEEN_VISITS * np.tile(np.arange(n_visits), n_people)
    own, of_visit = (for_people.standard_normal(n) for n in (n_people, len(person)))
    score = np.sqrt(_OWN_MOTION) * own[person] + np.sqrt(1 - _OWN_MOTION) * of_visit
    years = age - np.mean(_FIRST_AGE) - _BETWEEN_VISITS * (n_visits - 1) / 2
    moved = law.median_mm * np.exp(law.log_sd * score + _LOG_MOTION_PER_YEAR * years)
    latents = for_people.standard_normal((n_people, N_LATENTS))[person]
    oracle = RateOracle(population, chosen, np.column_stack([latents, years]), moved)
    observed, motion_free = draw_scans(oracle, len(regions), for_scans)
    names = numbered_ids(n_people)
    visits = np.tile(np.arange(1, n_visits + 1), n_people)
    cohort = Cohort(
        subject_ids=[scan_id(names[p], str(v)) for p, v in zip(person, visits, strict=True)],
        connectomes=observed,
        motion=pd.DataFrame({"rms_mm": moved}),
        traits=pd.DataFrame({"age": age}),
        regions=regions,
        lengths=edges_to_matrices(population.lengths),
    )
    return SimulatedVisits(cohort, motion_free, oracle, ("rms_mm",), latents, ageing=slopes)
