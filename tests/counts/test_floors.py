"""Counts at or above a floor: probabilities below it, and scores that lead back to the counts."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from stillome.counts.blocks import in_blocks
from stillome.counts.floors import counts_above, mass_below, scores_above
from stillome.counts.negative_binomial import nb_pmf


def flat(*values: float, n: int = 1) -> list[np.ndarray]:
    return [np.full(n, float(value)) for value in values]


def there_and_back(counts, floor, mean, size, shares):
    counts = np.asarray(counts, dtype=np.float64)
    floors, means, sizes = flat(floor, mean, size, n=len(counts))
    below = mass_below(floors, means, sizes)
    none = np.zeros(len(counts))
    scores = scores_above(counts, below, means, sizes, np.asarray(shares, float), none)
    return scores, counts_above(scores, below, means, sizes)


@given(
    floor=st.integers(1, 60),
    mean=st.floats(0.01, 1e4),
    size=st.floats(0.02, 1e3),
)
def test_mass_below_the_floor_is_a_sum_of_terms(floor, mean, size):
    expected = nb_pmf(np.arange(floor), mean, size).sum()
    found = mass_below(*flat(floor, mean, size))
    assert_allclose(found, min(expected, 1 - 1e-12), rtol=1e-8, atol=1e-280)


def test_floors_may_differ_from_count_to_count():
    floors, mean, size = np.array([1.0, 2, 3, 11, 12, 13, 40]), *flat(8.0, 2.0, n=7)
    one_by_one = [mass_below(*flat(floor, 8.0, 2.0))[0] for floor in floors]
    assert_allclose(mass_below(floors, mean, size), one_by_one, rtol=1e-12)
    assert (np.diff(one_by_one) > 0).all()


@given(
    floor=st.integers(1, 20),
    above=st.lists(st.integers(0, 3000), min_size=1, max_size=10),
    mean=st.floats(0.05, 2000),
    size=st.floats(0.1, 200),
    share=st.floats(0.02, 0.98),
)
@example(floor=3, above=[2], mean=1000.0, size=5.0, share=0.5)  # 5 where 1,000 are expected
@example(floor=1, above=[4], mean=1000.0, size=20.0, share=0.5)
@example(floor=3, above=[2997], mean=4.0, size=2.0, share=0.5)
def test_scores_lead_back_to_their_counts(floor, above, mean, size, share):
    counts = floor + np.array(above)
    scores, back = there_and_back(counts, floor, mean, size, np.full(len(counts), share))
    assert np.isfinite(scores).all()
    # Beyond 37 standard deviations a probability is smaller than any number of a computer.
    seen = np.abs(scores) < 36
    assert_array_equal(back[seen], counts[seen])
    assert (np.diff(scores[np.argsort(counts)]) >= 0).all()


def test_few_fibres_where_a_thousand_are_expected_are_told_apart():
    counts = np.arange(3, 40)
    scores, back = there_and_back(counts, 3, 1000.0, 20.0, np.full(37, 0.5))
    assert scores[2] < -8 and (np.diff(scores) > 0).all()
    assert_array_equal(back, counts)


@pytest.mark.parametrize(("floor", "mean", "size"), [(3, 4.0, 1.0), (5, 300.0, 3.0), (1, 0.1, 0.5)])
def test_scores_of_counts_that_reach_the_floor_are_normal(floor, mean, size):
    rng = np.random.default_rng(0)
    counts = rng.poisson(rng.gamma(size, mean / size, 200_000))
    counts = counts[counts >= floor][:10_000]
    scores, back = there_and_back(counts, floor, mean, size, rng.random(len(counts)))
    assert stats.kstest(scores, "norm").pvalue > 0.001
    assert_array_equal(back, counts)


def test_a_count_at_the_ceiling_stands_for_all_above():
    rng = np.random.default_rng(1)
    counts = np.minimum(rng.poisson(rng.gamma(2.0, 20.0, 20_000)), 50).astype(float)
    counts = counts[counts >= 3]
    floors, means, sizes = flat(3, 40.0, 2.0, n=len(counts))
    capped = np.where(counts >= 50, 1.0, 0.0)
    below = mass_below(floors, means, sizes)
    scores = scores_above(counts, below, means, sizes, rng.random(len(counts)), capped)
    assert stats.kstest(scores, "norm").pvalue > 0.001
    assert (counts_above(scores, below, means, sizes)[capped > 0] >= 50).all()


@given(rows=st.integers(0, 5), columns=st.integers(1, 4))
def test_blocks_answer_in_the_common_shape(rows, columns):
    table, row = np.arange(rows * columns, dtype=float).reshape(rows, columns), np.ones(columns)
    assert_array_equal(in_blocks(np.add, table, row), table + row)
    assert in_blocks(np.add, np.float64(2), np.float64(3)) == 5


def test_blocks_of_large_tables_are_put_together_in_order():
    table = np.arange(1_200_000, dtype=float).reshape(4000, 300)
    assert_array_equal(in_blocks(np.sqrt, table), np.sqrt(table))
