"""Counts that follow the expected law only roughly are carried as they really do."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from stillome.counts.negative_binomial import nb_scores
from stillome.methods.stages.replay.calibration import Calibration, some_counts
from stillome.methods.stages.replay.counterfactual import Law, replay_counts


def lognormal_counts(rates, level, spread=1.2):
    """Poisson around log-normal rates: fewer zeros and longer tails than any gamma has."""
    noise = np.exp(spread * stats.norm.ppf(level[0]) - spread**2 / 2)
    return stats.poisson.ppf(level[1], rates * noise)


@pytest.fixture(scope="module")
def learned():
    rng = np.random.default_rng(0)
    rates = np.exp(rng.uniform(-1, 4, 120_000))
    counts = lognormal_counts(rates, rng.random((2, len(rates))))
    scores = nb_scores(counts, rates, 1 / 1.5, rng.random(len(rates)))
    return Calibration.fit(scores, np.log(rates)), scores


def test_scores_of_the_right_law_are_normal():
    rng = np.random.default_rng(1)
    counts = rng.negative_binomial(2.0, 2.0 / (2.0 + 7.0), 20_000)
    scores = nb_scores(counts, 7.0, 2.0, rng.random(20_000))
    assert stats.kstest(scores, "norm").pvalue > 0.001


def test_the_right_law_needs_hardly_any_calibration():
    rng = np.random.default_rng(2)
    fitted = Calibration.fit(rng.standard_normal(60_000), rng.uniform(-1, 4, 60_000))
    inner = np.abs(np.linspace(-2.5, 2.5, 41)) < 2
    assert np.abs(fitted.excess[:, inner]).max() < 0.15


def test_the_same_rate_gives_the_same_score(learned):
    calibration, scores = learned
    rates = np.full(1000, 5.0)
    assert_allclose(calibration.carry(scores[:1000], rates, rates), scores[:1000], atol=1e-12)


def test_what_was_carried_follows_the_law_at_the_other_rate(learned):
    calibration, _ = learned
    rng = np.random.default_rng(3)
    shape = (20_000, 1)
    low, high = (Law(np.full(shape, np.log(r)), np.full(shape, 1.5)) for r in (3.0, 9.0))
    counts = lognormal_counts(3.0, rng.random((2, *shape)))
    expected = lognormal_counts(9.0, rng.random((2, *shape)))
    plain = replay_counts(counts, low, high, rng.random(shape))
    carried = replay_counts(counts, low, high, rng.random(shape), calibration)
    off = [abs((moved == 0).mean() - (expected == 0).mean()) for moved in (carried, plain)]
    assert off[0] < min(0.02, off[1] / 3)
    quantiles = [0.25, 0.5, 0.75, 0.9]
    assert_allclose(np.quantile(carried, quantiles), np.quantile(expected, quantiles), atol=2)


def test_too_few_counts_teach_nothing():
    calibration = Calibration.fit(np.ones(100), np.zeros(100))
    assert_array_equal(calibration.carry(np.array([0.3]), np.ones(1), np.array([4.0])), [0.3])


def test_every_edge_is_learned_from():
    for n_subjects, n_edges in ((20, 10), (900, 2278), (3000, 4950)):
        rows, columns = some_counts(n_subjects, n_edges)
        assert len(np.unique(columns)) == n_edges
        assert len(rows) <= 2 * 200_000 and rows.max() < n_subjects
