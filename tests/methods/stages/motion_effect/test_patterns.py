"""Low-rank patterns over pairs of regions, held against planted ones."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from stillome.cohort.edges import edge_indices
from stillome.methods.stages.motion_effect.patterns import low_rank_pattern

V = 50
ROWS, COLUMNS = edge_indices(V)


def planted(rng: np.random.Generator, rank: int) -> np.ndarray:
    places, signs = rng.standard_normal((rank, V)), np.where(np.arange(rank) % 2, -1, 1)
    return signs @ (places[:, ROWS] * places[:, COLUMNS])


def test_noise_is_no_pattern():
    rng = np.random.default_rng(0)
    noise = rng.standard_normal((200, len(ROWS)))
    found = [low_rank_pattern(row, np.ones(len(row)), V).any() for row in noise]
    assert np.mean(found) < 0.05


def test_heavy_tails_are_mostly_no_pattern():
    noise = np.random.default_rng(1).standard_t(5, (200, len(ROWS))) / np.sqrt(5 / 3)
    found = [low_rank_pattern(row, np.ones(len(row)), V).any() for row in noise]
    assert np.mean(found) < 0.1


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_a_pattern_is_found_to_within_what_theory_promises(rank):
    rng = np.random.default_rng(rank)
    truth = planted(rng, rank)
    found = low_rank_pattern(truth + rng.standard_normal(len(truth)), np.ones(len(truth)), V)
    # V unknowns per component, each known to 1 / V.
    assert np.mean((found - truth) ** 2) < 1.3 * 2 * rank / V


def test_imprecise_edges_are_imputed_from_precise_ones():
    rng = np.random.default_rng(4)
    truth = planted(rng, 1)
    variances = np.where(rng.random(len(truth)) < 0.3, 1e4, 0.25)
    found = low_rank_pattern(
        truth + rng.standard_normal(len(truth)) * np.sqrt(variances), variances, V
    )
    imprecise = variances > 1
    assert np.mean((found - truth)[imprecise] ** 2) < 0.35 * np.mean(truth[imprecise] ** 2)


def test_the_unit_of_the_values_does_not_matter():
    rng = np.random.default_rng(5)
    values = planted(rng, 1) + rng.standard_normal(len(ROWS))
    ones = np.ones(len(ROWS))
    small = low_rank_pattern(1e-3 * values, 1e-6 * ones, V)
    assert_allclose(1e3 * small, low_rank_pattern(values, ones, V), rtol=1e-8, atol=1e-10)
