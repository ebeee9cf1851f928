"""Traits by ridge regression: the penalty is that of scikit-learn's cross-validation."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import GroupKFold

from stillome.methods.trait_regression import PENALTIES, TraitRegression


@pytest.mark.parametrize(("n", "n_units", "signal"), [(60, 8, 1.0), (40, 68, 0.3), (90, 5, 0.0)])
def test_with_groups_the_penalty_is_that_of_folds_of_groups(n, n_units, signal):
    rng = np.random.default_rng(n)
    z, labels = rng.standard_normal((n, n_units)), np.repeat(np.arange(n // 2), 2)
    trait = signal * z[:, 0] + rng.standard_normal(n)
    found = TraitRegression.fit(z, trait[:, None], labels[:, None])
    spread = z.std(axis=0)
    folds = list(GroupKFold(5).split(z, groups=labels))
    expected = RidgeCV(PENALTIES, cv=folds, scoring="neg_mean_squared_error").fit(z / spread, trait)
    assert_allclose(found.coefficients[0], expected.coef_ / spread, rtol=1e-6, atol=1e-10)
    assert_allclose(found.intercepts[0], expected.intercept_, rtol=1e-6)
