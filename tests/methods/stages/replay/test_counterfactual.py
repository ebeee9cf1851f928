"""The same scan at another motion: laws, steps and bounds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from stillome.methods.stages.replay.count_law import CountLaw
from stillome.methods.stages.replay.counterfactual import (
    WeightLaw,
    ZeroShares,
    count_interval,
    positions_in_step,
    replay_counts,
    replay_weights,
)


def weight_law(rate, dispersion, shape) -> WeightLaw:
    return WeightLaw(np.full(shape, np.log(rate)), np.full(shape, float(dispersion)))


def law(rate, dispersion, shape, floor=1.0) -> CountLaw:
    return CountLaw.negative_binomial(*weight_law(rate, dispersion, shape), floor)


@given(
    seed=st.integers(0, 10**6),
    rates=st.tuples(st.floats(0.01, 1e4), st.floats(0.01, 1e4)),
    dispersions=st.tuples(st.floats(1e-3, 10), st.floats(1e-3, 10)),
)
def test_counts_stay_counts_and_stay_themselves_under_the_same_law(seed, rates, dispersions):
    rng = np.random.default_rng(seed)
    here, there = (law(r, d, (4, 6)) for r, d in zip(rates, dispersions, strict=True))
    counts = rng.poisson(rates[0], (4, 6))
    positions = rng.random((4, 6))
    moved = replay_counts(counts, here, there, positions)
    assert_array_equal(moved, np.round(moved))
    assert (moved >= 0).all()
    assert_array_equal(replay_counts(counts, here, here, positions), counts)


@given(seed=st.integers(0, 10**6), factor=st.floats(1, 10))
def test_more_fibres_at_the_reference_never_lower_a_count(seed, factor):
    rng = np.random.default_rng(seed)
    counts = rng.poisson(20, (3, 5))
    moved = replay_counts(
        counts, law(20, 0.2, (3, 5)), law(20 * factor, 0.2, (3, 5)), rng.random((3, 5))
    )
    assert (moved >= counts).all()


@pytest.mark.parametrize(
    ("here", "there"),
    [((1.5, 0.3), (4.0, 0.3)), ((30, 0.2), (50, 0.1)), ((0.2, 1.0), (0.6, 0.5))],
)
def test_replayed_counts_follow_the_law_at_the_reference(here, there):
    rng = np.random.default_rng(0)
    shape = (20_000, 1)
    counts = rng.poisson(here[0] * rng.gamma(1 / here[1], here[1], shape))
    moved = replay_counts(counts, law(*here, shape), law(*there, shape), rng.random(shape))
    size = 1 / there[1]
    target = stats.nbinom(size, size / (size + there[0]))
    cells = np.unique(target.ppf(np.linspace(0, 1, 12)[1:-1]))
    observed = np.bincount(np.searchsorted(cells, moved.ravel()), minlength=len(cells) + 1)
    expected = len(moved) * np.diff([0.0, *target.cdf(cells), 1.0])
    assert stats.chisquare(observed, expected).pvalue > 0.001


def test_draws_depend_on_the_own_connectome_and_the_seed_only():
    edges = np.random.default_rng(1).poisson(3, (5, 40))
    draws = positions_in_step(edges, [0, 0])
    order = np.array([3, 1, 4])
    assert_array_equal(positions_in_step(edges[order], [0, 0]), draws[order])
    assert_array_equal(positions_in_step(edges.astype(np.float32), [0, 0]), draws)
    assert (positions_in_step(edges, [1, 0]) != draws).all()
    assert (positions_in_step(edges, [0, 1]) != draws).all()
    assert (draws[0] != draws[1]).all()
    assert stats.kstest(draws.ravel(), "uniform").pvalue > 0.001


def test_draws_follow_the_edges_when_these_are_permuted():
    rng = np.random.default_rng(2)
    edges, ranks, turn = rng.poisson(3, (4, 30)), rng.permutation(30), rng.permutation(30)
    draws = positions_in_step(edges, [0, 0], ranks)
    assert_array_equal(positions_in_step(edges[:, turn], [0, 0], ranks[turn]), draws[:, turn])


class Weights:
    shape = (4000, 3)

    def __init__(self, empty: float) -> None:
        rng = np.random.default_rng(2)
        self.here, self.there = weight_law(8, 0.3, self.shape), weight_law(13, 0.2, self.shape)
        spread = np.sqrt(np.log1p(0.3))
        noise = spread * rng.standard_normal(self.shape) - spread**2 / 2  # of mean 1
        drawn = np.exp(self.here.log_rates + noise)
        self.values = np.where(rng.random(self.shape) < empty, 0.0, drawn)
        self.positions = rng.random(self.shape)
        self.sure = np.zeros(self.shape)

    def shares(self, here: float, there: float) -> ZeroShares:
        return ZeroShares(np.full(self.shape, here), np.full(self.shape, there))


def test_weights_follow_the_law_at_the_reference_and_zeros_stay():
    data = Weights(0.2)
    moved = replay_weights(
        data.values, data.here, data.there, data.shares(0.2, 0.2), data.sure, data.positions
    )
    assert_array_equal(moved == 0, data.values == 0)
    spread = np.sqrt(np.log1p(0.2))
    score = (np.log(moved[moved > 0]) - np.log(13)) / spread + spread / 2
    assert stats.kstest(score, "norm").pvalue > 0.001


def test_weights_under_the_same_law_stay_themselves():
    data = Weights(0.2)
    same = replay_weights(
        data.values, data.here, data.here, data.shares(0.2, 0.2), data.sure, data.positions
    )
    assert_allclose(same, data.values, rtol=1e-9)


@pytest.mark.parametrize("there", [0.05, 0.4])
def test_zeros_of_weights_become_as_frequent_as_at_the_reference(there):
    data = Weights(0.2)
    moved = replay_weights(
        data.values, data.here, data.there, data.shares(0.2, there), data.sure, data.positions
    )
    assert (moved >= 0).all()
    assert abs((moved == 0).mean() - there) < 0.015
    spread = np.sqrt(np.log1p(0.2))
    score = (np.log(moved[moved > 0]) - np.log(13)) / spread + spread / 2
    assert stats.kstest(score, "norm").pvalue > 0.001
    if there > 0.2:
        assert (moved[data.values == 0] == 0).all()
    else:
        assert (moved[data.values > 0] > 0).all()


def test_weights_are_drawn_with_the_uncertainty_of_the_effect():
    data = Weights(0.0)
    moved = replay_weights(
        data.values, data.here, data.here, data.shares(0, 0), data.sure + 0.1, data.positions
    )
    change = np.log(moved / data.values)
    assert abs(change.std() - 0.1) < 0.005 and abs(change.mean()) < 0.005


class TestInterval:
    shape = (3000, 4)

    def setup_method(self):
        rng = np.random.default_rng(3)
        self.here, self.there = law(12, 0.2, self.shape), law(30, 0.1, self.shape)
        self.counts = rng.poisson(12 * rng.gamma(5, 0.2, self.shape))
        self.rng = rng

    def bounds(self, there: CountLaw, sd: float, level: float, correlation: float = 1.0):
        arrays = (np.full(self.shape, value) for value in (sd, correlation))
        return count_interval(self.counts, self.here, there, *arrays, level)

    def test_holds_the_replayed_counts_as_often_as_it_says(self):
        moved = replay_counts(self.counts, self.here, self.there, self.rng.random(self.shape))
        lower, upper = self.bounds(self.there, 0.0, 0.8)
        # A fibre cannot be divided, so that bounds hold more often than they must; bounds one
        # fibre narrower on either side would hold too seldom.
        assert ((lower <= moved) & (moved <= upper)).mean() >= 0.8
        assert ((lower < moved) & (moved < upper)).mean() < 0.8

    def test_holds_when_the_effect_itself_is_uncertain(self):
        shift = 0.2 * self.rng.standard_normal(self.shape)
        true = CountLaw.negative_binomial(self.there.log_rates + shift, self.there.dispersions)
        moved = replay_counts(self.counts, self.here, true, self.rng.random(self.shape))
        sure, unsure = self.bounds(self.there, 0.0, 0.9), self.bounds(self.there, 0.2, 0.9)
        assert ((sure[0] <= moved) & (moved <= sure[1])).mean() < 0.6
        assert ((unsure[0] <= moved) & (moved <= unsure[1])).mean() >= 0.9

    def test_holds_when_the_two_scans_are_less_than_the_same(self):
        noise, correlation = self.rng.standard_normal(self.shape), np.full(self.shape, 0.9)
        moved = replay_counts(
            self.counts, self.here, self.there, self.rng.random(self.shape), correlation, noise
        )
        same, less = (self.bounds(self.there, 0.0, 0.9, value) for value in (1.0, 0.9))
        assert ((same[0] <= moved) & (moved <= same[1])).mean() < 0.6
        assert 0.9 <= ((less[0] <= moved) & (moved <= less[1])).mean() < 0.94

    def test_is_a_point_where_nothing_changes(self):
        lower, upper = self.bounds(self.here, 0.0, 0.9)
        assert_array_equal(lower, self.counts)
        assert_array_equal(upper, self.counts)

    def test_grows_with_the_level(self):
        narrow, wide = self.bounds(self.there, 0.1, 0.5), self.bounds(self.there, 0.1, 0.99)
        assert (wide[0] <= narrow[0]).all() and (narrow[1] <= wide[1]).all()
        assert (narrow[0] <= narrow[1]).all() and (wide[0] >= 0).all()
