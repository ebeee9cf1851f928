"""What scikit-learn's users expect of tables: names, output as tables, routed confounds."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from numpy.testing import assert_array_equal
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.pipeline import make_pipeline

from moving_people import MovingPeople
from stillome.exceptions import InputError, StillomeWarning
from stillome.methods.registry import METHODS, make_method

pytestmark = pytest.mark.filterwarnings("ignore::stillome.exceptions.StillomeWarning")
DATA = MovingPeople(60)
IDS = [f"sub-{i:02d}" for i in range(60)]
X = pd.DataFrame(DATA.X, index=IDS, columns=[f"edge {i}" for i in range(DATA.X.shape[1])])
MOTION = pd.DataFrame({"rms_mm": DATA.motion}, index=IDS)
FAMILY = np.arange(60) // 2


def new(name):
    quick = {"max_epochs": 2, "hidden": (4,), "n_neighbors": 3, "learning_rate": 1e-2}
    known = make_method(name).get_params()
    return make_method(name, n_components=2, **{k: v for k, v in quick.items() if k in known})


@pytest.fixture(scope="module", params=list(METHODS))
def fitted(request):
    return new(request.param).fit(X, DATA.traits, confounds=MOTION)


def test_columns_have_names_on_both_sides(fitted):
    assert_array_equal(fitted.feature_names_in_, X.columns)
    names = fitted.get_feature_names_out()
    assert names[0] == f"{type(fitted).__name__.lower()}0"
    plain = fitted.transform(X, confounds=MOTION)
    assert plain.shape[1] == len(names)
    fitted.set_output(transform="pandas")
    try:
        table = fitted.transform(X, confounds=MOTION)
        assert list(table.index) == IDS
        assert list(table.columns) == list(names)
        assert_array_equal(table.to_numpy(), plain)
        assert isinstance(fitted.predict(X, confounds=MOTION), np.ndarray)
    finally:
        fitted.set_output(transform="default")


def test_shuffled_missing_and_misaligned_tables_are_noticed(fitted):
    for wrong, told in (
        (X[X.columns[::-1]], "column 0 is 'edge 65', in the fit it was 'edge 0'"),
        (X.iloc[:, :55], "column 'edge 55' is missing"),
    ):
        with pytest.raises(InputError, match=told):
            fitted.transform(wrong, confounds=MOTION)
    with pytest.raises(InputError, match=r"confounds: row 0 is 'sub-59', that of X is 'sub-00'"):
        fitted.transform(X, confounds=MOTION[::-1])
    again = fitted.transform(X.to_numpy(), confounds=DATA.motion)
    assert_array_equal(again, fitted.transform(X, confounds=MOTION))


@pytest.fixture
def routed():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def requesting(**fit):
    model = new("edgewise").set_fit_request(confounds=True, **fit)
    model.set_transform_request(confounds=True).set_score_request(confounds=True)
    return model.set_predict_request(confounds=True)


def test_a_pipeline_a_grid_and_cross_validation_route_confounds_and_groups(routed):
    y = DATA.traits[:, 0]
    given = {"confounds": DATA.motion, "groups": FAMILY}
    pipeline = make_pipeline(requesting(groups=True), Ridge())
    pipeline.fit(DATA.X, y, **given)
    by_hand = new("edgewise").fit(DATA.X, y, **given)
    latents = by_hand.transform(DATA.X, confounds=DATA.motion)
    expected = Ridge().fit(latents, y).predict(latents)
    assert_array_equal(pipeline.predict(DATA.X, confounds=DATA.motion), expected)
    scores = cross_val_score(requesting(groups=True), DATA.X, y, cv=GroupKFold(2), params=given)
    train, test = next(GroupKFold(2).split(DATA.X, groups=FAMILY))
    by_hand = new("edgewise").fit(
        DATA.X[train], y[train], confounds=DATA.motion[train], groups=FAMILY[train]
    )
    assert scores[0] == by_hand.score(DATA.X[test], y[test], confounds=DATA.motion[test])
    search = GridSearchCV(requesting(groups=True), {"n_components": [1, 2]}, cv=GroupKFold(2))
    search.fit(DATA.X, y, **given)
    assert search.best_params_["n_components"] in (1, 2)


def test_motion_that_was_not_routed_is_inferred_with_a_warning(routed):
    model = new("inv-fa").set_fit_request(confounds=True).set_transform_request(confounds=True)
    pipeline = make_pipeline(model, Ridge()).fit(DATA.X, DATA.traits[:, 0], confounds=DATA.motion)
    with pytest.warns(StillomeWarning, match="motion is inferred.*set_transform_request"):
        pipeline.predict(DATA.X)


def test_without_routing_the_warning_comes_as_well():
    """A pipeline can pass confounds to `fit` by name, and then nothing to `predict`."""
    pipeline = make_pipeline(new("inv-fa"), Ridge())
    pipeline.fit(DATA.X, DATA.traits[:, 0], invfa__confounds=DATA.motion)
    with pytest.warns(StillomeWarning, match="motion is inferred"):
        pipeline.predict(DATA.X)
