"""The paper's model in scikit-learn's tools."""

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict
from sklearn.pipeline import make_pipeline

from stillome.methods.graph_vae.inv_vae import InvVAE

QUICK = {"n_components": 2, "hidden": (8,), "n_dimensions": 2, "n_neighbors": 3}
QUICK |= {"learning_rate": 1e-2, "max_epochs": 8, "batch_size": 16}
pytestmark = pytest.mark.filterwarnings("ignore::stillome.exceptions.StillomeWarning")


def make_data() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    motion, person = rng.random(60), rng.standard_normal(60)
    level = 2 + 0.5 * np.outer(person, rng.standard_normal(15)) - motion[:, None]
    return rng.poisson(np.exp(level)), person + 0.1 * rng.standard_normal(60), motion


X, Y, C = make_data()


@pytest.fixture
def routed():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def requesting() -> InvVAE:
    model = InvVAE.as_published(**QUICK)
    model.set_fit_request(confounds=True).set_score_request(confounds=True)
    return model.set_transform_request(confounds=True).set_predict_request(confounds=True)


def test_clone_keeps_parameters_and_forgets_the_fit() -> None:
    model = InvVAE.as_published(**QUICK).fit(X, confounds=C)
    copied = clone(model)
    assert copied.get_params() == model.get_params()
    assert not hasattr(copied, "network_")


def test_pipeline_routes_confounds(routed) -> None:
    pipeline = make_pipeline(requesting(), Ridge())
    pipeline.fit(X, Y, confounds=C)
    assert pipeline.predict(X, confounds=C).shape == (60,)


def test_cross_validation_splits_confounds_with_the_subjects(routed) -> None:
    folds = KFold(3)
    predicted = cross_val_predict(requesting(), X, Y, cv=folds, params={"confounds": C})
    train, test = next(folds.split(X))
    by_hand = InvVAE.as_published(**QUICK).fit(X[train], Y[train], confounds=C[train])
    assert_array_equal(predicted[test], by_hand.predict(X[test]))


def test_grid_search_compares_by_the_prediction_of_traits(routed) -> None:
    search = GridSearchCV(requesting(), {"max_epochs": [1, 100]}, cv=3)
    search.fit(X, Y, confounds=C)
    assert search.best_params_ == {"max_epochs": 100}
