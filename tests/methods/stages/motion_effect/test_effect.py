"""Motion's effect on every edge, against planted negative binomial slopes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import PoissonRegressor

from stillome.cohort.edges import edge_indices
from stillome.exceptions import StillomeWarning
from stillome.methods.stages.motion_effect.edge_design import EdgeDesign
from stillome.methods.stages.motion_effect.effect import log_means
from stillome.methods.stages.motion_effect.effect_fit import fit_motion_effect, refit_baseline
from stillome.methods.stages.stage_tuning import StageTuning

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


def test_an_edge_never_seen_counts_half_of_the_smallest_count():
    counts = np.zeros((50, 3))
    counts[:, 1] = 4
    assert_allclose(np.exp(log_means(counts)), [0.04, 4, 0.04])
    counts[0, 1] = 1
    assert_allclose(np.exp(log_means(counts)), [0.01, 3.94, 0.01])
    assert_allclose(np.exp(log_means(np.zeros((50, 1)))), [0.01])


def test_baselines_follow_the_slopes():
    planted = Planted(6)
    effect = fit_motion_effect(planted.counts, planted.functions, planted.design)
    refitted = refit_baseline(planted.counts, planted.functions + 1, effect)
    assert_allclose(refitted.baseline, effect.baseline - effect.slopes[0], atol=0.02)


def test_slopes_do_not_change_when_iterated_further():
    planted = Planted(7)
    exact = StageTuning(tolerance=1e-3)
    usual = fit_motion_effect(planted.counts, planted.functions, planted.design)
    further = fit_motion_effect(planted.counts, planted.functions, planted.design, exact)
    change = (further.slopes - usual.slopes) / usual.uncertainties
    assert 0 < np.sqrt((change**2).mean()) < 0.2


def test_too_few_iterations_are_said():
    planted = Planted(8)
    hasty = StageTuning(max_iter=1)
    with pytest.warns(StillomeWarning) as caught:
        fit_motion_effect(planted.counts, planted.functions, planted.design, hasty)
    said = {str(warning.message).split("'")[1] for warning in caught}
    assert {"motion effect", "pooling", "variance components"} <= said
