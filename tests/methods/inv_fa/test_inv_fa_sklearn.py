"""InvFA in scikit-learn's tools."""

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict

from stillome.methods.inv_fa.inv_fa import InvFA

# The checks send a handful of columns, in which there is nobody to find, and motion far from 0.
pytestmark = pytest.mark.filterwarnings("ignore::stillome.exceptions.StillomeWarning")


def make_data() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    motion, person = rng.random(90), rng.standard_normal((90, 2))
    level = 2 + 0.5 * person @ rng.standard_normal((2, 45)) - motion[:, None]
    return rng.poisson(np.exp(level)), person[:, 0] + 0.1 * rng.standard_normal(90), motion


X, Y, C = make_data()


@pytest.fixture
def requesting():
    with sklearn.config_context(enable_metadata_routing=True):
        model = InvFA(4).set_fit_request(confounds=True).set_score_request(confounds=True)
        yield model.set_transform_request(confounds=True).set_predict_request(confounds=True)


def test_clone_keeps_parameters_and_forgets_the_fit() -> None:
    model = InvFA(3, invariance_weight=0.5, random_state=7).fit(X, confounds=C)
    copied = clone(model)
    assert copied.get_params() == model.get_params()
    assert not hasattr(copied, "model_")


def test_cross_validation_splits_confounds_with_the_subjects(requesting) -> None:
    folds = KFold(3)
    predicted = cross_val_predict(requesting, X, Y, cv=folds, params={"confounds": C})
    train, test = next(folds.split(X))
    by_hand = InvFA(4).fit(X[train], Y[train], confounds=C[train])
    # Only `fit` is given confounds here: at use, motion is read from the connectomes.
    assert_array_equal(predicted[test], by_hand.predict(X[test]))
    assert np.corrcoef(predicted, Y)[0, 1] > 0.8


def test_grid_search_compares_by_the_prediction_of_traits(requesting) -> None:
    search = GridSearchCV(requesting, {"n_components": [1, 6]}, cv=3)
    search.fit(X, Y, confounds=C)
    assert search.best_params_ == {"n_components": 6}
