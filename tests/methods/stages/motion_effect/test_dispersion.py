"""Dispersions by moments and by likelihood, against planted ones."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import special
from scipy.optimize import minimize_scalar
from scipy.stats import nbinom

from stillome.methods.stages.convergence import Iterations
from stillome.methods.stages.motion_effect.dispersion import (
    _derivatives,
    fit_dispersion,
    fit_dispersion_slopes,
    likely_dispersion,
    scaled_dispersion,
)

E = 120


def draw(rates: np.ndarray, dispersion: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    shape = np.broadcast_to(1 / dispersion, rates.shape)
    return rng.poisson(rates * rng.gamma(shape, 1 / shape)).astype(np.float32)


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
    rng = np.random.default_rng(5)
    rates = np.exp(np.broadcast_to(rng.uniform(1, 6, E), (250, E)))
    common = rng.uniform(0.05, 0.4, E)
    functions = rng.standard_normal((250, 1)).astype(np.float32)
    functions = (functions - functions.mean()) / functions.std()
    counts = draw(rates, scaled_dispersion(common, np.array([slope]), functions), rng)
    found = fit_dispersion_slopes(counts, rates, common, functions)
    assert_allclose(found, slope, atol=0.1)


def test_counts_that_are_not_negative_binomial_converge_too():
    rng = np.random.default_rng(9)
    rates = np.broadcast_to(rng.uniform(1, 2000, E), (60, E)).astype(np.float32)
    spread = rng.uniform(0.1, 3, E)
    counts = np.round(rates * rng.lognormal(0, spread, (60, E))).astype(np.float32)
    counts[:, :4] = 0
    iterations = Iterations()
    found = likely_dispersion(counts, rates, fit_dispersion(counts, rates), iterations=iterations)
    assert np.isfinite(found).all() and iterations.n_iter["dispersion"] < 60


@pytest.mark.parametrize("size", [0.02, 1.0, 50.0, 1000.0])
@pytest.mark.parametrize("whole", [True, False])
def test_derivatives_in_single_precision_are_those_of_the_likelihood(size, whole):
    rng = np.random.default_rng(0)
    rates = np.exp(rng.normal(1.5, 1.5, (300, 20))).astype(np.float32)
    counts = rng.poisson(rng.gamma(size, 1 / size, rates.shape) * rates).astype(np.float32)
    counts = counts if whole else counts * np.float32(0.7)
    sizes = size * np.exp(rng.normal(0, 0.1, 20))
    gradient, information = _derivatives(counts, rates, sizes)
    log_size, step = np.log(sizes), 1e-4
    ends = [log_likelihoods(counts, rates, np.exp(log_size + by)) for by in (-step, step)]
    expected = -(ends[1] - ends[0]).sum(axis=0) / (2 * step)  # log φ is minus the log of the size
    # In standard errors; dispersions of 0.001, hardly visible, are at the end of their range.
    assert np.abs((gradient - expected) / np.sqrt(information)).max() < 0.01


def log_likelihoods(counts: np.ndarray, rates: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Log density of the negative binomial, continued to numbers that are not whole."""
    counts, rates = counts.astype(np.float64), rates.astype(np.float64)
    total = rates + sizes
    return (
        special.gammaln(counts + sizes)
        - special.gammaln(sizes)
        + sizes * np.log(sizes / total)
        + counts * np.log(rates / total)
    )
