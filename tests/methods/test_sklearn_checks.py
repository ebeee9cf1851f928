"""scikit-learn's own checks on the classes that users get, with declared failures.

The checks fit any number of columns, and a connectome has V(V-1)/2 edges. What such a check would
have asked is asked with connectomes below.
"""

import pickle
from collections.abc import Iterator

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.utils.estimator_checks import estimator_checks_generator

from moving_people import MovingPeople
from stillome.exceptions import InputError
from stillome.methods.contract import ConnectomeMethod
from stillome.methods.registry import METHODS, make_method

# Three epochs do not train a network, and the checks send a handful of columns.
pytestmark = pytest.mark.filterwarnings("ignore::stillome.exceptions.StillomeWarning")

OTHER_COLUMNS = "sends 2, 4 or 5 columns, which are the edges of no number of regions"
EXPECTED = {
    **dict.fromkeys(
        (
            "check_estimators_overwrite_params",
            "check_estimators_fit_returns_self",
            "check_readonly_memmap_input",
            "check_n_features_in_after_fitting",
            "check_estimators_dtypes",
            "check_fit_idempotent",
            "check_fit_check_is_fitted",
            "check_n_features_in",
        ),
        OTHER_COLUMNS,
    ),
    "check_dtype_object": "a dictionary among the numbers is an InputError, not a TypeError",
}


def new(name: str) -> ConnectomeMethod:
    quick = {"max_epochs": 3, "hidden": (8,), "n_neighbors": 3, "learning_rate": 1e-2}
    known = make_method(name).get_params()
    return make_method(name, n_components=2, **{k: v for k, v in quick.items() if k in known})


def checks(name: str) -> Iterator[object]:
    """Yield all checks but that of array types which are not claimed to be supported."""
    generator = estimator_checks_generator(
        new(name), expected_failed_checks=EXPECTED, mark="xfail", xfail_strict=True
    )
    for each in generator:
        estimator, check = each.values if hasattr(each, "values") else each
        asked = getattr(check, "func", check).__name__
        if "array_api" not in asked:
            marks = getattr(each, "marks", ())
            yield pytest.param(estimator, check, id=f"{name}-{asked}", marks=marks)


def test_nine_checks_cannot_pass_whatever_the_method():
    assert len(EXPECTED) == 9


@pytest.mark.parametrize(("estimator", "check"), [c for name in METHODS for c in checks(name)])
def test_scikit_learn_finds_nothing_unexpected(estimator, check):
    check(estimator)


DATA = MovingPeople(40)


@pytest.fixture(scope="module", params=list(METHODS))
def name(request):
    return request.param


@pytest.fixture(scope="module")
def fitted(name):
    return new(name).fit(DATA.X, DATA.traits, confounds=DATA.motion)


def test_fitting_again_or_in_another_layout_changes_nothing(name, fitted):
    expected = fitted.transform(DATA.X, confounds=DATA.motion)
    parameters = repr(fitted.get_params())
    assert fitted.fit(DATA.X, DATA.traits, confounds=DATA.motion) is fitted
    assert repr(fitted.get_params()) == parameters
    read_only = np.asfortranarray(DATA.X.astype(np.float64))
    read_only.flags.writeable = False
    for X in (DATA.X, DATA.X.astype(object), read_only):
        again = new(name).fit(X, DATA.traits, confounds=DATA.motion)
        assert_allclose(again.transform(X, confounds=DATA.motion), expected, rtol=1e-9, atol=1e-9)
        assert again.n_features_in_ == DATA.X.shape[1]


def test_a_pickled_model_and_a_part_of_the_subjects_answer_alike(fitted):
    before = set(vars(fitted))
    expected = fitted.transform(DATA.X, confounds=DATA.motion)
    fitted.predict(DATA.X, confounds=DATA.motion)
    assert set(vars(fitted)) == before
    copied = pickle.loads(pickle.dumps(fitted))
    assert_array_equal(copied.transform(DATA.X, confounds=DATA.motion), expected)
    some = fitted.transform(DATA.X[5:9], confounds=DATA.motion[5:9])
    assert_allclose(some, expected[5:9], rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(
    "wrong",
    [
        np.where(DATA.X.max() == DATA.X, np.nan, DATA.X),
        np.where(DATA.X.max() == DATA.X, np.inf, DATA.X),
        -DATA.X,
        DATA.X * 1j,
        DATA.X[:, :5],
        DATA.X[:0],
        DATA.X[0],
        sparse.csr_array(DATA.X),
        np.full(DATA.X.shape, "many"),
    ],
    ids=["nan", "inf", "negative", "complex", "columns", "empty", "one row", "sparse", "text"],
)
def test_what_is_no_connectome_is_refused_in_one_sentence(name, fitted, wrong):
    for method in (new(name).fit, fitted.transform):
        with pytest.raises(InputError, match=r"\w.*\.$"):
            method(wrong, confounds=DATA.motion)
