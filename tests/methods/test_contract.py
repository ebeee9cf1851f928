"""One contract for every method in `METHODS`."""

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from stillome.cohort.edges import edges_to_matrices
from stillome.exceptions import ConfoundsError, InputError, NotFittedError, StillomeError
from stillome.methods.contract import ConnectomeMethod
from stillome.methods.registry import METHODS, make_method

# Three epochs do not train a network; what a method promises holds from the first on.
pytestmark = pytest.mark.filterwarnings("ignore:The latent has collapsed")

N_SUBJECTS, N_REGIONS, N_COMPONENTS = 48, 8, 5
QUICK = {"gate": {"max_epochs": 3}}
FITS_WITHOUT_CONFOUNDS = {"gate"}


class Data:
    def __init__(self):
        rng = np.random.default_rng(7)
        n_edges = N_REGIONS * (N_REGIONS - 1) // 2
        latent = rng.standard_normal((N_SUBJECTS, 3))
        self.confounds = rng.lognormal(-1, 0.5, (N_SUBJECTS, 2))
        level = rng.uniform(0, 4, n_edges) + 0.2 * latent @ rng.standard_normal((3, n_edges))
        self.X = rng.poisson(np.exp(level - 0.5 * self.confounds[:, :1]))
        self.y = latent[:, :2] + 0.3 * rng.standard_normal((N_SUBJECTS, 2))
        self.y[:4, 1] = np.nan


DATA = Data()


def new(name: str) -> ConnectomeMethod:
    return make_method(name, n_components=N_COMPONENTS, **QUICK.get(name, {}))


@pytest.fixture(scope="module", params=list(METHODS))
def name(request):
    return request.param


@pytest.fixture(scope="module")
def fitted(name):
    return new(name).fit(DATA.X[:40], DATA.y[:40], confounds=DATA.confounds[:40])


@pytest.fixture
def unseen():
    return DATA.X[40:], DATA.confounds[40:]


def test_shapes(fitted, unseen):
    X, confounds = unseen
    assert fitted.transform(X, confounds=confounds).shape == (8, N_COMPONENTS)
    assert fitted.predict(X, confounds=confounds).shape == (8, 2)
    assert fitted.adjust(X, confounds=confounds).shape == X.shape


def test_one_trait_is_predicted_as_a_vector(name, unseen):
    X, confounds = unseen
    model = new(name).fit(DATA.X[:40], DATA.y[:40, 0], confounds=DATA.confounds[:40])
    assert model.predict(X, confounds=confounds).shape == (8,)


def test_answers_are_finite_and_counts_not_negative(fitted, unseen):
    X, confounds = unseen
    adjusted = fitted.adjust(X, confounds=confounds)
    assert np.isfinite(fitted.transform(X, confounds=confounds)).all()
    assert np.isfinite(fitted.predict(X, confounds=confounds)).all()
    assert np.isfinite(adjusted).all() and (adjusted >= 0).all()


def test_matrices_and_edges_are_the_same_subjects(fitted, unseen):
    X, confounds = unseen
    matrices = edges_to_matrices(X)
    assert_allclose(
        fitted.transform(matrices, confounds=confounds),
        fitted.transform(X, confounds=confounds),
        atol=1e-6,
    )
    adjusted = fitted.adjust(matrices, confounds=confounds)
    assert adjusted.shape == matrices.shape
    assert_array_equal(adjusted, np.swapaxes(adjusted, 1, 2))
    assert_allclose(adjusted, edges_to_matrices(fitted.adjust(X, confounds=confounds)), atol=1e-6)


def test_same_seed_same_answer(name, fitted, unseen):
    X, confounds = unseen
    again = new(name).fit(DATA.X[:40], DATA.y[:40], confounds=DATA.confounds[:40])
    for method in ("transform", "predict", "adjust"):
        assert_array_equal(
            getattr(again, method)(X, confounds=confounds),
            getattr(fitted, method)(X, confounds=confounds),
        )


def test_fit_does_not_change_its_input(name):
    X, y, confounds = DATA.X[:40].copy(), DATA.y[:40].copy(), DATA.confounds[:40].copy()
    model = new(name).fit(X, y, confounds=confounds)
    model.adjust(X, confounds=confounds)
    assert_array_equal(X, DATA.X[:40])
    assert_array_equal(y, DATA.y[:40])
    assert_array_equal(confounds, DATA.confounds[:40])


def test_order_of_subjects_does_not_matter(fitted, unseen):
    X, confounds = unseen
    order = np.random.default_rng(0).permutation(len(X))
    for method in ("transform", "predict"):
        answer = getattr(fitted, method)
        assert_allclose(
            answer(X[order], confounds=confounds[order]),
            answer(X, confounds=confounds)[order],
            rtol=1e-5,
            atol=1e-5,
        )


def test_a_subject_alone_is_the_same_subject(fitted, unseen):
    X, confounds = unseen
    alone = fitted.transform(X[:1], confounds=confounds[:1])
    together = fitted.transform(X, confounds=confounds)[:1]
    assert_allclose(alone, together, rtol=1e-5, atol=1e-5)


def test_reference_is_a_motion_level(fitted, unseen):
    X, confounds = unseen
    high = fitted.adjust(X, confounds=confounds, reference=[0.9, 0.5])
    assert high.shape == X.shape and (high >= 0).all()
    with pytest.raises(InputError, match="reference"):
        fitted.adjust(X, confounds=confounds, reference=[1.0, 2.0, 3.0])


def test_missing_confounds_are_named(name):
    model = new(name)
    if name in FITS_WITHOUT_CONFOUNDS:
        assert model.fit(DATA.X, DATA.y).transform(DATA.X).shape == (N_SUBJECTS, N_COMPONENTS)
    else:
        with pytest.raises(ConfoundsError, match=r"needs confounds.*confounds=\.\.\."):
            model.fit(DATA.X, DATA.y)


def test_wrong_number_of_confounds(name, fitted, unseen):
    X, confounds = unseen
    if name not in FITS_WITHOUT_CONFOUNDS:
        with pytest.raises(ConfoundsError, match="fitted with 2"):
            fitted.transform(X, confounds=confounds[:, :1])


def test_unfitted_says_so(name):
    with pytest.raises(NotFittedError, match="Call fit first"):
        new(name).transform(DATA.X, confounds=DATA.confounds)


def test_without_traits_nothing_is_predicted(name):
    model = new(name).fit(DATA.X, confounds=DATA.confounds)
    assert model.transform(DATA.X, confounds=DATA.confounds).shape == (N_SUBJECTS, N_COMPONENTS)
    with pytest.raises(StillomeError):
        model.predict(DATA.X, confounds=DATA.confounds)


def test_clone_keeps_parameters_and_forgets_the_fit(fitted):
    copy = clone(fitted)
    assert repr(copy.get_params()) == repr(fitted.get_params())
    with pytest.raises(NotFittedError):
        copy.transform(DATA.X, confounds=DATA.confounds)


def test_pipeline_routes_confounds(name, fitted, unseen):
    X, confounds = unseen
    with sklearn.config_context(enable_metadata_routing=True):
        method = new(name).set_fit_request(confounds=True).set_transform_request(confounds=True)
        pipeline = make_pipeline(method, Ridge())
        pipeline.fit(DATA.X[:40], DATA.y[:40, 0], confounds=DATA.confounds[:40])
        predicted = pipeline.predict(X, confounds=confounds)
    assert predicted.shape == (8,) and np.isfinite(predicted).all()


def test_grid_search_splits_confounds_with_the_subjects(name):
    with sklearn.config_context(enable_metadata_routing=True):
        method = new(name).set_fit_request(confounds=True).set_score_request(confounds=True)
        search = GridSearchCV(method, {"n_components": [2, 4]}, cv=3)
        search.fit(DATA.X, DATA.y[:, 0], confounds=DATA.confounds)
    assert search.best_params_["n_components"] in (2, 4)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_unknown_names_are_refused():
    with pytest.raises(InputError, match="no method 'combatt'; choose among inv-fa, gate"):
        make_method("combatt")
    with pytest.raises(InputError, match="no parameter 'batches'; it has"):
        make_method("combat", batches=3)
    assert "combatt" not in METHODS and "combat" in METHODS
