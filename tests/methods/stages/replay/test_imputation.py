"""Counts drawn in place of zeros."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import stats

from stillome.methods.stages.replay.count_law import CountLaw
from stillome.methods.stages.replay.imputation import without_zeros

SHAPE = (5000, 4)


def law(floor: float, empty: float | None = None) -> CountLaw:
    plain = CountLaw.negative_binomial(np.full(SHAPE, np.log(4.0)), np.full(SHAPE, 0.5), floor)
    return plain if empty is None else replace(plain, empty=np.full(SHAPE, empty))


class Drawn:
    def __init__(self, chosen: CountLaw) -> None:
        rng = np.random.default_rng(0)
        self.counts = chosen.counts_at(rng.standard_normal(SHAPE)).astype(np.float32)
        self.level, self.lot = rng.random((2, *SHAPE))
        self.filled = without_zeros(self.counts, chosen, self.level, self.lot)
        self.empty = self.counts == 0


@pytest.mark.parametrize("floor", [1, 3, 15])
def test_zeros_become_counts_below_the_floor_and_positives_stay(floor):
    drawn = Drawn(law(floor))
    assert_array_equal(drawn.filled[~drawn.empty], drawn.counts[~drawn.empty])
    below = drawn.filled[drawn.empty]
    assert drawn.empty.any() and below.min() == 0 and below.max() == floor - 1
    assert drawn.filled.dtype == np.float32 and (drawn.counts[drawn.empty] == 0).all()


def test_counts_with_drawn_ones_follow_the_negative_binomial():
    filled = Drawn(law(4)).filled.ravel()
    target = stats.nbinom(2.0, 2.0 / 6.0)
    cells = np.arange(12)
    observed = np.bincount(np.minimum(filled, 12).astype(int), minlength=13)
    expected = len(filled) * np.diff([0.0, *target.cdf(cells), 1.0])
    assert stats.chisquare(observed, expected).pvalue > 0.001


def test_zeros_in_excess_become_counts_of_any_size():
    chosen = law(3, empty=0.7)
    drawn = Drawn(chosen)
    # Empty whatever their count would have been: the rest is the negative binomial as before.
    below, target = chosen.below[0, 0], stats.nbinom(2.0, 2.0 / 6.0)
    in_excess = (0.7 - below) / (1 - below) / 0.7
    share = float((drawn.filled[drawn.empty] >= 3).mean())
    assert share == pytest.approx(in_excess * (1 - below), abs=0.02)
    observed = np.bincount(np.minimum(drawn.filled.ravel(), 12).astype(int), minlength=13)
    expected = drawn.filled.size * np.diff([0.0, *target.cdf(np.arange(12)), 1.0])
    assert stats.chisquare(observed, expected).pvalue > 0.001


def test_fewer_zeros_than_expected_are_all_below_the_floor():
    drawn = Drawn(law(3, empty=0.05))
    assert drawn.filled[drawn.empty].max() == 2


def test_the_same_numbers_give_the_same_counts():
    one, other = Drawn(law(3, empty=0.7)), Drawn(law(3, empty=0.7))
    assert_array_equal(one.filled, other.filled)
    again = without_zeros(one.counts, law(3, empty=0.7), 1 - one.level, one.lot)
    assert (again != one.filled).any()


def test_no_zeros_and_nothing_but_zeros():
    full = np.full(SHAPE, 7, np.float32)
    uniform = np.random.default_rng(1).random(SHAPE)
    assert_array_equal(without_zeros(full, law(3), uniform, uniform), full)
    extreme = CountLaw.negative_binomial(np.full(SHAPE, -14.0), np.full(SHAPE, 50.0), 3.0)
    nothing = without_zeros(np.zeros(SHAPE, np.float32), extreme, uniform, uniform)
    assert np.isfinite(nothing).all() and nothing.max() <= 2
