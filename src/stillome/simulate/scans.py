"""Cohorts as tractography pipelines write them: the second family of simulated cohorts.

Different in making from `simulate_cohort`: streamlines of a Poisson process with heavy-tailed
gamma intensities, edges that are not tracked at all (zero inflation with dependence across edges),
a floor below which the pipeline writes 0, and nuisances that act on all of these.
"""

from numbers import Real

import numpy as np
import pandas as pd

from stillome.arrays import Floats
from stillome.cohort.cohort import Cohort
from stillome.cohort.edges import edges_to_matrices
from stillome.cohort.validation import check_count, check_random_state
from stillome.exceptions import InputError
from stillome.simulate.count_writer import CountWriter
from stillome.simulate.desikan_killiany import load_desikan_killiany
from stillome.simulate.nuisances import NUISANCES
from stillome.simulate.scan_oracle import ScanOracle
from stillome.simulate.scan_population import N_FACTORS, N_PRESENCE_FACTORS, draw_scan_population
from stillome.simulate.scanner import ScannedPeople, Scanner, subject_blocks
from stillome.simulate.simulated_cohort import (
    RandomState,
    SimulatedCohort,
    check_choice,
    numbered_ids,
)

_EXPLAINED = 0.3


def simulate_scans(
    n_subjects: int = 1065,
    nuisance: str = "motion",
    *,
    floor: int = 3,
    threshold: float = 0.0,
    n_traits: int = 5,
    random_state: RandomState = 0,
) -> SimulatedCohort:
    """Simulate connectomes as a real pipeline writes them, with a nuisance in them.

    The second family of simulated cohorts. Counts have heavy tails, 48 % zeros that go together
    within a person, no value between 0 and the floor, and an excess of the floor itself. The
    nuisance removes streamlines (more on long and frontal edges), removes whole edges by a pattern
    of its own, and adds false short ones. The motion-free network consists of the same streamlines
    before any was lost, without the false ones.

    Parameters
    ----------
    n_subjects : int, default=1065
    nuisance : str, default="motion"
        "motion", "thinned" (motion that only removes streamlines, one by one), "lost-volumes"
        (motion that also adds noise), "incomplete" (binary, 9 %) or "late" (binary, 47 %).
    floor : int, default=3
        The smallest count that is written; 1 for pipelines without a floor.
    threshold : float, default=0.0
        Counts below this share of the subject's largest count are written as 0. Observed and
        motion-free counts are each compared with their own largest.
    n_traits : int, default=5
        Traits ``trait_1``, ... with mean 0 and variance 1, of which the factors explain 30 %.
        They are independent of the nuisance, and so can be given as `covariates_to_keep` that
        are unrelated to it.
    random_state : int, numpy.random.Generator or None, default=0
        Population and subjects are drawn from separate streams: the same seed gives the same
        population for any number of subjects.

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
    if not isinstance(threshold, Real) or not 0 <= threshold < 1:
        raise InputError(f"threshold={threshold!r}; expected a share from 0 to below 1.")
    chosen = NUISANCES[check_choice(nuisance, "nuisance", tuple(NUISANCES))]
    for_population, for_people, for_scans = check_random_state(random_state).spawn(3)
    regions = load_desikan_killiany()
    population = draw_scan_population(regions, n_traits, for_population)
    people = ScannedPeople(
        for_people.standard_normal((n_subjects, N_FACTORS)),
        for_people.standard_normal((n_subjects, N_PRESENCE_FACTORS)),
        chosen.draw(for_people, n_subjects),
    )
    if n_subjects > 1 and (people.values == people.values[0]).all():
        raise InputError(f"n_subjects={n_subjects}: too few for nuisance={nuisance!r} to vary.")
    scanner = Scanner(population, chosen, CountWriter(floor, float(threshold)))
    observed = np.empty((n_subjects, len(population.lengths)), dtype=np.int32)
    free = np.empty_like(observed)
    for rows in subject_blocks(n_subjects):
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
        ScanOracle(scanner, people),
        (chosen.column,),
        people.factors,
        pd.Series(explained, index=names, name="explained"),
    )


def _traits(scores: Floats, rng: np.random.Generator) -> pd.DataFrame:
    values = np.sqrt(_EXPLAINED) * scores
    values += np.sqrt(1 - _EXPLAINED) * rng.standard_normal(scores.shape)
    return pd.DataFrame(values, columns=[f"trait_{i + 1}" for i in range(scores.shape[1])])
