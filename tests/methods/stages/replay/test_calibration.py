"""Counts that follow the expected law only roughly are carried as they really do."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from stillome.methods.stages.replay.calibration import Calibration, some_counts
from stillome.methods.stages.replay.count_law import CountLaw
from stillome.methods.stages.replay.counterfactual import replay_counts


def lognormal_counts(rates, level, spread=1.2):
    """Poisson around log-normal rates: fewer zeros and longer tails than any gamma has."""
    noise = np.exp(spread * stats.norm.ppf(level[0]) - spread**2 / 2)
    return stats.poisson.ppf(level[1], rates * noise)


def law(rate, dispersion, shape, empty=None) -> CountLaw:
    plain = CountLaw.negative_binomial(np.full(shape, np.log(rate)), np.full(shape, dispersion))
    return plain if empty is None else replace(plain, empty=np.full(shape, empty))


@pytest.fixture(scope="module")
def learned():
    """Learned as in a fit: from counts that are present, in a law that is wrong for them."""
    rng = np.random.default_rng(0)
    log_rates = rng.uniform(-1, 4, (1, 240_000))
    counts = lognormal_counts(np.exp(log_rates), rng.random((2, *log_rates.shape)))
    expected = CountLaw.negative_binomial(log_rates, np.full(log_rates.shape, 1.5))
    present = np.flatnonzero(counts[0] > 0)
    expected = expected.at(np.zeros_like(present), present)
    scores = expected.scores_if_present(counts[:, present], rng.random((1, len(present))))
    return Calibration.fit(scores[0], log_rates[0, present]), scores[0]


def test_scores_of_the_right_law_are_normal():
    rng = np.random.default_rng(1)
    counts = rng.negative_binomial(2.0, 2.0 / (2.0 + 7.0), (20_000, 1))
    scores = law(7.0, 0.5, (20_000, 1)).scores(counts, rng.random((20_000, 1)))
    assert stats.kstest(scores.ravel(), "norm").pvalue > 0.001


def test_the_right_law_needs_hardly_any_calibration():
    rng = np.random.default_rng(2)
    fitted = Calibration.fit(rng.standard_normal(60_000), rng.uniform(-1, 4, 60_000))
    inner = np.abs(np.linspace(-2.5, 2.5, 41)) < 2
    assert np.abs(fitted.excess[:, inner]).max() < 0.15


@given(
    scores=st.lists(st.floats(-37, 37), min_size=1, max_size=20),
    log_rate=st.floats(-14, 16),
)
def test_true_scores_are_the_inverse_of_expected_ones(learned, scores, log_rate):
    calibration, _ = learned
    given_scores, rates = np.sort(scores), np.full(len(scores), log_rate)
    true = calibration.true_scores(given_scores, rates)
    assert_allclose(calibration.expected_scores(true, rates), given_scores, atol=1e-10)
    there = calibration.expected_scores(given_scores, rates)
    assert_allclose(calibration.true_scores(there, rates), given_scores, atol=1e-10)
    apart = np.diff(given_scores) > 1e-9
    assert (np.diff(true)[apart] > 0).all() and (np.diff(there)[apart] > 0).all()


@given(
    seed=st.integers(0, 10**6),
    steps=st.lists(st.sampled_from([0.0, 0.01, 0.3, 2.0]), min_size=3, max_size=8),
)
def test_scores_with_gaps_and_ties_can_be_inverted_too(seed, steps):
    rng = np.random.default_rng(seed)
    # As of counts with few values, whose positions within a step are not all used.
    levels = np.cumsum(steps) - sum(steps) / 2
    calibration = Calibration.fit(rng.choice(levels, 12_000), rng.uniform(0, 1, 12_000))
    scores, rates = rng.normal(0, 2, 200), rng.uniform(-1, 2, 200)
    back = calibration.true_scores(calibration.expected_scores(scores, rates), rates)
    assert_allclose(back, scores, atol=1e-9)


def test_true_scores_of_what_was_learned_from_are_normal(learned):
    calibration, _ = learned
    rng = np.random.default_rng(7)
    counts = lognormal_counts(20.0, rng.random((2, 20_000, 1)))
    present = (counts > 0).ravel()
    expected = law(20.0, 1.5, (int(present.sum()), 1))
    scores = expected.scores_if_present(counts[present], rng.random((present.sum(), 1)))
    assert abs(stats.skew(scores.ravel())) > 0.1
    true = calibration.true_scores(scores, expected.log_rates).ravel()
    assert stats.kstest(true, "norm").statistic < 0.02


def test_what_was_carried_follows_the_law_at_the_other_rate(learned):
    calibration, _ = learned
    rng = np.random.default_rng(3)
    shape = (20_000, 1)
    counts = lognormal_counts(3.0, rng.random((2, *shape)))
    expected = lognormal_counts(9.0, rng.random((2, *shape)))
    plain = replay_counts(counts, law(3.0, 1.5, shape), law(9.0, 1.5, shape), rng.random(shape))
    # In a fit, presence has the share of zeros; the calibration has the sizes.
    low, high = (
        replace(law(rate, 1.5, shape, (table == 0).mean()), calibration=calibration)
        for rate, table in ((3.0, counts), (9.0, expected))
    )
    carried = replay_counts(counts, low, high, rng.random(shape))
    off = [abs((moved == 0).mean() - (expected == 0).mean()) for moved in (carried, plain)]
    assert off[0] < min(0.02, off[1] / 3)
    quantiles = [0.25, 0.5, 0.75, 0.9]
    assert_allclose(np.quantile(carried, quantiles), np.quantile(expected, quantiles), atol=2)


def test_too_few_counts_teach_nothing():
    calibration = Calibration.fit(np.ones(100), np.zeros(100))
    assert_array_equal(calibration.true_scores(np.array([0.3]), np.array([4.0])), [0.3])
    assert_array_equal(calibration.expected_scores(np.array([0.3]), np.array([4.0])), [0.3])


def test_every_edge_is_learned_from():
    for n_subjects, n_edges in ((20, 10), (900, 2278), (3000, 4950)):
        rows, columns = some_counts(n_subjects, n_edges)
        assert len(np.unique(columns)) == n_edges
        assert len(rows) <= 2 * 200_000 and rows.max() < n_subjects
