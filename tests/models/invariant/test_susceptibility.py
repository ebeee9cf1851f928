"""Whom motion hits harder: found where it is so, and nowhere else."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from stillome.models.invariant.basis import MotionBasis
from stillome.models.invariant.decoder import Decoder, fit_decoder
from stillome.models.invariant.effect import MotionEffect
from stillome.models.invariant.susceptibility import as_felt

N, E, K = 400, 300, 5


def decode(
    susceptibility: list[list[float]], seed: int = 0, empty_units: int = 1
) -> tuple[Decoder, Decoder]:
    """Fit people whom two confounds hit as planted; return what was found, and what is so."""
    rng = np.random.default_rng(seed)
    basis = MotionBasis.fit(confounds := rng.lognormal(-1, 0.5, (N, 2)))
    functions, n_functions = basis(confounds), basis.n_functions
    latent = rng.standard_normal((N, K))
    latent[:, K - empty_units :] = 0
    slopes = np.zeros((n_functions, E))
    for confound in range(2):
        slopes[basis.confound_of == confound] = 0.05 * rng.standard_normal(E) - 0.2
    baseline, dispersion = rng.uniform(1, 5, E), np.full(E, 0.1)
    none, nothing = np.zeros(n_functions), np.zeros_like(slopes)
    effect = MotionEffect(baseline, slopes, dispersion, none, nothing, none)
    planted = np.array(susceptibility)[basis.confound_of]
    loadings = 0.15 * rng.standard_normal((K, E))
    truth = Decoder(np.zeros(E), loadings, dispersion, none, susceptibility=planted)
    rates = np.exp(truth.log_rates(effect, functions, latent))
    counts = rng.poisson(rates * rng.gamma(10, 1 / 10, (N, E))).astype(np.float32)
    single = functions.astype(np.float32)
    return fit_decoder(counts, effect, single, latent, basis.confound_of), truth


def test_who_is_hit_harder_is_found_for_each_confound():
    found, truth = decode([[0.3, 0, -0.1, 0, 0], [0, 0.2, 0, 0, 0]])
    assert_allclose(found.susceptibility, truth.susceptibility, atol=0.03)


def test_nobody_is_hit_harder_by_chance():
    sizes = [np.abs(decode([[0] * K, [0] * K], seed)[0].susceptibility).max() for seed in (1, 2, 3)]
    assert max(sizes) < 0.01


def test_units_that_carry_nothing_say_nothing():
    found, _ = decode([[0.3, 0, 0, 0, 0], [0] * K], empty_units=2)
    assert_array_equal(found.susceptibility[:, -2:], 0)


@given(size=st.floats(-1e6, 1e6), motion=st.floats(-10, 10))
def test_nobody_is_hit_by_less_than_nothing_or_more_than_twice(size, motion):
    felt = as_felt(np.array([[motion]]), np.array([[1.0]]), np.array([[size]]))[0, 0]
    assert min(0, 2 * motion) <= felt <= max(0, 2 * motion)


def test_models_of_earlier_versions_hit_everybody_alike():
    functions, latent = np.array([[1.0, -2.0]]), np.ones((1, 3))
    default = Decoder(*(np.zeros(1) for _ in range(4))).susceptibility
    assert_array_equal(as_felt(functions, latent, default), functions)
