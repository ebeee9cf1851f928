"""Warnings about designs that cannot be separated, and about extrapolation."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose

from stillome.exceptions import StillomeWarning
from stillome.methods.cautions import (
    warn_if_far,
    warn_if_not_separable,
    warn_if_unlike_training,
    warn_of_design,
)


def test_designs_that_cannot_be_told_apart_are_named():
    rng = np.random.default_rng(1)
    age = rng.standard_normal((100, 1))
    motion = np.column_stack([rng.random(100), age[:, 0] + 0.1 * rng.standard_normal(100)])
    with pytest.warns(StillomeWarning, match="explain 99% of confound 1"):
        warn_if_not_separable(age, motion)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_if_not_separable(age, rng.random((100, 2)))


def test_a_site_of_one_subject_and_a_trait_that_is_the_site_are_named():
    rng = np.random.default_rng(2)
    motion, site = rng.random(50), (np.arange(50) < 20).astype(float)
    single = np.column_stack([motion, np.where(np.arange(50) == 7, 1.0, 0.0)])
    with pytest.warns(StillomeWarning, match="subject 7 alone has the value 1 of column 1"):
        warn_of_design(single, None)
    patients = np.column_stack([rng.random(50), site + 0.1 * rng.standard_normal(50)])
    patients[3] = np.nan
    confounds = np.column_stack([motion, site])
    confounds[5] = np.nan
    with pytest.warns(StillomeWarning, match=r"explain 9\d% of trait 1.* cannot be told apart"):
        warn_of_design(confounds, patients)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_design(confounds, patients[:, :1])


def test_references_nobody_was_near_are_named():
    low, high, spread = np.array([0.1, 0.0]), np.array([0.9, 1.0]), np.array([0.2, 0.5])
    with pytest.warns(StillomeWarning, match="reference=2 lies 2 standard.*0 to 1 of confound 1"):
        warn_if_far(np.array([0.0, 2.0]), low, high, spread)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_if_far(np.array([0.0, 1.4]), low, high, spread)
    assert_allclose(low, [0.1, 0.0])


def test_confounds_in_other_units_are_noticed():
    low, high, spread = np.array([0.1]), np.array([0.9]), np.array([0.2])
    with pytest.warns(StillomeWarning, match=r"1 of 3 subjects .* \(row 2 has 300\).* units"):
        warn_if_unlike_training(np.array([[0.3], [np.nan], [300.0]]), low, high, spread)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_if_unlike_training(np.array([[0.3], [1.4]]), low, high, spread)
