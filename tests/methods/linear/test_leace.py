"""LEACE against its definition: nothing linear is left, and no smaller change leaves nothing."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import sqrtm

from stillome.methods.linear.leace import LEACE, LeastSquaresEraser


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(3)
    confounds = rng.lognormal(-1, 0.5, (400, 2)) * [1.0, 0.01]
    mixed = rng.standard_normal((400, 6)) @ rng.standard_normal((6, 6))
    return mixed + confounds @ rng.standard_normal((2, 6)) * [1, 1, 5, 0.1, 1, 1], confounds


def covariance(a, b):
    return (a - a.mean(axis=0)).T @ (b - b.mean(axis=0)) / len(a)


def test_erased_values_are_uncorrelated_with_every_confound(data):
    values, confounds = data
    erased = LeastSquaresEraser.fit(values, confounds).erased(values)
    scale = np.outer(values.std(axis=0), confounds.std(axis=0))
    assert np.abs(covariance(values, confounds) / scale).max() > 0.1
    assert np.abs(covariance(erased, confounds) / scale).max() < 1e-12


def test_the_map_is_the_published_closed_form(data):
    values, confounds = data
    inverse_root = np.linalg.inv(np.real(sqrtm(covariance(values, values))))
    seen = inverse_root @ covariance(values, confounds)
    projection = seen @ np.linalg.inv(seen.T @ seen) @ seen.T
    removed = np.linalg.inv(inverse_root) @ projection @ inverse_root
    expected = values - (values - values.mean(axis=0)) @ removed.T
    assert_allclose(LeastSquaresEraser.fit(values, confounds).erased(values), expected, atol=1e-9)


def test_one_feature_of_two_by_hand():
    """x = (c, e) with c and e uncorrelated: the first feature becomes its mean, e stays."""
    c, e = np.array([1.0, 1, 3, 3]), np.array([0.0, 2, 0, 2])
    erased = LeastSquaresEraser.fit(np.column_stack([c, e]), c[:, None]).erased(
        np.column_stack([c, e])
    )
    assert_allclose(erased, np.column_stack([np.full(4, 2.0), e]), atol=1e-12)


def test_no_other_erasure_changes_less(data):
    values, confounds = data
    eraser = LeastSquaresEraser.fit(values, confounds)
    change = ((eraser.erased(values) - values) ** 2).mean()
    design = np.column_stack([np.ones(len(values)), confounds])
    rng = np.random.default_rng(0)
    # All affine maps that erase: project along any complement of the columns of Cov(x, c).
    seen = covariance(values, confounds)
    for _ in range(20):
        left = rng.standard_normal((2, 6))
        removed = seen @ np.linalg.solve(left @ seen, left)
        other = values - (values - values.mean(axis=0)) @ removed.T
        assert np.abs(np.linalg.lstsq(design, other, rcond=None)[0][1:]).max() < 1e-8
        assert change < ((other - values) ** 2).mean()


def test_features_without_variance_and_collinear_confounds(data):
    values, confounds = data
    flat = np.column_stack([values, np.ones(len(values)), values[:, 0]])
    twice = np.column_stack([confounds, confounds[:, 0] + confounds[:, 1]])
    erased = LeastSquaresEraser.fit(flat, twice).erased(flat)
    assert_allclose(erased[:, 6], 1.0)
    assert np.abs(covariance(erased, confounds)).max() < 1e-9


def test_components_of_connectomes_lose_motion_and_the_rest_stays():
    rng = np.random.default_rng(1)
    motion = rng.lognormal(-1, 0.5, 200)
    X = rng.poisson(np.exp(rng.uniform(2, 4, 45) - motion[:, None]))
    model = LEACE(n_components=10).fit(X, confounds=motion)
    Z = model.transform(X, confounds=motion)
    assert np.abs(covariance(Z, motion[:, None])).max() < 1e-12
    adjusted = np.log1p(model.adjust(X, confounds=motion, reference=0.3))
    axes = model.pca_.components_
    outside = np.eye(45) - axes.T @ axes
    assert_allclose((adjusted - np.log1p(X)) @ outside, 0, atol=1e-8)
    level = model.motion_effect_.predict(np.array([[0.3]])) @ axes + model.pca_.mean_
    assert_allclose(adjusted.mean(axis=0) @ axes.T, level[0] @ axes.T, atol=1e-8)
