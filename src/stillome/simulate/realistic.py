"""Realistic cohorts: like HCP and ABCD, with a known truth."""

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from stillome.arrays import Floats
from stillome.cohort.cohort import Cohort
from stillome.cohort.edges import edges_to_matrices
from stillome.cohort.validation import check_count, check_random_state
from stillome.exceptions import InputError
from stillome.simulate.desikan_killiany import load_desikan_killiany
from stillome.simulate.population import (
    MOTION_LAWS,
    N_COORDINATES,
    N_LATENTS,
    MotionLaw,
    Population,
    draw_population,
)
from stillome.simulate.regimes import REGIMES, Regime
from stillome.simulate.simulated_cohort import (
    RandomState,
    SimulatedCohort,
    check_choice,
    numbered_ids,
)

_BLOCK_SUBJECTS = 256
_TRAIT_MEAN, _TRAIT_SD = 100.0, 15.0
_EXPLAINED = (0.25, 0.35)
# In the confounded regime, correlations of motion and of every trait's score with one direction of
# the latents. Trait and motion then correlate by about 0.65 · 0.88 · √0.3 = 0.31.
_MOTION_CORRELATION, _TRAIT_CORRELATION = 0.65, 0.88


@dataclass(frozen=True, eq=False)
class RateOracle:
    """Known are the population, the regime, each subject's latents and motion; not the noise."""

    population: Population
    regime: Regime
    latents: Floats
    motion: Floats

    def draw(self, observed: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
        """Draw motion-free edges (n, E) given the observed ones."""
        drawn = np.empty_like(observed)
        for part in blocks_of(len(observed)):
            rates = self.population.rates(self.regime, self.latents[part], self.motion[part])
            drawn[part] = self.regime.restore(observed[part], rates, rng)
        return drawn


def simulate_cohort(
    n_subjects: int = 1065,
    regime: str = "loglinear",
    *,
    n_traits: int = 5,
    motion: str = "hcp",
    motion_cost: float = 0.28,
    random_state: RandomState = 0,
) -> SimulatedCohort:
    """Simulate a study of 68 Desikan-Killiany regions in which motion reduces fibre counts.

    Expected counts are heavy-tailed and fall with distance. Individual differences are a nonlinear
    function of 20 latents; counts are negative binomial. Motion lowers the expected count of every
    edge, more on long connections. The motion-free network is the same scan without motion: it is
    the same quantile of the distribution without motion or, in "thinning", all streamlines before
    some were lost.

    Parameters
    ----------
    n_subjects : int, default=1065
    regime : str, default="loglinear"
        "loglinear", "saturating" (the effect of motion levels off), "interaction" (the effect of
        motion depends on the latents), "heteroscedastic" (motion also increases dispersion),
        "confounded" (traits and motion correlate by about 0.3, through the latents), "curved"
        (people differ by three latents only, of which every edge is a wavy function; traits are
        directions of these three) or "thinning" (every streamline survives with a probability
        that falls with motion and length).
    n_traits : int, default=5
        Traits ``trait_1``, ... with mean 100 and standard deviation 15.
    motion : {"hcp", "abcd"}, default="hcp"
        "abcd" is larger and more skewed.
    motion_cost : float, default=0.28
        Expected share of fibres that the top decile of motion has lost, relative to the bottom
        decile.
    random_state : int, numpy.random.Generator or None, default=0
        Population and subjects are drawn from separate streams: the same seed gives the same
        population for any number of subjects.

    Returns
    -------
    SimulatedCohort
        ``cohort.motion`` has ``rms_mm``, which changes the counts, and measures that correlate with
        it: ``translation_mm``, ``rotation_rad``, ``n_outlier_slices``.

    Examples
    --------
    >>> simulated = simulate_cohort(20, "thinning", random_state=3)
    >>> bool((simulated.motion_free >= simulated.cohort.connectomes).all())
    True
    >>> simulated.explained.between(0.25, 0.35).all()
    np.True_
    """
    n_subjects = check_count(n_subjects, "n_subjects", minimum=1)
    n_traits = check_count(n_traits, "n_traits", minimum=1)
    chosen = REGIMES[check_choice(regime, "regime", tuple(REGIMES))]
    law = MOTION_LAWS[check_choice(motion, "motion", tuple(MOTION_LAWS))]
    if not isinstance(motion_cost, Real) or not 0 < motion_cost <= 0.9:
        raise InputError(f"motion_cost={motion_cost!r}; expected a share above 0, at most 0.9.")
    for_population, for_people, for_scans = check_random_state(random_state).spawn(3)
    regions = load_desikan_killiany()
    population = draw_population(regions, chosen, law, motion_cost, for_population)
    latents = for_people.standard_normal((n_subjects, N_LATENTS))
    table = _motion(latents, chosen, law, for_people)
    traits, explained = _traits(latents, n_traits, chosen, for_population, for_people)
    oracle = RateOracle(population, chosen, latents, table["rms_mm"].to_numpy())
    observed, motion_free = draw_scans(oracle, len(regions), for_scans)
    cohort = Cohort(
        subject_ids=numbered_ids(n_subjects),
        connectomes=observed,
        motion=table,
        traits=traits,
        regions=regions,
        lengths=edges_to_matrices(population.lengths),
    )
    return SimulatedCohort(cohort, motion_free, oracle, ("rms_mm",), latents, explained)


def motion_free_rates(simulated: SimulatedCohort) -> Floats:
    """Return the expected counts without motion, (n, E), of a cohort of `simulate_cohort`.

    No decoder of a latent can do better than these: they are the generator's own means.

    Examples
    --------
    >>> motion_free_rates(simulate_cohort(3, random_state=0)).shape
    (3, 2278)
    """
    oracle = simulated.oracle
    if not isinstance(oracle, RateOracle):
        raise InputError("simulated: rates are known for cohorts of simulate_cohort only.")
    rates = oracle.population.rates(oracle.regime, oracle.latents, oracle.motion)
    return np.broadcast_to(rates.free, simulated.X_free.shape).astype(np.float64)


def blocks_of(n_subjects: int) -> list[slice]:
    """Return slices of subjects that fit into memory."""
    return [slice(i, i + _BLOCK_SUBJECTS) for i in range(0, n_subjects, _BLOCK_SUBJECTS)]


def draw_scans(
    oracle: RateOracle, n_regions: int, rng: np.random.Generator
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Draw the scans of an oracle's subjects (n, V, V), with and without motion."""
    n_subjects = len(oracle.motion)
    observed = np.empty((n_subjects, n_regions, n_regions), dtype=np.int32)
    motion_free = np.empty_like(observed)
    for part in blocks_of(n_subjects):
        rates = oracle.population.rates(oracle.regime, oracle.latents[part], oracle.motion[part])
        own = rng.standard_gamma(rates.free_size, rates.free.shape) / rates.free_size
        free = rng.poisson(rates.free * own).astype(np.int32)
        motion_free[part] = edges_to_matrices(free)
        observed[part] = edges_to_matrices(oracle.regime.expose(free, rates, rng))
    return observed, motion_free


def _confounding(latents: Floats) -> Floats:
    """Return the direction of the latents that correlates with motion and traits, shape (n,)."""
    return np.asarray((latents[:, 1] + latents[:, 2] - latents[:, 4]) / np.sqrt(3))


def _motion(
    latents: Floats, regime: Regime, law: MotionLaw, rng: np.random.Generator
) -> pd.DataFrame:
    n_subjects = len(latents)
    score = rng.standard_normal(n_subjects)
    if regime.confounded:
        rest = np.sqrt(1 - _MOTION_CORRELATION**2)
        score = _MOTION_CORRELATION * _confounding(latents) + rest * score
    rms = law.median_mm * np.exp(law.log_sd * score)
    return pd.DataFrame(
        {
            "rms_mm": rms,
            "translation_mm": 0.8 * rms * np.exp(rng.normal(0.0, 0.15, n_subjects)),
            "rotation_rad": 0.007 * rms * np.exp(rng.normal(0.0, 0.25, n_subjects)),
            "n_outlier_slices": rng.poisson(30 * rms * rng.gamma(6.0, 1 / 6, n_subjects)),
        }
    )


def _traits(
    latents: Floats,
    n_traits: int,
    regime: Regime,
    for_population: np.random.Generator,
    for_people: np.random.Generator,
) -> "tuple[pd.DataFrame, pd.Series[float]]":
    weights = for_population.standard_normal((n_traits, latents.shape[1]))
    explained = for_population.uniform(*_EXPLAINED, n_traits)
    if regime.confounded:
        weights = _confounded(weights)
    if regime.curved:
        weights[:, N_COORDINATES:] = 0.0
    weights /= np.linalg.norm(weights, axis=1, keepdims=True)
    score = latents @ weights.T
    noise = for_people.standard_normal(score.shape)
    values = np.sqrt(explained) * score + np.sqrt(1 - explained) * noise
    names = [f"trait_{i + 1}" for i in range(n_traits)]
    traits = pd.DataFrame(_TRAIT_MEAN + _TRAIT_SD * values, columns=names)
    return traits, pd.Series(explained, index=names, name="explained")


def _confounded(weights: Floats) -> Floats:
    """Rotate every trait's direction to the same correlation with `_confounding`."""
    direction = _confounding(np.eye(weights.shape[1]))
    across = weights - np.outer(weights @ direction, direction)
    across /= np.linalg.norm(across, axis=1, keepdims=True)
    return np.asarray(_TRAIT_CORRELATION * direction + np.sqrt(1 - _TRAIT_CORRELATION**2) * across)
