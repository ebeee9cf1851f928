import numpy as np
import pytest

from stillome.evaluate.resemblance import cohort_resemblance, edge_slopes
from stillome.exceptions import InputError

RATES = np.random.default_rng(9).gamma(1.0, 10.0, 190)


def people(seed, n=200, times=1.0):
    return np.random.default_rng(seed).poisson(times * RATES, (n, 190))


def test_two_samples_of_one_population_look_alike():
    found = cohort_resemblance(people(0), people(1))
    assert found.edge_means_r2 > 0.99
    assert found.edge_variances_r2 > 0.8
    assert max(found.degree_ks, found.strength_ks, found.total_ks) < 0.2
    assert abs(found.zeros_difference) < 0.01


def test_fewer_fibres_are_noticed():
    found = cohort_resemblance(people(0, times=0.5), people(1))
    assert found.total_ks == 1.0
    assert found.zeros_difference > 0.02
    assert found.edge_means_r2 < 0.8


def test_slopes_are_those_of_a_regression_per_standard_deviation():
    counts, measure = people(0), np.random.default_rng(1).normal(size=200)
    expected = np.polyfit(measure, np.log1p(counts), 1)[0] * measure.std()
    np.testing.assert_allclose(edge_slopes(counts, measure), expected)
    measure[:50] = np.nan
    np.testing.assert_allclose(edge_slopes(counts, measure), edge_slopes(counts[50:], measure[50:]))


@pytest.mark.parametrize("values", [np.ones(200), np.ones(3), np.full(200, np.nan)])
def test_a_measure_that_says_nothing_is_refused(values):
    with pytest.raises(InputError, match="values"):
        edge_slopes(people(0), values)


def test_other_regions_are_refused():
    with pytest.raises(InputError, match="regions"):
        cohort_resemblance(people(0), people(0)[:, :153])
