"""Tables of inverse Mills ratios and probits against these themselves."""

import numpy as np
import pytest
from scipy import stats

from stillome.methods.stages.replay.probit_tables import (
    PROBIT_RANGE,
    inverse_mills_ratios,
    probits,
)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_near_to_the_ratios(dtype: type) -> None:
    x = np.linspace(-5, 5, 100_001).astype(dtype)
    first, second = inverse_mills_ratios(x)
    error = 8e-5  # half a cell times the largest slope, which is below 1
    exact = x.astype(np.float64)
    np.testing.assert_allclose(first, stats.norm.pdf(exact) / stats.norm.cdf(exact), atol=error)
    np.testing.assert_allclose(second, stats.norm.pdf(exact) / stats.norm.sf(exact), atol=error)
    assert first.dtype == dtype


def test_beyond_the_ends_as_at_the_ends() -> None:
    first, second = inverse_mills_ratios(np.array([-9.0, -5.0, 5.0, 9.0]))
    assert first[0] == first[1]
    assert second[2] == second[3]


def test_probits_near_to_those_of_the_normal_distribution() -> None:
    shares = stats.norm.cdf(np.linspace(-9, 9, 100_001))
    bounded = np.clip(shares, *PROBIT_RANGE)
    np.testing.assert_allclose(probits(shares), stats.norm.ppf(bounded), atol=2e-6)
