"""Sums from 0 on against incomplete beta functions."""

import numpy as np
import pytest
from scipy import stats

from stillome.counts.tails import mass_and_tail


@pytest.mark.parametrize("upper", [False, True])
def test_small_and_large_counts_as_scipy_has_them(upper: bool) -> None:
    k, mean, size = (
        part.ravel()
        for part in np.meshgrid(
            [0.0, 1.0, 7.0, 47.0, 48.0, 300.0], [1e-3, 0.4, 5.0, 60.0, 2e4], [0.02, 1.0, 900.0]
        )
    )
    mass, tail = mass_and_tail(k, mean, size, np.full(len(k), upper))
    law = stats.nbinom(size, size / (size + mean))
    np.testing.assert_allclose(mass, law.pmf(k), rtol=1e-9, atol=1e-250)
    expected = law.sf(k) if upper else law.cdf(k)
    np.testing.assert_allclose(tail, expected, rtol=1e-9, atol=1e-250)


def test_the_order_of_counts_does_not_matter() -> None:
    rng = np.random.default_rng(0)
    k, mean, size = rng.integers(0, 99, 500) * 1.0, rng.gamma(2, 9, 500), rng.gamma(2, 2, 500)
    order, upper = rng.permutation(500), k > mean
    mass, tail = mass_and_tail(k, mean, size, upper)
    again = mass_and_tail(k[order], mean[order], size[order], upper[order])
    assert np.array_equal(again[0], mass[order])
    assert np.array_equal(again[1], tail[order])
