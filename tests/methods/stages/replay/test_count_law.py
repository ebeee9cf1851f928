"""The law of counts: empty or above a floor, with scores and counts that belong together."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import special, stats

from stillome.counts.negative_binomial import nb_cdf, nb_pmf
from stillome.methods.stages.replay.calibration import Calibration
from stillome.methods.stages.replay.count_law import (
    CountLaw,
    logits_below,
    probability_below,
)
from stillome.methods.stages.replay.counterfactual import replay_counts

LONG = (20_000, 2)


def law(rate, dispersion, shape, *, floor=1, empty=None, ceiling=np.inf) -> CountLaw:
    log_rates, dispersions = np.full(shape, np.log(rate)), np.full(shape, float(dispersion))
    plain = CountLaw.negative_binomial(log_rates, dispersions, float(floor))
    plain = replace(plain, ceiling=ceiling)
    return plain if empty is None else replace(plain, empty=np.full(shape, float(empty)))


@cache
def long_tails() -> Calibration:
    rng = np.random.default_rng(9)
    return Calibration.fit(1.4 * rng.standard_t(5, 30_000), rng.uniform(-3, 9, 30_000))


LAWS = [
    {"rate": 2.0, "dispersion": 0.5},
    {"rate": 6.0, "dispersion": 0.8, "floor": 3},
    {"rate": 6.0, "dispersion": 0.8, "floor": 3, "empty": 0.6},
    {"rate": 50.0, "dispersion": 0.3, "floor": 3, "empty": 0.2},
    {"rate": 0.3, "dispersion": 1.0, "floor": 5, "empty": 0.9},
    {"rate": 40.0, "dispersion": 0.2, "floor": 15, "empty": 0.02},
]


@pytest.mark.parametrize("settings", LAWS)
def test_counts_at_normal_scores_have_the_shares_and_means_of_the_law(settings):
    rng = np.random.default_rng(0)
    chosen = law(**settings, shape=LONG)
    counts = chosen.counts_at(rng.standard_normal(LONG))
    empty = chosen.empty[0, 0]
    margin = 4 * np.sqrt(empty * (1 - empty) / counts.size) + 1e-9
    assert abs((counts == 0).mean() - empty) < margin
    assert (counts[counts > 0] >= settings.get("floor", 1)).all()
    assert abs(counts.mean() - chosen.means()[0, 0]) < 4 * counts.std() / np.sqrt(counts.size)


@pytest.mark.parametrize("settings", LAWS)
def test_scores_of_counts_of_the_law_are_standard_normal(settings):
    rng = np.random.default_rng(1)
    chosen = law(**settings, shape=LONG)
    scores = chosen.scores(chosen.counts_at(rng.standard_normal(LONG)), rng.random(LONG))
    assert stats.kstest(scores.ravel(), "norm").pvalue > 0.001


@given(
    seed=st.integers(0, 10**6),
    rate=st.floats(0.01, 1e5),
    dispersion=st.floats(1e-3, 10),
    floor=st.sampled_from([1, 2, 3, 5, 20]),
    empty=st.floats(1e-6, 1 - 1e-6),
    calibrated=st.booleans(),
)
def test_the_same_law_leaves_counts_as_they_are(seed, rate, dispersion, floor, empty, calibrated):
    rng = np.random.default_rng(seed)
    chosen = law(rate, dispersion, (3, 20), floor=floor, empty=empty)
    if calibrated:
        chosen = replace(chosen, calibration=long_tails())
    counts = chosen.counts_at(rng.standard_normal((3, 20)))
    positions = rng.uniform(0.01, 0.99, (3, 20))
    assert_array_equal(replay_counts(counts, chosen, chosen, positions), counts)


def test_without_a_hurdle_it_is_the_negative_binomial():
    rng = np.random.default_rng(2)
    plain = law(4.0, 0.7, LONG)
    assert_array_equal(plain.empty, plain.below)
    assert_allclose(plain.below, nb_pmf(0, 4.0, 1 / 0.7), rtol=1e-10)
    assert_allclose(plain.means(), 4.0, rtol=1e-10)
    scores = rng.standard_normal(LONG)
    counts = plain.counts_at(scores)
    level = stats.norm.cdf(scores)
    assert (level <= nb_cdf(counts, 4.0, 1 / 0.7) + 1e-12).all()
    some = counts > 0
    assert (level > nb_cdf(np.maximum(counts - 1, 0), 4.0, 1 / 0.7) - 1e-12)[some].all()


def test_with_a_floor_it_is_the_negative_binomial_with_small_counts_left_out():
    rng = np.random.default_rng(3)
    drawn = rng.negative_binomial(2.0, 2.0 / 8.0, LONG)
    written = np.where(drawn < 3, 0, drawn)
    chosen = law(6.0, 0.5, LONG, floor=3)
    assert abs(chosen.means()[0, 0] - written.mean()) < 4 * written.std() / np.sqrt(written.size)
    scores = chosen.scores(written, rng.random(LONG))
    assert stats.kstest(scores.ravel(), "norm").pvalue > 0.001


def test_floors_may_differ_between_subjects():
    floors = np.array([[1.0], [3.0], [14.0]])
    log_rates = np.log([[1.0, 6.0, 90.0]] * 3)
    together = CountLaw.negative_binomial(log_rates, np.full((3, 3), 0.4), floors)
    scores = np.random.default_rng(4).standard_normal((3, 3))
    for row in range(3):
        one = (log_rates[row : row + 1], np.full((1, 3), 0.4), float(floors[row, 0]))
        alone = CountLaw.negative_binomial(*one)
        own = scores[row : row + 1]
        assert_array_equal(together.counts_at(scores)[row], alone.counts_at(own)[0])
        assert_allclose(together.means()[row], alone.means()[0])
    assert_array_equal(together.below, probability_below(log_rates, np.full((3, 3), 0.4), floors))


def test_counts_at_the_ceiling_stand_for_all_above():
    rng = np.random.default_rng(5)
    capped = law(40.0, 0.5, LONG, floor=3, ceiling=60.0)
    counts = capped.counts_at(rng.standard_normal(LONG))
    assert counts.max() == 60 and (counts == 60).mean() > 0.1
    scores = capped.scores(counts, rng.random(LONG))
    assert stats.kstest(scores.ravel(), "norm").pvalue > 0.001
    assert_array_equal(capped.counts_at(scores), counts)


@given(
    log_rate=st.floats(-14, 16),
    dispersion=st.sampled_from([1e-3, 0.5, 50.0]),
    floor=st.sampled_from([1, 3, 100]),
    empty=st.sampled_from([0.0, 1e-16, 0.5, 1 - 1e-15]),
    score=st.floats(-40, 40),
    count=st.integers(0, 10**8),
)
def test_nothing_overflows(log_rate, dispersion, floor, empty, score, count):
    chosen = law(np.exp(log_rate), dispersion, (1, 1), floor=floor, empty=empty)
    counts = chosen.counts_at(np.array([[score]]))
    assert np.isfinite(counts).all() and ((counts == 0) | (counts >= floor)).all()
    assert np.isfinite(chosen.scores(np.array([[count]]), np.array([[0.5]]))).all()
    assert np.isfinite(chosen.means()).all() and (chosen.means() >= 0).all()


def test_a_part_of_the_law_is_the_law_of_that_part():
    rng = np.random.default_rng(6)
    floors = np.array([[1.0], [4.0], [3.0]])
    whole = CountLaw.negative_binomial(rng.normal(2, 1, (3, 5)), rng.gamma(2, 0.2, (3, 5)), floors)
    rows, columns = np.array([0, 2, 1, 1]), np.array([4, 0, 3, 3])
    counts, positions = whole.counts_at(rng.standard_normal((3, 5))), rng.random((3, 5))
    part = whole.at(rows, columns)
    own = counts[rows, columns][None], positions[rows, columns][None]
    assert_allclose(part.scores(*own)[0], whole.scores(counts, positions)[rows, columns])


@pytest.mark.parametrize("floor", [1.0, 3.0])
def test_logits_are_those_of_the_probability_below_the_floor(floor):
    rng = np.random.default_rng(0)
    log_rates, dispersions = rng.uniform(-6, 6, (200, 30)), rng.uniform(0.01, 5, (200, 30))
    floors = np.full((200, 1), floor)
    single = log_rates.astype(np.float32), dispersions.astype(np.float32)
    below = probability_below(*(part.astype(np.float64) for part in single), floors)
    told = (below > 1e-9) & (below < 1 - 1e-9)
    found = logits_below(*single, floors)
    assert_allclose(found[told], special.logit(below)[told], rtol=1e-3, atol=1e-4)


def test_logits_of_a_zero_have_digits_next_to_1():
    rate = np.full((1, 1), np.log(1e-5), np.float32)
    found = logits_below(rate, np.full((1, 1), 0.5, np.float32), np.ones((1, 1)))
    # P(0) = (1 + φ rate)^(-1/φ), so that 1 − P(0) is the rate, of which single precision has 0.
    assert_allclose(found, -np.log(1e-5), rtol=1e-5)
