"""The choice of the invariance weight, whom a fit can use, and what it warns of."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from stillome.exceptions import ConfoundsError, InputError, StillomeWarning
from stillome.methods.contract import TrainingData
from stillome.methods.inv_fa.cautions import (
    warn_if_far,
    warn_if_not_separable,
    warn_if_unlike_training,
)
from stillome.methods.inv_fa.frontier import invariance_frontier, smallest_passing
from stillome.methods.inv_fa.training_subjects import check_seed, check_weight, known_subjects


def frontier(passed, worst) -> pd.DataFrame:
    weights = np.linspace(0, 1, len(passed))
    return pd.DataFrame({"weight": weights, "passed": passed, "worst_r2": worst, "n_test": 100})


def test_the_smallest_weight_that_passes_is_chosen():
    assert smallest_passing(frontier([False, True, True], [0.3, 0.05, 0.01])) == 0.5
    assert smallest_passing(frontier([True, False, True], [0.3, 0.05, 0.01])) == 0.0


def test_without_one_that_passes_within_one_standard_error_of_the_best():
    none = [False, False, False]
    assert smallest_passing(frontier(none, [0.5, 0.12, 0.10])) == 0.5  # 0.10 + 2 √(0.1/100)
    assert smallest_passing(frontier(none, [0.5, 0.4, 0.1])) == 1.0
    assert smallest_passing(frontier(none, [0.2, 0.1, -0.1])) == 1.0


def subjects(n: int = 40, unknown: int = 0) -> TrainingData:
    rng = np.random.default_rng(0)
    confounds = rng.random((n, 2))
    confounds[:unknown, 1] = np.nan
    return TrainingData(rng.poisson(5, (n, 6)), rng.random((n, 1)), confounds)


def test_too_few_to_hold_some_out():
    known = known_subjects(subjects(), None)
    with pytest.raises(InputError, match=r"40 subjects are too few.*at least 67"):
        invariance_frontier(lambda _: pytest.fail("nothing to fit"), known, 0)


def test_only_subjects_whose_confounds_are_known_are_used():
    data = subjects(unknown=7)
    known = known_subjects(data, np.arange(40.0))
    assert len(known.edges) == len(known.motion) == len(known.traits) == 33
    assert_array_equal(known.covariates[:, 0], np.arange(7, 40))
    some = known.take(np.array([2, 0]))
    assert_array_equal(some.edges, data.edges[[9, 7]])
    assert_array_equal(some.covariates[:, 0], [9, 7])
    assert known_subjects(data._replace(traits=None), None).take(np.arange(3)).traits is None


def test_what_remains_must_be_enough():
    with pytest.raises(ConfoundsError, match="known for 9 subjects; at least 10"):
        known_subjects(subjects(unknown=31), None)
    data = subjects(unknown=20)
    data.traits[20:] = 1.0
    with pytest.raises(InputError, match="y of subjects with known confounds: column 0"):
        known_subjects(data, None)
    data = subjects(unknown=20)
    data.confounds[20:, 0] = 1.0
    with pytest.raises(ConfoundsError, match="column 0 is the same for all 20"):
        known_subjects(data, None)


@pytest.mark.parametrize("weight", [-0.1, 1.1, np.nan, None, "all", [1.0]])
def test_weights_that_are_none(weight):
    with pytest.raises(InputError, match="expected a share from 0 to 1, or 'auto'"):
        check_weight(weight)


def test_weights_and_seeds():
    assert check_weight("auto") == "auto" and check_weight(np.float32(0.5)) == 0.5
    assert check_seed(np.int64(3)) == 3
    assert check_seed(np.random.default_rng(1)) == check_seed(np.random.default_rng(1))
    assert check_seed(None) != check_seed(None)
    for seed in (-1, "seed", 0.5):
        with pytest.raises(InputError, match="random_state"):
            check_seed(seed)


def test_designs_that_cannot_be_told_apart_are_named():
    rng = np.random.default_rng(1)
    age = rng.standard_normal((100, 1))
    motion = np.column_stack([rng.random(100), age[:, 0] + 0.1 * rng.standard_normal(100)])
    with pytest.warns(StillomeWarning, match="explain 99% of confound 1"):
        warn_if_not_separable(age, motion)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_if_not_separable(age, rng.random((100, 2)))


def test_references_nobody_was_near_are_named():
    low, high, spread = np.array([0.1, 0.0]), np.array([0.9, 1.0]), np.array([0.2, 0.5])
    with pytest.warns(StillomeWarning, match="reference=2 lies 2 standard.*0 to 1 of confound 1"):
        warn_if_far(np.array([0.0, 2.0]), low, high, spread)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_if_far(np.array([0.0, 1.2]), low, high, spread)
    assert_allclose(low, [0.1, 0.0])


def test_confounds_in_other_units_are_noticed():
    low, high, spread = np.array([0.1]), np.array([0.9]), np.array([0.2])
    with pytest.warns(StillomeWarning, match=r"1 of 3 subjects .* \(row 2 has 300\).* units"):
        warn_if_unlike_training(np.array([[0.3], [np.nan], [300.0]]), low, high, spread)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_if_unlike_training(np.array([[0.3], [1.4]]), low, high, spread)
