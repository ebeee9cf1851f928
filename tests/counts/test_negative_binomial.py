"""Negative binomial tails against SciPy, and the map between laws against what it promises."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from stillome.counts.negative_binomial import map_counts, nb_cdf, nb_pmf, nb_quantile, nb_survival
from stillome.exceptions import InputError


@pytest.fixture(scope="module")
def laws():
    rng = np.random.default_rng(0)
    n = 4000
    mean, size = 10 ** rng.uniform(-3, 5, n), 10 ** rng.uniform(-1, 4, n)
    return mean, size, rng.random(n), stats.nbinom(size, size / (size + mean))


def test_tails_agree_with_scipy(laws):
    mean, size, level, reference = laws
    counts = reference.ppf(level)
    np.testing.assert_allclose(nb_cdf(counts, mean, size), reference.cdf(counts), rtol=1e-10)
    np.testing.assert_allclose(nb_survival(counts, mean, size), reference.sf(counts), rtol=1e-7)
    np.testing.assert_allclose(nb_pmf(counts, mean, size), reference.pmf(counts), rtol=1e-7)


def test_quantiles_agree_with_scipy(laws):
    mean, size, level, reference = laws
    np.testing.assert_array_equal(nb_quantile(level, mean, size), reference.ppf(level))


@pytest.mark.parametrize("upper", [False, True])
def test_quantiles_are_exact_far_out_in_either_tail(laws, upper):
    mean, size, _, _ = laws
    tail = 10 ** np.random.default_rng(1).uniform(-60, -1, len(mean))
    counts = nb_quantile(tail, mean, size, upper=upper)
    below = np.maximum(counts - 1, 0)
    if upper:
        at, before = nb_survival(counts, mean, size), nb_survival(below, mean, size)
        assert (at <= tail * (1 + 1e-7)).all()
        assert (before > tail * (1 - 1e-7))[counts > 0].all()
    else:
        at, before = nb_cdf(counts, mean, size), nb_cdf(below, mean, size)
        assert (at >= tail * (1 - 1e-7)).all()
        assert (before < tail * (1 + 1e-7))[counts > 0].all()


def test_a_huge_size_is_poisson():
    counts = np.arange(60)
    poisson = stats.poisson(20)
    np.testing.assert_allclose(nb_cdf(counts, 20, 1e12), poisson.cdf(counts), rtol=1e-8)
    np.testing.assert_allclose(nb_survival(counts, 20, 1e12), poisson.sf(counts), rtol=1e-8)
    levels = np.linspace(0.001, 0.999, 50)
    np.testing.assert_array_equal(nb_quantile(levels, 20, 1e12), poisson.ppf(levels))


def test_the_ends_of_the_scale_stay_finite():
    assert nb_quantile([0.0, 1.0], 3.0, 5.0).tolist() == [0, 726]
    assert nb_quantile([1.0, 0.0], 3.0, 5.0, upper=True).tolist() == [0, 726]


@settings(deadline=None)
@given(
    mean=st.floats(1e-3, 1e5),
    size=st.floats(0.1, 1e4),
    level=st.floats(1e-12, 1 - 1e-12),
)
def test_a_quantile_is_the_smallest_count_that_reaches_the_level(mean, size, level):
    count = int(nb_quantile(level, mean, size))
    assert nb_cdf(count, mean, size) >= level * (1 - 1e-9)
    if count:
        assert nb_cdf(count - 1, mean, size) < level * (1 + 1e-9)


def test_mapped_counts_follow_the_target_law():
    rng = np.random.default_rng(2)
    mean, size = np.array([0.2, 3.0, 40.0, 900.0]), np.array([4.0, 0.5, 20.0, 6.0])
    counts = rng.poisson(rng.gamma(size, mean / size, (20_000, 4)))
    to_mean, to_size = 1.7 * mean, 2 * size
    mapped = map_counts(counts, mean, size, to_mean, to_size, random_state=3)
    pit = nb_cdf(mapped, to_mean, to_size) - rng.random(mapped.shape) * nb_pmf(
        mapped, to_mean, to_size
    )
    for column in pit.T:
        assert stats.kstest(column, "uniform").pvalue > 1e-3


def test_the_map_keeps_order_dtype_and_identity():
    counts = np.arange(200, dtype=np.int16)
    assert (map_counts(counts, 9.0, 2.0, 9.0, 2.0, random_state=0) == counts).all()
    mapped = map_counts(counts, 60.0, 2.0, 90.0, 2.0, random_state=0)
    assert mapped.dtype == np.int16
    assert (np.diff(mapped) >= 0).all()
    grown = map_counts(np.array([200], np.uint8), 100.0, 3.0, 1000.0, 3.0, random_state=0)
    assert grown.dtype == np.int64
    assert 1900 < grown[0] < 2100


@pytest.mark.parametrize(
    "call",
    [
        lambda: nb_cdf([1, -1], 1.0, 1.0),
        lambda: nb_cdf(1, 0.0, 1.0),
        lambda: nb_cdf(1, 1.0, float("nan")),
        lambda: nb_cdf([1, 2], [1.0, 2.0, 3.0], 1.0),
        lambda: nb_cdf("many", 1.0, 1.0),
        lambda: nb_quantile(1.2, 1.0, 1.0),
        lambda: map_counts([0.5], 1.0, 1.0, 2.0, 1.0),
        lambda: map_counts(["a"], 1.0, 1.0, 2.0, 1.0),
        lambda: map_counts([1], 1.0, 1.0, -2.0, 1.0),
    ],
)
def test_bad_input_is_answered_with_a_sentence(call):
    with pytest.raises(InputError, match=r"\w+.*\."):
        call()
