"""Moments of log(1 + count), against exact sums over the negative binomial law."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from stillome.methods.inv_fa.moments import log_moments

DISPERSIONS = (0.002, 0.05, 0.3, 1.0, 5.0)


def exact(rate: float, dispersion: float) -> tuple[float, float]:
    size = 1 / dispersion
    law = stats.nbinom(size, size / (size + rate))
    counts = np.arange(int(law.isf(1e-12)) + 2)
    p, logs = law.pmf(counts), np.log1p(counts)
    mean = p @ logs
    return float(mean), float(np.sqrt(p @ (logs - mean) ** 2))


@pytest.mark.parametrize("dispersion", DISPERSIONS)
@pytest.mark.parametrize("rate", [0.003, 0.1, 1.3, 17.0, 200.0, 5000.0])
def test_equal_exact_sums(rate, dispersion):
    mean, sd = exact(rate, dispersion)
    found = log_moments(np.log([rate]), np.log([dispersion]))
    assert_allclose(found.mean, mean, rtol=0.01, atol=0.004)
    assert_allclose(found.sd, sd, rtol=0.02)


def test_equal_drawn_counts():
    rng = np.random.default_rng(0)
    counts = rng.poisson(30 * rng.gamma(2.0, 0.5, 200_000))
    found = log_moments(np.log([30.0]), np.log([0.5]))
    assert abs(found.mean[0] - np.log1p(counts).mean()) < 0.01
    assert abs(found.sd[0] - np.log1p(counts).std()) < 0.01


def test_large_counts_are_not_cut_off():
    found = log_moments(np.log([1e5, 1e6]), np.log([0.01]))
    assert_allclose(np.diff(found.mean), np.log(10), atol=1e-3)
    assert_allclose(found.sd, 0.1, rtol=0.02)


def test_single_precision_is_kept_and_broadcast():
    log_rates = np.full((4, 3), 0.7, np.float32)
    found = log_moments(log_rates, np.full(3, -1.2, np.float32))
    assert found.mean.dtype == found.sd.dtype == np.float32
    assert found.mean.shape == found.sd.shape == (4, 3)
