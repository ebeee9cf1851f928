"""Pooling over edges, against planted effects."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from stillome.cohort.edges import edge_indices
from stillome.counts.workers import working
from stillome.methods.stages.convergence import Iterations
from stillome.methods.stages.motion_effect import edge_design, pooling
from stillome.methods.stages.motion_effect.edge_design import EdgeDesign
from stillome.methods.stages.motion_effect.individual_differences import IndividualDifferences
from stillome.methods.stages.motion_effect.pooling import (
    fit_pooling,
    pool_each,
    pool_effects,
    uncertainties_of,
)

V, N = 24, 300
E = V * (V - 1) // 2
NONE = IndividualDifferences(np.zeros((E, 0)), np.zeros((1, 0)))


class Planted:
    """Effects of intercept, strength, regions and edges; estimates of them with noise."""

    def __init__(self, seed: int, own_sd: float = 0.03, n_factors: int = 12) -> None:
        rng = self.rng = np.random.default_rng(seed)
        self.log_means = rng.normal(2, 1.5, E)
        self.design = EdgeDesign.from_edges(self.log_means, None, V)
        rows, columns = edge_indices(V)
        regions = rng.normal(0, 0.06, V)
        strength = (self.log_means - self.log_means.mean()) / self.log_means.std()
        own = rng.normal(0, own_sd, E)
        self.effects = -0.2 + 0.05 * strength + regions[rows] + regions[columns] + own
        self.variances = rng.uniform(0.5, 2, E) * 0.06**2
        self.loadings = rng.normal(0, 0.5, (E, n_factors))
        self.estimates = self.effects + rng.standard_normal(E) * np.sqrt(self.variances)

    def individual(self, reliability: float = 1.0) -> IndividualDifferences:
        return IndividualDifferences(
            self.loadings, np.full((1, self.loadings.shape[1]), float(reliability))
        )


def error(found: np.ndarray, true: np.ndarray) -> float:
    return float(np.sqrt(((found - true) ** 2).mean()))


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_pooled_effects_are_nearer_to_the_truth(seed):
    planted = Planted(seed)
    pooled = pool_effects(planted.estimates, planted.variances, planted.design, NONE, N)
    alone = error(planted.estimates, planted.effects)
    assert error(pooled.effects, planted.effects) < 0.55 * alone
    assert 0.04 < pooled.region_sd < 0.09
    assert 0.01 < pooled.own_sd < 0.05


def chosen_from(monkeypatch, planted: Planted, number: int, ranks: np.ndarray) -> EdgeDesign:
    monkeypatch.setattr(edge_design, "_CHOSEN", number)
    return EdgeDesign.from_edges(planted.log_means, None, V, ranks=ranks)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_variances_of_many_edges_come_from_some_and_effects_from_all(monkeypatch, seed):
    planted = Planted(seed)
    ranks = planted.rng.permutation(E)
    some = chosen_from(monkeypatch, planted, E // 2, ranks)
    assert some.chosen is not None and set(ranks[some.chosen]) == set(range(E // 2))
    data = planted.estimates, planted.variances
    by_some, by_all = (
        pool_effects(*data, design, planted.individual(), N) for design in (some, planted.design)
    )
    assert by_some.model.own_variance != by_all.model.own_variance
    # As near to the truth, for the edges that were not chosen too.
    rest = np.setdiff1d(np.arange(E), some.chosen)
    found, usual = (pooled.effects[rest] for pooled in (by_some, by_all))
    assert error(found, usual) < 0.3 * error(usual, planted.effects[rest])


def test_all_edges_are_chosen_where_they_are_few(monkeypatch):
    planted = Planted(0)
    assert chosen_from(monkeypatch, planted, E, planted.rng.permutation(E)).chosen is None


def test_edges_without_fibres_are_never_chosen(monkeypatch):
    planted = Planted(0)
    monkeypatch.setattr(edge_design, "_CHOSEN", E // 4)
    # They are all alike, and so their hashes are: here the lowest of all.
    present = np.ones((N, E), bool)
    present[:, : E // 2] = False
    design = EdgeDesign.from_edges(planted.log_means, None, V, present, np.arange(E))
    assert design.chosen is not None
    assert_allclose(design.chosen, np.arange(E // 2, E // 2 + E // 4))


def test_given_variances_the_effects_of_all_edges_count(monkeypatch):
    planted = Planted(0)
    some = chosen_from(monkeypatch, planted, E // 2, planted.rng.permutation(E))
    assert some.chosen is not None
    rest = np.setdiff1d(np.arange(E), some.chosen)
    moved = planted.estimates.copy()
    moved[rest] += 1
    before, after = (
        fit_pooling(estimates, planted.variances, some, NONE, N)
        for estimates in (planted.estimates, moved)
    )
    assert after.own_variance == before.own_variance
    assert np.abs(after.coefficients - before.coefficients).max() > 0.1


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_edges_of_little_effect_deviate_little_where_deviations_grow_with_it(seed):
    planted = Planted(seed, own_sd=0.0)
    grown = 0.4 * planted.effects * planted.rng.standard_normal(E)
    variances = planted.variances / 4
    noise = planted.rng.standard_normal(E) * np.sqrt(variances)
    effects = planted.effects + grown
    pooled = pool_effects(effects + noise, variances, planted.design, NONE, N)
    alike = fit_pooling(effects + noise, variances, planted.design, NONE, N)
    own = alike.residual * alike.own_variance / (alike.own_variance + variances)
    assert error(pooled.effects, effects) < error(effects + noise - alike.residual + own, effects)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_uncertainties_are_the_size_of_the_errors(seed):
    planted = Planted(seed)
    pooled = pool_effects(planted.estimates, planted.variances, planted.design, NONE, N)
    score = (pooled.effects - planted.effects) / pooled.uncertainties
    assert 0.8 < score.std() < 1.25


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_chance_correlations_with_motion_are_left_out(seed):
    planted = Planted(seed)
    chance = planted.rng.standard_normal(planted.loadings.shape[1]) / np.sqrt(N)
    estimates = planted.estimates + planted.loadings @ chance
    arguments = (estimates, planted.variances, planted.design)
    pooled = pool_effects(*arguments, planted.individual(), N)
    without = pool_effects(*arguments, NONE, N)
    assert error(pooled.effects, planted.effects) < 0.75 * error(without.effects, planted.effects)
    assert 0.2 < pooled.chance < 2.5


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_an_association_far_beyond_chance_is_part_of_the_effect(seed):
    planted = Planted(seed)
    real = planted.loadings @ planted.rng.normal(0, 0.4, planted.loadings.shape[1])
    estimates = planted.estimates + real
    arguments = (estimates, planted.variances, planted.design)
    pooled = pool_effects(*arguments, planted.individual(), N)
    assert pooled.chance > 10
    assert error(pooled.effects, planted.effects + real) < 0.2 * real.std()
    unreliable = pool_effects(*arguments, planted.individual(0.0), N)
    assert error(unreliable.effects, planted.effects) < 0.2 * real.std()


def test_loadings_of_an_edge_without_information_are_unreliable():
    planted = Planted(0)
    weak = np.arange(E) < 20
    information = np.where(weak, 1e-3, 2.0)
    variances = np.where(weak, 100.0, planted.variances)
    noise = weak[:, None] * planted.rng.normal(0, 10, planted.loadings.shape)
    scores = (planted.loadings + noise) * information[:, None]
    found = IndividualDifferences(scores, np.ones((1, 12))).per_log_rate(information, variances, N)
    assert_allclose(found.loadings[~weak], planted.loadings[~weak])
    assert found.reliability[weak].max() < 0.01 and found.reliability[~weak].min() > 0.9


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_pattern_over_pairs_of_regions_is_learned(seed):
    planted = Planted(seed, own_sd=0.01)
    place, (rows, columns) = planted.rng.standard_normal(V), edge_indices(V)
    pattern = 0.08 * place[rows] * place[columns]
    estimates, truth = planted.estimates + pattern, planted.effects + pattern
    pooled = pool_effects(estimates, planted.variances, planted.design, NONE, N)
    assert error(pooled.effects, truth) < 0.6 * error(estimates, truth)
    assert pooled.own_sd < 0.04  # would hold the pattern, 0.08, were it not found


def test_an_edge_known_exactly_keeps_its_own_effect():
    planted = Planted(0, own_sd=0.2)
    variances = np.where(np.arange(E) < 10, 1e-10, planted.variances)
    estimates = np.where(np.arange(E) < 10, planted.effects, planted.estimates)
    pooled = pool_effects(estimates, variances, planted.design, NONE, N)
    assert_allclose(pooled.effects[:10], planted.effects[:10], atol=1e-5)
    assert pooled.uncertainties[:10].max() < 1e-4


def test_lengths_help_where_motion_acts_by_length():
    planted = Planted(3, own_sd=0.01)
    lengths = planted.rng.uniform(10, 150, E)
    by_length = -0.3 * (lengths / 100) ** 2
    truth, estimates = planted.effects + by_length, planted.estimates + by_length
    informed = EdgeDesign.from_edges(planted.log_means, lengths, V)
    with_lengths = pool_effects(estimates, planted.variances, informed, NONE, N)
    without = pool_effects(estimates, planted.variances, planted.design, NONE, N)
    assert error(with_lengths.effects, truth) < 0.8 * error(without.effects, truth)


def test_individual_differences_are_found_with_their_size():
    rng = np.random.default_rng(4)
    scores, loadings = rng.standard_normal((N, 3)), rng.normal(0, 0.3, (E, 3))
    residual = scores @ loadings.T + rng.standard_normal((N, E))
    found = IndividualDifferences.find(residual)
    assert found.loadings.shape[0] == E and 3 <= found.loadings.shape[1] <= 5
    assert (found.reliability[0, :3] > 0.9).all()
    shared = np.linalg.norm(found.loadings @ found.loadings.T - loadings @ loadings.T)
    assert shared < 0.4 * np.linalg.norm(loadings @ loadings.T)


def test_noise_holds_no_individual_differences():
    residual = np.random.default_rng(5).standard_normal((N, E))
    assert IndividualDifferences.find(residual).loadings.shape[1] <= 1


def test_an_edge_that_few_subjects_have_shows_no_effect_of_its_own():
    planted = Planted(0)
    present = np.ones((N, E), dtype=bool)
    present[5:, :20] = False
    design = EdgeDesign.from_edges(planted.log_means, None, V, present)
    assert (design.least_variances[:20] > 1).all()
    assert_allclose(design.least_variances[20:], 0, atol=1e-12)


def test_functions_of_motion_have_the_same_bits_side_by_side_and_one_after_the_other():
    planted = [Planted(seed) for seed in range(3)]
    estimates = np.stack([one.estimates for one in planted])
    variances = np.stack([one.variances for one in planted])
    found = []
    for number in (1, 2):
        iterations = Iterations()
        with working(number):
            arguments = estimates, variances, planted[0].design, planted[0].individual(), N
            pooled = pool_each(*arguments, iterations=iterations)
            found.append((*uncertainties_of(pooled), [one.effects for one in pooled]))
        found[-1] = (*found[-1], iterations.n_iter)
    for one, other in zip(*found, strict=True):
        np.testing.assert_equal(one, other)
    assert found[0][0].shape == (3, E)


def test_the_mean_variance_is_that_of_the_uncertainties():
    planted = Planted(0)
    pooled = pool_effects(
        planted.estimates, planted.variances, planted.design, planted.individual(), N
    )
    assert pooled.mean_variance == pytest.approx((pooled.uncertainties**2).mean())


def test_effects_whose_edges_deviate_alike_are_fitted_once(monkeypatch):
    planted, fits = Planted(0), []

    def counted(*arguments, **options):
        fits.append(options.get("own_scale"))
        return fit_pooling(*arguments, **options)

    monkeypatch.setattr(pooling, "fit_pooling", counted)
    monkeypatch.setattr(pooling, "fit_own_scale", lambda residual, *_: np.ones_like(residual))
    pool_effects(planted.estimates, planted.variances, planted.design, planted.individual(), N)
    assert fits == [None]
