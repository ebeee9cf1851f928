"""The gamma regression of every edge against scikit-learn's, and what it does to connectomes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import GammaRegressor

from stillome.methods.linear.gamma_glm import GammaGLM, LogRates, gamma_coefficients


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(2)
    confounds = rng.lognormal(-1, 0.5, (300, 2)) * [1.0, 0.01]
    means = np.exp(rng.uniform(0, 5, 21) - confounds @ [[0.8], [30.0]])
    return rng.poisson(rng.gamma(4, means / 4)), confounds


def test_every_edge_is_the_gamma_regression_of_scikit_learn(data):
    X, confounds = data
    found = LogRates.fit(X.astype(float), confounds, None).coefficients
    scaled = (confounds - confounds.mean(axis=0)) / confounds.std(axis=0)
    assert (X == 0).any()
    for edge, counts in enumerate(X.T):
        present = counts > 0
        theirs = GammaRegressor(alpha=0, solver="newton-cholesky", tol=1e-10, max_iter=500)
        theirs.fit(scaled[present], counts[present])
        assert_allclose(found[:, edge] * confounds.std(axis=0), theirs.coef_, atol=1e-7)


def test_the_score_equations_hold(data):
    X, confounds = data
    design = np.column_stack([np.ones(len(X)), confounds / confounds.std(axis=0)])
    means = np.exp(design @ gamma_coefficients(X.astype(float), design))
    relative = np.where(X > 0, X / means - 1, 0.0)
    assert np.abs(design.T @ relative).max() < 1e-6


def test_two_groups_have_the_ratio_of_their_means():
    rng = np.random.default_rng(0)
    site = np.repeat([0.0, 1.0], 60)
    X = rng.poisson(20, (120, 6)) + 1.0
    expected = np.log(X[60:].mean(axis=0) / X[:60].mean(axis=0))
    assert_allclose(LogRates.fit(X, site[:, None], None).coefficients[0], expected, atol=1e-9)
    both = np.column_stack([site, 1 - site])  # collinear: shares the same effect
    change = LogRates.fit(X, both, None).log_ratio(np.array([[1.0, 0.0], [0.0, 1.0]]))
    assert_allclose(change[0] - change[1], expected, atol=1e-7)


def test_adjusting_is_a_factor_per_edge_and_keeps_zeros(data):
    X, confounds = data
    model = GammaGLM(n_components=5).fit(X, confounds=confounds)
    adjusted = model.adjust(X, confounds=confounds, reference=[0.2, 0.005])
    moved = (np.array([0.2, 0.005]) - confounds) @ model.log_rates_.coefficients
    assert_allclose(adjusted, X * np.exp(moved), rtol=1e-9)
    assert_array_equal(adjusted == 0, X == 0)


def test_an_edge_that_few_subjects_have_is_not_changed(data):
    X, confounds = data
    X = X.copy()
    X[29:, 4] = 0
    adjusted = GammaGLM(n_components=5).fit(X, confounds=confounds).adjust(X, confounds=confounds)
    assert_allclose(adjusted[:, 4], X[:, 4], rtol=1e-12)
