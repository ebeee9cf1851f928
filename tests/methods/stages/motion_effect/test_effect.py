"""Motion's effect on every edge, against planted negative binomial slopes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize_scalar
from scipy.stats import nbinom
from sklearn.linear_model import PoissonRegressor

from stillome.cohort.edges import edge_indices
from stillome.methods.stages.motion_effect.dispersion import (
    fit_dispersion,
    fit_dispersion_slopes,
    likely_dispersion,
    scaled_dispersion,
)
from stillome.methods.stages.motion_effect.effect import (
    fit_motion_effect,
    log_means,
    refit_baseline,
)
from stillome.methods.stages.motion_effect.pooling import EdgeDesign

V, N = 16, 250
E = V * (V - 1) // 2


def draw(rates: np.ndarray, dispersion: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    shape = np.broadcast_to(1 / dispersion, rates.shape)
    return rng.poisson(rates * rng.gamma(shape, 1 / shape)).astype(np.float32)


class Planted:
    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        rows, columns = edge_indices(V)
        regions = rng.normal(0, 0.05, V)
        self.baseline = rng.uniform(0, 5, E)
        self.slopes = -0.2 + regions[rows] + regions[columns] + rng.normal(0, 0.02, E)
        self.dispersion = rng.uniform(0.05, 0.4, E)
        self.functions = rng.standard_normal((N, 1)).astype(np.float32)
        self.functions -= self.functions.mean()
        self.functions /= self.functions.std()
        rates = np.exp(self.baseline + self.functions * self.slopes)
        self.counts = draw(rates, self.dispersion, rng)
        self.design = EdgeDesign.from_edges(log_means(self.counts), None, V)


@pytest.mark.parametrize("seed", [0, 1])
def test_slopes_are_nearer_to_the_truth_than_a_regression_per_edge(seed):
    planted = Planted(seed)
    effect = fit_motion_effect(planted.counts, planted.functions, planted.design)
    each = PoissonRegressor(alpha=0)
    alone = [each.fit(planted.functions, edge).coef_[0] for edge in planted.counts.T]
    pooled_error = np.sqrt(((effect.slopes[0] - planted.slopes) ** 2).mean())
    assert pooled_error < 0.7 * np.sqrt(((np.array(alone) - planted.slopes) ** 2).mean())
    score = (effect.slopes[0] - planted.slopes) / effect.uncertainties[0]
    assert 0.7 < score.std() < 1.4
    assert_allclose(effect.baseline, planted.baseline, atol=0.35)
    assert np.abs(effect.baseline - planted.baseline).mean() < 0.06
    assert np.corrcoef(effect.dispersion, planted.dispersion)[0, 1] > 0.5


def test_motion_that_does_nothing_has_no_effect():
    planted = Planted(2)
    shuffled = np.random.default_rng(0).permutation(planted.functions)
    effect = fit_motion_effect(planted.counts, shuffled, planted.design)
    assert np.abs(effect.slopes).max() < 0.1


def test_dispersion_is_found_edge_by_edge():
    rng = np.random.default_rng(3)
    true = rng.uniform(0.05, 1, E)
    rates = np.broadcast_to(rng.uniform(20, 100, E), (2000, E)).astype(np.float32)
    found = fit_dispersion(draw(rates, true, rng), rates)
    assert_allclose(found, true, rtol=0.35)
    assert np.corrcoef(found, true)[0, 1] > 0.97


def test_dispersion_of_edges_that_are_all_alike():
    rng = np.random.default_rng(4)
    rates = np.full((500, E), 30, np.float32)
    assert_allclose(fit_dispersion(draw(rates, np.array(0.2), rng), rates), 0.2, atol=0.07)


def test_likely_dispersion_is_the_maximum_of_the_likelihood():
    rng = np.random.default_rng(7)
    true = rng.uniform(0.1, 1, E)
    rates = np.broadcast_to(rng.uniform(5, 50, E), (3000, E)).astype(np.float32)
    counts = draw(rates, true, rng)
    found = likely_dispersion(counts, rates, np.full(E, 0.3))
    assert_allclose(found, true, rtol=0.3)
    best = minimize_scalar(
        lambda t: -nbinom.logpmf(counts[:, 0], np.exp(-t), 1 / (1 + rates[:, 0] * np.exp(t))).sum(),
        bounds=(-4, 2),
    )
    assert_allclose(np.log(found[0]), best.x, atol=0.03)


def test_a_few_huge_counts_do_not_rule_the_dispersion():
    rng = np.random.default_rng(8)
    rates = np.full((400, E), 30, np.float32)
    counts = draw(rates, np.array(0.2), rng)
    counts[:2] *= 30
    moments = fit_dispersion(counts, rates)
    likely = likely_dispersion(counts, rates, moments)
    assert np.median(likely) < 0.3 * np.median(moments)


@pytest.mark.parametrize("slope", [0.0, 0.5])
def test_dispersion_that_grows_with_motion(slope):
    planted = Planted(5)
    rates = np.exp(np.broadcast_to(planted.baseline + 1, (N, E)))
    dispersion = scaled_dispersion(planted.dispersion, np.array([slope]), planted.functions)
    counts = draw(rates, dispersion, np.random.default_rng(5))
    found = fit_dispersion_slopes(counts, rates, planted.dispersion, planted.functions)
    assert_allclose(found, slope, atol=0.1)


def test_an_edge_never_seen_counts_half_a_fibre():
    counts = np.zeros((50, 3))
    counts[:, 1] = 4
    assert_allclose(np.exp(log_means(counts)), [0.01, 4, 0.01])


def test_baselines_follow_the_slopes():
    planted = Planted(6)
    effect = fit_motion_effect(planted.counts, planted.functions, planted.design)
    refitted = refit_baseline(planted.counts, planted.functions + 1, effect)
    assert_allclose(refitted.baseline, effect.baseline - effect.slopes[0], atol=0.02)
