"""The map of regions that counts draw: the same for any order of regions, and of use in pooling."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from stillome.cohort.edges import edge_indices, edges_to_matrices, matrices_to_edges
from stillome.methods.stages.motion_effect.edge_design import EdgeDesign
from stillome.methods.stages.motion_effect.individual_differences import IndividualDifferences
from stillome.methods.stages.motion_effect.pooling import pool_effects
from stillome.methods.stages.motion_effect.region_map import map_features

V = 48
E = V * (V - 1) // 2
NOBODY = IndividualDifferences(np.zeros((E, 0)), np.zeros((1, 0)))


class Brain:
    """Regions in space: few fibres between distant ones, and an effect that varies smoothly."""

    def __init__(self, seed: int = 0, noise: float = 0.2) -> None:
        rng = np.random.default_rng(seed)
        places = rng.uniform(-1, 1, (V, 3))
        rows, columns = edge_indices(V)
        distance = np.linalg.norm(places[rows] - places[columns], axis=1)
        self.log_means = 5 - 3 * distance + 0.3 * rng.standard_normal(E)
        frontal = places[:, 0]
        self.effects = 0.3 * frontal[rows] * frontal[columns] - 0.2 * distance
        self.variances = np.full(E, noise**2)
        self.estimates = self.effects + noise * rng.standard_normal(E)
        self.design = EdgeDesign.from_edges(self.log_means, None, V)

    def error(self, design: EdgeDesign) -> float:
        pooled = pool_effects(self.estimates, self.variances, design, NOBODY, 300)
        return float(((pooled.effects - self.effects) ** 2).mean())


def test_features_are_standardised_products_of_coordinates():
    features = map_features(Brain().log_means, V)
    assert features.shape == (E, 21)
    assert_allclose(features.mean(axis=0), 0, atol=1e-9)
    assert_allclose(features.std(axis=0), 1)


@pytest.mark.parametrize(("n_regions", "n_columns"), [(2, 0), (7, 0), (8, 1), (16, 3), (30, 6)])
def test_few_regions_have_few_coordinates(n_regions, n_columns):
    n_edges = n_regions * (n_regions - 1) // 2
    values = np.random.default_rng(0).standard_normal(n_edges)
    assert map_features(values, n_regions).shape == (n_edges, n_columns)
    assert map_features(np.ones(n_edges), n_regions).shape == (n_edges, 0)


@pytest.mark.parametrize("seed", range(3))
def test_effects_that_vary_smoothly_over_the_brain_are_pooled_better(seed):
    brain = Brain(seed)
    without = replace(brain.design, mapped=np.zeros((E, 0)))
    assert brain.error(brain.design) < 0.8 * brain.error(without)


@pytest.mark.parametrize("seed", range(3))
def test_effects_that_do_not_are_pooled_hardly_worse(seed):
    brain = Brain(seed)
    rng = np.random.default_rng(seed + 10)
    brain.effects = rng.normal(-0.3, 0.1, E)
    brain.estimates = brain.effects + 0.2 * rng.standard_normal(E)
    without = replace(brain.design, mapped=np.zeros((E, 0)))
    assert brain.error(brain.design) < 1.1 * brain.error(without)


def test_the_order_of_regions_does_not_matter():
    brain = Brain(1)
    order = np.random.default_rng(0).permutation(V)

    def turned(values: np.ndarray) -> np.ndarray:
        return matrices_to_edges(edges_to_matrices(values[None])[:, order][:, :, order])[0]

    places = turned(np.arange(1.0, E + 1)).astype(int) - 1
    design = EdgeDesign.from_edges(brain.log_means[places], None, V)
    first = pool_effects(brain.estimates, brain.variances, brain.design, NOBODY, 300)
    second = pool_effects(brain.estimates[places], brain.variances, design, NOBODY, 300)
    assert_allclose(second.effects, first.effects[places], atol=1e-6)
    assert_allclose(second.uncertainties, first.uncertainties[places], atol=1e-6)
