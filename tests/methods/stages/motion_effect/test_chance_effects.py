"""What pooling takes for effects by chance is measured with permuted motion, and left out."""

from typing import NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_allclose

from stillome.arrays import Floats
from stillome.cohort.edges import edge_indices
from stillome.methods.stages.motion_effect.basis import apart_from
from stillome.methods.stages.motion_effect.chance_effects import EdgeScores
from stillome.methods.stages.motion_effect.edge_design import EdgeDesign
from stillome.methods.stages.motion_effect.individual_differences import IndividualDifferences
from stillome.methods.stages.motion_effect.pooling import pool_effects

N, V, N_FACTORS = 300, 24, 120
ROWS, COLUMNS = edge_indices(V)
E = len(ROWS)


class Sample(NamedTuple):
    """Subjects with many weak factors, half of them over whole regions, and effects of motion."""

    residual: Floats
    motion: Floats
    effects: Floats

    @classmethod
    def draw(cls, seed: int, region_sd: float = 0.0, own_sd: float = 0.0) -> "Sample":
        rng = np.random.default_rng(seed)
        places = rng.standard_normal((N_FACTORS, V))
        own = rng.standard_normal((N_FACTORS, E))
        loadings = 0.08 * (0.5 * (places[:, ROWS] + places[:, COLUMNS]) + 0.7 * own)
        motion = rng.standard_normal((N, 1))
        motion = (motion - motion.mean()) / motion.std()
        residual = rng.standard_normal((N, N_FACTORS)) @ loadings
        residual += 0.5 * rng.standard_normal((N, E))
        regions = region_sd * rng.standard_normal(V)
        effects = regions[ROWS] + regions[COLUMNS] + own_sd * rng.standard_normal(E)
        return cls(residual - residual.mean(axis=0), motion, effects)

    def pooled(self, *, knows_chance: bool) -> Floats:
        """Return pooled effects; edges are linear in motion, with information 1 per subject."""
        design = EdgeDesign.from_edges(np.zeros(E), None, V)
        spread = self.residual.var(axis=0)
        scores = EdgeScores(
            self.residual, self.motion, np.stack([spread / N] * 2), np.ones(E), np.zeros(E), N
        )
        estimates = self.motion[:, 0] @ self.residual / N + self.effects
        apart = scores.apart()
        factors = apart.factors()
        individual = scores.per_log_rate(factors)
        return pool_effects(
            estimates,
            scores.own_variances(individual)[0],
            design,
            individual,
            N,
            by_chance=apart.by_chance(design, factors) if knows_chance else None,
        ).effects


def error(sample: Sample, *, knows_chance: bool) -> float:
    found = sample.pooled(knows_chance=knows_chance)
    return float(((found - sample.effects) ** 2).mean())


@pytest.mark.parametrize("seed", range(3))
def test_without_an_effect_most_of_what_was_found_vanishes(seed):
    sample = Sample.draw(seed)
    with_chance = error(sample, knows_chance=True)
    assert with_chance < 0.5 * error(sample, knows_chance=False)


@pytest.mark.parametrize("seed", range(3))
def test_effects_that_exceed_chance_are_kept(seed):
    sample = Sample.draw(seed, region_sd=0.1, own_sd=0.05)
    found = sample.pooled(knows_chance=True)
    slope = np.polyfit(found, sample.effects, 1)[0]
    assert 0.8 < slope < 1.25  # shrunk neither too little nor too much
    assert np.corrcoef(found, sample.effects)[0, 1] > 0.9


def test_weak_effects_are_estimated_better_on_average():
    samples = [Sample.draw(seed, region_sd=0.02, own_sd=0.01) for seed in range(4)]
    errors = [[error(each, knows_chance=known) for known in (True, False)] for each in samples]
    known, unknown = np.mean(errors, axis=0)
    assert known < 0.8 * unknown


def test_the_answer_is_the_same_every_time():
    sample = Sample.draw(5, region_sd=0.02)
    first, second = (sample.pooled(knows_chance=True) for _ in range(2))
    assert np.array_equal(first, second)


@pytest.mark.parametrize("seed", range(3))
def test_factors_apart_from_other_functions_are_those_of_residuals_without_them(seed):
    rng = np.random.default_rng(seed)
    residual = rng.standard_normal((N, 5)) @ rng.standard_normal((5, E))
    residual += 0.5 * rng.standard_normal((N, E))
    residual -= residual.mean(axis=0)
    functions = rng.standard_normal((N, 2))
    functions -= functions.mean(axis=0)
    known = IndividualDifferences.find(residual)
    found = known.apart_from(functions, functions.T @ residual)
    anew = IndividualDifferences.find(apart_from(functions, residual))
    assert np.abs(functions.T @ found.scores).max() < 1e-9
    assert_allclose(found.scores.T @ found.scores, np.eye(found.scores.shape[1]), atol=1e-5)

    def shared(factors: IndividualDifferences) -> Floats:
        return factors.loadings @ factors.loadings.T

    left = np.linalg.norm(shared(found) - shared(anew))
    # Weak factors, which come and go with the noise, make the rest.
    assert left < 0.25 * np.linalg.norm(shared(known) - shared(anew))
