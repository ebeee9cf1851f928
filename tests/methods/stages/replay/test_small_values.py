"""Small values: the share of each value just above the floor is kept, and nothing else changes."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from stillome.counts.negative_binomial import nb_pmf
from stillome.methods.stages.replay.calibration import Calibration
from stillome.methods.stages.replay.count_law import CountLaw, probability_below
from stillome.methods.stages.replay.small_values import N_VALUES, SmallValues
from stillome.methods.stages.stage_tuning import StageTuning

FLOOR, RATE, SIZE = 3.0, 6.0, 1.5


def law(rate, shape, small):
    log_rates, dispersions = np.full(shape, np.log(rate)), np.full(shape, 1 / SIZE)
    floors = np.full((shape[0], 1), FLOOR)
    below = probability_below(log_rates, dispersions, floors)
    return CountLaw(log_rates, dispersions, floors, below, below, Calibration.none(), small)


def uneven(n, rng):
    """Draw negative binomial counts from the floor on, of which half of the 5s are written as 6."""
    counts = rng.poisson(rng.gamma(SIZE, RATE / SIZE, n))
    counts = counts[counts >= FLOOR]
    return np.where((counts == 5) & (rng.random(len(counts)) < 0.5), 6, counts)


def fitted(rng):
    counts = uneven(200_000, rng)
    offsets = counts[counts < FLOOR + N_VALUES] - FLOOR
    ones = np.ones(len(offsets))
    in_one_group = StageTuning(group_size=len(offsets))
    return SmallValues.fit(offsets, FLOOR * ones, np.log(RATE) * ones, SIZE * ones, in_one_group)


def test_factors_are_those_of_the_rounding():
    found = np.exp(fitted(np.random.default_rng(0)).log_factors[0])
    relative = found / found[0]
    five, six = (float(nb_pmf(k, RATE, SIZE)) for k in (5, 6))
    assert_allclose(relative[[1, 4, 5]], 1, atol=0.06)
    assert_allclose(relative[2], 0.5, atol=0.04)
    assert_allclose(relative[3], (six + 0.5 * five) / six, atol=0.06)


def test_the_pattern_of_values_survives_a_change_of_the_rate():
    rng = np.random.default_rng(1)
    small = fitted(rng)
    counts = uneven(60_000, rng)[:40_000].reshape(40, 1000)
    for factors, even in ((small, False), (SmallValues.none(), True)):
        here, there = law(RATE, counts.shape, factors), law(1.1 * RATE, counts.shape, factors)
        moved = there.counts_at(here.scores(counts, rng.random(counts.shape)))
        # Of a smooth law there are fewer 6s than 5s; of this one, more than twice as many.
        ratio = (moved == 6).sum() / (moved == 5).sum()
        assert (ratio > 2.2) == (not even)
        assert moved[moved > 0].min() >= FLOOR


def test_the_same_law_gives_the_same_counts_back():
    rng = np.random.default_rng(2)
    counts = uneven(30_000, rng)[:20_000].reshape(20, 1000)
    own = law(RATE, counts.shape, fitted(rng))
    assert_array_equal(own.counts_at(own.scores(counts, rng.random(counts.shape))), counts)


def test_few_counts_give_no_factors():
    none = SmallValues.fit(np.zeros(10), np.ones(10), np.zeros(10), np.ones(10))
    assert_array_equal(none.log_factors, 0)
