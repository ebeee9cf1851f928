"""Weights that are not counts: how they scatter."""

import numpy as np
import pytest

from stillome.methods.inv_fa.weights import fit_spread


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
