"""Weights that are not counts: the unit in which they vary like counts, and how they scatter."""

import numpy as np
import pytest

from stillome.methods.inv_fa.weights import fit_spread, is_whole, weight_unit


def compound(weight, seed=0, n_subjects=300, n_edges=1500):
    """Sums of streamline weights of this mean: Poisson many, gamma each."""
    rng = np.random.default_rng(seed)
    rates = np.exp(rng.normal(1, 1.5, n_edges) + 0.4 * rng.standard_normal((n_subjects, n_edges)))
    streamlines = rng.poisson(rates)
    sums = rng.gamma(np.maximum(2.0 * streamlines, 1e-9), weight / 2)
    return np.where(streamlines > 0, sums, 0.0)


def test_what_counts_as_whole():
    assert is_whole(np.array([[3, 1]])) and is_whole(np.array([[3.0, 0.0]]))
    assert not is_whole(np.array([[3.0, 0.5]]))


@pytest.mark.parametrize("weight", [1e-4, 0.03, 50.0])
def test_the_unit_of_sums_of_streamline_weights_is_found(weight):
    # Gamma weights of shape 2: E[w²] / E[w] = 1.5 E[w] is the variance per unit of the mean.
    assert weight_unit(compound(weight)) == pytest.approx(1 / (1.5 * weight), rel=0.1)


def test_counts_and_nothing_are_left_as_they_are():
    assert weight_unit(np.array([[7, 0]])) == 1
    assert weight_unit(np.zeros((3, 4)) + np.array([0.0, 0, 0, 0])) == 1


def test_weights_without_grain_have_a_bounded_unit():
    rng = np.random.default_rng(1)
    smooth = np.exp(rng.normal(0, 1, 500) + 0.3 * rng.standard_normal((200, 500)))
    assert 1 <= weight_unit(smooth) * np.median(smooth) <= 1000


def test_scatter_is_split_into_spread_and_grain():
    rng = np.random.default_rng(2)
    log_rates = rng.uniform(2, 5, (400, 300))
    variance = np.log1p(0.04 + 0.8 * np.exp(-log_rates))
    weights = np.exp(log_rates - variance / 2 + np.sqrt(variance) * rng.standard_normal((400, 300)))
    spread, grain = fit_spread(weights, log_rates)
    assert grain == pytest.approx(0.8, rel=0.1)
    assert np.median(spread) == pytest.approx(0.04, rel=0.15)
    _, none = fit_spread(np.exp(log_rates + 0.2 * rng.standard_normal((400, 300))), log_rates)
    assert none < 0.05


def test_empty_edges_do_no_harm():
    rng = np.random.default_rng(3)
    weights = np.where(np.arange(20) < 3, 0.0, rng.gamma(2.0, 1.0, (50, 20)))
    spread, grain = fit_spread(weights, np.zeros((50, 20)))
    assert np.isfinite(spread).all() and np.isfinite(grain)
    assert np.isfinite(weight_unit(weights))
