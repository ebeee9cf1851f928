"""Susceptibility, individual differences in the motion effect: found where planted only."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from stillome.evaluate.identity import identification_rate
from stillome.methods.inv_fa.decoder import Decoder
from stillome.methods.inv_fa.decoder_fit import fit_decoder
from stillome.methods.inv_fa.inv_fa import InvFA
from stillome.methods.inv_fa.susceptibility import susceptible_functions
from stillome.methods.stages.motion_effect.basis import MotionBasis
from stillome.methods.stages.motion_effect.effect import MotionEffect
from stillome.simulate import simulate_cohort, simulate_extreme_motion

N, E, K = 400, 300, 5


def decode(
    susceptibility: list[list[float]], seed: int = 0, empty_units: int = 1
) -> tuple[Decoder, Decoder]:
    """Fit counts with planted susceptibilities; return the fitted decoder and the true one."""
    rng = np.random.default_rng(seed)
    first = rng.standard_normal(N)
    both = np.column_stack([first, 0.5 * first + rng.standard_normal(N)])
    basis = MotionBasis.fit(confounds := np.exp(0.5 * both))
    functions, shares = basis(confounds), basis.confound_shares
    latent = rng.standard_normal((N, K))
    latent[:, K - empty_units :] = 0
    slopes = 0.05 * rng.standard_normal((basis.n_functions, E)) - 0.1
    baseline, dispersion = rng.uniform(1, 5, E), np.full(E, 0.1)
    none, nothing = np.zeros(basis.n_functions), np.zeros_like(slopes)
    errors = np.zeros((basis.n_functions, 0, E))
    effect = MotionEffect(baseline, slopes, dispersion, none, nothing, errors, none)
    loadings = 0.15 * rng.standard_normal((K, E))
    planted = {"susceptibility": np.array(susceptibility), "shares": shares}
    truth = Decoder(np.zeros(E), loadings, dispersion, none, np.zeros(()), **planted)
    rates = np.exp(truth.log_rates(effect, functions, latent))
    counts = rng.poisson(rates * rng.gamma(10, 1 / 10, (N, E))).astype(np.float32)
    return fit_decoder(counts, effect, functions.astype(np.float32), latent, shares), truth


def test_susceptibility_is_found_for_each_confound():
    found, truth = decode([[0.3, 0, -0.1, 0, 0], [0, 0.2, 0, 0, 0]])
    assert_allclose(found.susceptibility, truth.susceptibility, atol=0.03)


def test_chance_is_not_taken_for_susceptibility():
    found = [decode([[0.0] * K] * 2, seed)[0].susceptibility for seed in range(1, 6)]
    assert np.sqrt(np.mean(np.square(found))) < 0.006


def test_empty_units_have_no_susceptibility():
    found, _ = decode([[0.3, 0, 0, 0, 0], [0] * K], empty_units=2)
    assert_array_equal(found.susceptibility[:, -2:], 0)


@pytest.mark.parametrize(
    ("regime", "least", "most"), [("interaction", 0.2, 0.6), ("loglinear", 0, 0.03)]
)
def test_whole_fits_find_susceptibility_where_it_is(regime, least, most):
    simulated = simulate_cohort(300, regime, random_state=0)
    model = InvFA().fit(simulated.X, confounds=simulated.confounds)
    latent = model.transform(simulated.X, confounds=simulated.confounds)
    factor = latent @ model.model_.decoder.susceptibility[0]
    assert least <= factor.std() <= most


@given(size=st.floats(-1e6, 1e6), motion=st.floats(-10, 10))
def test_the_effect_lies_between_none_and_twice_the_average(size, motion):
    one = np.ones((1, 1))
    changed = susceptible_functions(np.array([[motion]]), one, size * one, one[None])
    assert min(0, 2 * motion) <= changed[0, 0] <= max(0, 2 * motion)


def test_what_is_no_susceptibility_is_not_taken_for_it():
    simulated = simulate_extreme_motion(60, "paired", n_regions=30, random_state=0)
    model = InvFA().fit(simulated.X, confounds=simulated.confounds)
    adjusted = model.adjust(simulated.X, confounds=simulated.confounds)
    level = simulated.cohort.traits["level"].to_numpy()
    for motion in (0.5, 0.9):
        at = level == motion
        assert identification_rate(adjusted[at], simulated.X_free[at]) > 0.95
