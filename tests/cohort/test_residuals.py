"""Least squares against scikit-learn's, in any units."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import LinearRegression

from stillome.cohort.residuals import least_squares, residualised


def _data():
    rng = np.random.default_rng(0)
    on = rng.normal(3.0, 1.0, (40, 2))
    return rng.standard_normal((40, 5)) + on @ rng.standard_normal((2, 5)), on


def test_equals_a_linear_regression_with_an_intercept():
    values, on = _data()
    expected = LinearRegression().fit(on[:30], values[:30])
    fitted = least_squares(values[:30], on[:30])
    assert_allclose(fitted.predict(on[30:]), expected.predict(on[30:]))
    assert_allclose(fitted.residuals(values, on), values - expected.predict(on))


def test_residuals_are_orthogonal_to_the_predictors_and_centred():
    values, on = _data()
    left = residualised(values, on)
    assert_allclose(left.mean(axis=0), 0, atol=1e-12)
    assert_allclose(on.T @ left, 0, atol=1e-10)


@pytest.mark.parametrize("units", [1e-9, 1e9])
def test_units_of_one_predictor_change_nothing(units):
    values, on = _data()
    assert_allclose(residualised(values, on * [1.0, units]), residualised(values, on), atol=1e-9)


def test_dummies_that_add_up_to_one_and_a_constant_column_do_no_harm():
    values, _ = _data()
    site = np.arange(40) % 3
    dummies = np.column_stack([np.eye(3)[site], np.ones(40)])
    left = residualised(values, dummies)
    for number in range(3):
        assert_allclose(left[site == number].mean(axis=0), 0, atol=1e-12)


def test_what_covariates_explain_beside_the_predictors_is_kept():
    rng = np.random.default_rng(1)
    age = rng.standard_normal((500, 1))
    motion = 0.8 * age + 0.6 * rng.standard_normal((500, 1))
    values = 3 * age - 2 * motion
    fitted = least_squares(values, motion, age)
    assert_allclose(fitted.coefficients, [[-2.0]])
    left = fitted.residuals(values, motion)
    assert_allclose(left - left.mean(), 3 * (age - age.mean()), atol=1e-9)
