"""Distribution matching: quantiles of the reference, never negative, whole numbers stay whole."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import ks_2samp

from stillome.methods.linear.quantile_matching import EdgeQuantiles, QuantileMatching


@pytest.fixture(scope="module")
def moving():
    rng = np.random.default_rng(8)
    motion = rng.lognormal(-0.5, 0.6, 600)
    means = np.exp(rng.uniform(2, 5, 15) - 0.8 * motion[:, None])
    return rng.poisson(rng.gamma(5, means / 5)), motion


def test_everybody_gets_the_distribution_of_those_who_moved_least(moving):
    counts, motion = moving
    X = counts + np.random.default_rng(0).random(counts.shape)  # no ties, which no map can part
    model = QuantileMatching(n_batches=4).fit(X, confounds=motion)
    batch = model.batches_.of(motion[:, None])
    adjusted = model.adjust(X, confounds=motion)
    for edge in range(X.shape[1]):
        rest, most = X[batch == 0, edge], batch == 3
        assert ks_2samp(adjusted[most, edge], rest).statistic < 0.03
        assert ks_2samp(X[most, edge], rest).statistic > 0.3


def test_counts_stay_counts_and_weights_stay_weights(moving):
    X, motion = moving
    counts = QuantileMatching(n_batches=4).fit(X, confounds=motion)
    assert counts.adjust(X, confounds=motion).dtype == np.int64
    weights = X * 0.37
    scaled = QuantileMatching(n_batches=4).fit(weights, confounds=motion)
    adjusted = scaled.adjust(weights, confounds=motion)
    assert adjusted.dtype == np.float64 and (adjusted >= 0).all()
    assert np.abs(adjusted / 0.37 - counts.adjust(X, confounds=motion)).max() <= 0.5 + 1e-6


def test_the_batch_of_the_reference_stays_as_it_is(moving):
    X, motion = moving
    model = QuantileMatching(n_batches=3).fit(X, confounds=motion)
    there = model.batches_.of(motion[:, None]) == 1
    adjusted = model.adjust(X, confounds=motion, reference=float(np.median(motion)))
    assert_array_equal(adjusted[there], X[there])
    assert (adjusted[~there] != X[~there]).any()


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 60), st.integers(1, 60))
def test_the_map_never_turns_an_order_around(seed, n_here, n_there):
    rng = np.random.default_rng(seed)
    here, there = rng.poisson(3, (n_here, 1)), rng.poisson(8, (n_there, 1))
    quantiles = EdgeQuantiles.fit(
        np.concatenate([here, there]).astype(float), np.repeat([0, 1], [n_here, n_there])
    )
    asked = np.arange(0, 30, 0.5)[:, None]
    found = quantiles.matched(asked, np.zeros(60), np.ones(60))
    assert (np.diff(found[:, 0]) >= -1e-12).all() and (found >= 0).all()
    same = quantiles.matched(asked, np.zeros(60), np.zeros(60))
    assert_allclose(same, asked, atol=1e-12)


def test_a_shift_and_a_scale_are_undone_exactly():
    rng = np.random.default_rng(0)
    rest = rng.gamma(3, 2, (80, 5))
    edges = np.concatenate([rest, 0.5 * rest])
    quantiles = EdgeQuantiles.fit(edges, np.repeat([0, 1], 80))
    inner = (rest >= np.quantile(rest, 0.02, axis=0)) & (rest <= np.quantile(rest, 0.98, axis=0))
    found = quantiles.matched(0.5 * rest, np.ones(80), np.zeros(80))
    assert_allclose(found[inner], rest[inner], rtol=1e-9)
