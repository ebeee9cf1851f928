"""How much edges deviate, by the size of the shared effect."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from stillome.methods.stages.motion_effect.own_scale import fit_own_scale

E = 3000


def drawn(seed, constant, growing):
    rng = np.random.default_rng(seed)
    shared = -rng.uniform(0.02, 0.5, E)
    variances = rng.uniform(0.5, 2, E) * 0.02**2
    own = np.sqrt(constant**2 + growing**2 * shared**2)
    residual = own * rng.standard_normal(E) + np.sqrt(variances) * rng.standard_normal(E)
    return residual, variances, shared, own


@pytest.mark.parametrize(("constant", "growing"), [(0.05, 0.0), (0.0, 0.3), (0.03, 0.2)])
def test_the_variance_of_deviations_is_found(constant, growing):
    residual, variances, shared, own = drawn(0, constant, growing)
    found = fit_own_scale(residual, variances, shared)
    expected = own**2 / np.mean(own**2)
    assert np.abs(np.log(np.maximum(found, 0.1) / np.maximum(expected, 0.1))).mean() < 0.2


def test_without_deviations_all_edges_are_alike():
    residual, variances, shared, _ = drawn(1, 0.0, 0.0)
    found = fit_own_scale(0.3 * residual, variances, shared)
    assert_allclose(found, 1)


def test_edges_without_noise_say_nothing():
    residual, variances, shared, _ = drawn(2, 0.05, 0.0)
    empty = np.zeros(500)
    found = fit_own_scale(
        np.append(residual, empty), np.append(variances, empty), np.append(shared, empty)
    )
    assert np.isfinite(found).all()
    assert np.corrcoef(found[:E], fit_own_scale(residual, variances, shared))[0, 1] > 0.99
    assert_allclose(fit_own_scale(empty, empty, empty), 1)


@given(st.floats(1e-6, 1e6), st.integers(0, 20))
def test_units_do_not_matter(unit, seed):
    residual, variances, shared, _ = drawn(seed, 0.02, 0.2)
    found = fit_own_scale(unit * residual, unit**2 * variances, unit * shared)
    assert_allclose(found, fit_own_scale(residual, variances, shared), rtol=1e-6)
    assert found.mean() == pytest.approx(1)
    assert (found > 0).all()
