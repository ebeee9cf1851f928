"""Weights that are not counts: the unit in which they vary like counts."""

import numpy as np
import pytest

from stillome.cohort.validation.magnitude_checks import is_whole
from stillome.methods.weight_units import weight_unit, without_unit


def compound(weight, seed=0, n_subjects=300, n_edges=1500):
    """Sums of streamline weights of this mean: Poisson many, gamma each."""
    rng = np.random.default_rng(seed)
    rates = np.exp(rng.normal(1, 1.5, n_edges) + 0.4 * rng.standard_normal((n_subjects, n_edges)))
    streamlines = rng.poisson(rates)
    sums = rng.gamma(np.maximum(2.0 * streamlines, 1e-9), weight / 2)
    return np.where(streamlines > 0, sums, 0.0)


def test_what_counts_as_whole():
    assert is_whole(np.array([[3, 1]])) and is_whole(np.array([[3.0, 0.0]]))
    assert not is_whole(np.array([[3.0, 0.5]]))


@pytest.mark.parametrize("weight", [1e-4, 0.03, 50.0])
def test_the_unit_of_sums_of_streamline_weights_is_found(weight):
    # Gamma weights of shape 2: E[w²] / E[w] = 1.5 E[w] is the variance per unit of the mean.
    assert weight_unit(compound(weight)) == pytest.approx(1 / (1.5 * weight), rel=0.1)


def test_counts_and_nothing_are_left_as_they_are():
    assert weight_unit(np.array([[7, 0]])) == 1
    assert weight_unit(np.zeros((3, 4)) + np.array([0.0, 0, 0, 0])) == 1


def test_weights_without_grain_have_a_bounded_unit():
    rng = np.random.default_rng(1)
    smooth = np.exp(rng.normal(0, 1, 500) + 0.3 * rng.standard_normal((200, 500)))
    assert 1 <= weight_unit(smooth) * np.median(smooth) <= 1000


def test_edges_that_are_always_empty_do_no_harm():
    weights = np.where(np.arange(20) < 3, 0.0, np.random.default_rng(3).gamma(2.0, 1.0, (50, 20)))
    assert np.isfinite(weight_unit(weights))


@pytest.mark.parametrize("factor", [1e6, 1e-6, 3e12, 7e-12])
def test_the_unit_of_weights_does_not_matter(factor):
    weights = compound(0.03, n_subjects=60, n_edges=200)
    assert factor * weight_unit(factor * weights) == pytest.approx(weight_unit(weights), rel=1e-9)
    assert (without_unit(factor * weights) == without_unit(weights)).all()


def test_weak_edges_can_be_told_apart_beside_strong_ones():
    assert len(np.unique(without_unit(np.array([1e5, 0.1, 0.2, 0.3])))) == 4
