"""Coupling: how much a count at the reference is a function of the observed one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy import stats

from stillome.exceptions import InputError
from stillome.methods.stages.replay.count_law import CountLaw
from stillome.methods.stages.replay.counterfactual import replay_counts
from stillome.methods.stages.replay.coupling import check_coupling, quantile_correlation

N = 60_000


def law(rate: float, dispersion: float, n: int = 1) -> CountLaw:
    return CountLaw.negative_binomial(np.full((n, 1), np.log(rate)), np.full((n, 1), dispersion))


def test_the_same_quantile_is_a_correlation_of_one():
    assert_array_equal(quantile_correlation(law(3, 0.2), law(9, 0.2), "quantile"), 1)
    assert_array_equal(quantile_correlation(law(9, 0.2), law(9, 0.2), "thinning"), 1)


@given(
    rates=st.tuples(st.floats(1e-5, 1e6), st.floats(1e-5, 1e6)),
    dispersion=st.floats(1e-3, 50),
)
def test_a_correlation_lies_between_0_and_1(rates, dispersion):
    here, there = (law(rate, dispersion) for rate in rates)
    found = float(quantile_correlation(here, there, "thinning")[0, 0])
    assert 0 <= found <= 1
    same = float(quantile_correlation(here, here, "thinning")[0, 0])
    assert found <= same == 1


@pytest.mark.parametrize("dispersion", [0.1, 0.5])
@pytest.mark.parametrize("kept", [0.5, 0.8])
@pytest.mark.parametrize("rate", [8.0, 40.0, 300.0])
def test_thinned_counts_come_back_with_the_correlation_of_thinning(rate, kept, dispersion):
    """Counts before and after binomial thinning, against replayed draws."""
    rng = np.random.default_rng(0)
    free = rng.poisson(rate * rng.gamma(1 / dispersion, dispersion, (N, 1)))
    seen = rng.binomial(free, kept)
    here, there = law(kept * rate, dispersion, N), law(rate, dispersion, N)
    correlation = quantile_correlation(here, there, "thinning")
    noise = rng.standard_normal((N, 1))
    draw = replay_counts(seen, here, there, rng.random((N, 1)), correlation, noise)
    expected = stats.spearmanr(seen.ravel(), free.ravel())[0]
    found = stats.spearmanr(seen.ravel(), draw.ravel())[0]
    assert found == pytest.approx(expected, abs=0.02)
    # One scan more is as far from the one without motion as its draws are from each other.
    errors = [np.abs(table - free).mean() for table in (seen, draw)]
    assert errors[1] < 1.5 * errors[0]
    size = 1 / dispersion
    target = stats.nbinom(size, size / (size + rate))
    assert draw.mean() == pytest.approx(rate, rel=0.03)
    assert draw.std() == pytest.approx(target.std(), rel=0.05)


@pytest.mark.parametrize("rate", [2.0, 20.0, 200.0])
def test_the_formula_is_the_correlation_of_thinning(rate):
    rng = np.random.default_rng(1)
    dispersion, kept = 0.3, 0.6
    free = rng.poisson(rate * rng.gamma(1 / dispersion, dispersion, N))
    seen = rng.binomial(free, kept)
    excess = kept * rate * dispersion
    theory = np.sqrt((kept + excess) / (1 + excess))
    assert np.corrcoef(seen, free)[0, 1] == pytest.approx(theory, abs=0.01)
    found = float(quantile_correlation(law(kept * rate, 0.3), law(rate, 0.3), "thinning")[0, 0])
    # Without what the position within a step adds already, which is little for many fibres.
    assert theory - 1e-9 <= found <= theory + 0.5 / rate


def test_it_is_the_same_in_both_directions():
    one = quantile_correlation(law(30, 0.2), law(50, 0.2), "thinning")
    other = quantile_correlation(law(50, 0.2), law(30, 0.2), "thinning")
    assert one == pytest.approx(other, abs=2e-3)


def test_another_name_is_refused_in_one_sentence():
    sentence = r"^coupling='copula'; expected 'thinning' or 'quantile'\.$"
    with pytest.raises(InputError, match=sentence):
        check_coupling("copula")
    check_coupling("thinning")
    check_coupling("quantile")
