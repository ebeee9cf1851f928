"""Derivatives of the probit likelihood and probits, from tables, against these themselves."""

import numpy as np
import pytest
from scipy import stats

from stillome.methods.stages.replay.probit_tables import (
    PROBIT_RANGE,
    STEP,
    probit_derivatives,
    rounded_probits,
)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("empty", [False, True])
def test_near_to_the_derivatives(dtype: type, empty: bool) -> None:
    x = np.linspace(-5, 5, 100_001).astype(dtype)
    residual, weights = probit_derivatives(x, np.full(len(x), empty))
    exact = x.astype(np.float64)
    density = stats.norm.pdf(exact)
    of_empty, of_present = density / stats.norm.cdf(exact), density / stats.norm.sf(exact)
    error = 8e-5  # half a cell times the largest slope, which is below 1
    np.testing.assert_allclose(residual, of_empty if empty else -of_present, atol=error)
    np.testing.assert_allclose(weights, of_empty * of_present, atol=error)
    assert residual.dtype == weights.dtype == dtype


def test_beyond_the_ends_as_at_the_ends() -> None:
    x, empty = np.array([-9.0, -5.0, 5.0, 9.0]), np.array([True, True, False, False])
    for found in probit_derivatives(x, empty):
        assert found[0] == found[1]
        assert found[2] == found[3]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_probits_near_to_those_of_the_normal_distribution(dtype: type) -> None:
    probits = np.linspace(-9, 9, 100_001)
    logits = stats.norm.logcdf(probits) - stats.norm.logsf(probits)
    bounded = np.clip(probits, *stats.norm.ppf(PROBIT_RANGE))
    found = rounded_probits(logits.astype(dtype)) * STEP
    np.testing.assert_allclose(found, bounded, atol=0.6 * STEP + 2e-4)


def test_nothing_and_everything_have_probits() -> None:
    low, high = rounded_probits(np.array([-np.inf, np.inf])) * STEP
    np.testing.assert_allclose([low, high], stats.norm.ppf(PROBIT_RANGE), atol=STEP)
