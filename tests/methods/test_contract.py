"""One contract for every method in `METHODS`."""

import warnings

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline

from stillome.cohort.edges import edges_to_matrices
from stillome.exceptions import (
    ConfoundsError,
    InputError,
    NotFittedError,
    StillomeError,
    StillomeWarning,
)
from stillome.methods.contract import ConnectomeMethod
from stillome.methods.registry import METHODS, make_method
from stillome.methods.storage import load_model

# Three epochs do not train a network; what a method promises holds from the first on.
pytestmark = pytest.mark.filterwarnings("ignore:The latent has collapsed")

N_SUBJECTS, N_REGIONS, N_COMPONENTS = 48, 8, 5
USES_NO_CONFOUNDS = {"gate"}
INFERS = {"inv-fa", "inv-vae"}
CHANGES_AT_THE_REFERENCE = {"gate", "sog"}
CANNOT_KEEP = {"gate", "sog", "leace", "quantile-matching"}
REMOVES_NOTHING = {"raw"}  # there is nothing to keep from being removed, and no reference


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


def new(name: str, **parameters) -> ConnectomeMethod:
    quick = {"max_epochs": 3} if "max_epochs" in make_method(name).get_params() else {}
    if name == "inv-vae":  # by so few subjects held out, it would stay at the factors of inv-fa
        quick |= {"validation_fraction": 0.0}
    return make_method(name, **({"n_components": N_COMPONENTS} | quick | parameters))


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


def test_predictions_are_in_the_unit_of_the_trait_and_linear_in_the_latents(name, fitted):
    given = {"confounds": DATA.confounds[:40]}
    X, y = DATA.X[:40], DATA.y[:40]
    predicted = fitted.predict(X, **given)
    other = new(name).fit(X, 100 * y + 7, **given).predict(X, **given)
    assert_allclose(other, 100 * predicted + 7, rtol=1e-3, atol=1e-2)
    Z = fitted.transform(X, **given)
    parts = [np.ones(40), Z] + [DATA.confounds[:40]] * (name == "pca-regression")
    design = np.column_stack(parts)
    assert_allclose(design @ np.linalg.lstsq(design, predicted)[0], predicted, atol=1e-6)


@pytest.mark.filterwarnings("ignore:y. the confounds explain")
def test_what_motion_tells_about_a_trait_is_not_predicted(name):
    """Connectomes that have nothing to do with motion, and a trait that is motion."""
    rng = np.random.default_rng(3)
    moved = np.exp(rng.standard_normal(120))
    X = rng.poisson(np.exp(rng.uniform(1, 4, 28) + 0.3 * rng.standard_normal((120, 1))))
    model = new(name).fit(X, moved, confounds=moved)
    assert np.corrcoef(model.predict(X, confounds=moved), moved)[0, 1] ** 2 < 0.3


def test_score_is_the_r2_of_predicted_traits(fitted, unseen):
    X, confounds = unseen
    y = DATA.y[40:].copy()
    y[0, 1] = np.nan
    predicted = fitted.predict(X, confounds=confounds)
    expected = [r2_score(y[:, 0], predicted[:, 0]), r2_score(y[1:, 1], predicted[1:, 1])]
    assert fitted.score(X, y, confounds=confounds) == pytest.approx(np.mean(expected))
    with pytest.raises(InputError, match="Pass the traits as y"):
        fitted.score(X, None, confounds=confounds)


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


def test_a_fit_without_confounds_removes_nothing_and_says_so(name, tmp_path):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", StillomeWarning)
        model = new(name).fit(DATA.X, DATA.y)
    said = [str(each.message) for each in told if "no confounds were given" in str(each.message)]
    assert len(said) == (name not in USES_NO_CONFOUNDS)
    assert model.transform(DATA.X).shape == (N_SUBJECTS, N_COMPONENTS)
    assert model.sample(3).confounds is None
    if name not in CHANGES_AT_THE_REFERENCE:
        assert_allclose(model.adjust(DATA.X), DATA.X, rtol=1e-9, atol=1e-9)
    if name not in USES_NO_CONFOUNDS:
        with pytest.raises(ConfoundsError, match=f"this {type(model).__name__} was fitted without"):
            model.transform(DATA.X, confounds=DATA.confounds)
    loaded = load_model(model.save(tmp_path / "model"))
    assert_array_equal(loaded.transform(DATA.X), model.transform(DATA.X))


def test_confounds_that_are_forgotten_are_noticed(name, fitted, unseen):
    for method in ("transform", "adjust", "predict"):
        ask = getattr(fitted, method)
        if name in INFERS:
            with pytest.warns(StillomeWarning, match="motion is inferred"):
                ask(unseen[0])
        elif name not in USES_NO_CONFOUNDS:
            with pytest.raises(ConfoundsError, match=r"Pass confounds=\.\.\."):
                ask(unseen[0])


def test_wrong_number_of_confounds(name, fitted, unseen):
    X, confounds = unseen
    if name not in USES_NO_CONFOUNDS:
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
    sizes, folds = [1, 4], KFold(3)
    with sklearn.config_context(enable_metadata_routing=True):
        method = new(name).set_fit_request(confounds=True).set_score_request(confounds=True)
        search = GridSearchCV(method, {"n_components": sizes}, cv=folds)
        search.fit(DATA.X, DATA.y[:, 0], confounds=DATA.confounds)
    by_hand = np.empty((3, 2))
    for fold, (train, test) in enumerate(folds.split(DATA.X)):
        for column, size in enumerate(sizes):
            model = new(name, n_components=size)
            model.fit(DATA.X[train], DATA.y[train, 0], confounds=DATA.confounds[train])
            by_hand[fold, column] = model.score(
                DATA.X[test], DATA.y[test, 0], confounds=DATA.confounds[test]
            )
    assert_allclose(search.cv_results_["mean_test_score"], by_hand.mean(axis=0))
    assert search.best_params_["n_components"] == sizes[by_hand.mean(axis=0).argmax()]


AGE = DATA.confounds[:, 0] + np.random.default_rng(1).normal(0, 0.2, N_SUBJECTS)


def test_covariates_to_keep_are_taken_by_every_fit(name):
    given = {"confounds": DATA.confounds, "covariates_to_keep": AGE}
    if name in CANNOT_KEEP:
        with pytest.warns(StillomeWarning, match="has no way to keep covariates"):
            kept = new(name).fit(DATA.X, **given)
    else:
        kept = new(name).fit(DATA.X, **given)
    without = new(name).fit(DATA.X, confounds=DATA.confounds)
    answers = [m.adjust(DATA.X, confounds=DATA.confounds) for m in (kept, without)]
    assert np.array_equal(*answers) == (name in CANNOT_KEEP | REMOVES_NOTHING)
    if name not in CANNOT_KEEP:
        Z = new(name).fit_transform(DATA.X, **given)
        assert_array_equal(Z, kept.transform(DATA.X, confounds=DATA.confounds))
    with pytest.raises(ConfoundsError, match="covariates_to_keep: 3 rows"):
        new(name).fit(DATA.X, confounds=DATA.confounds, covariates_to_keep=[1, 2, 3])


@pytest.mark.filterwarnings("ignore:.* has no way to keep covariates")
def test_routing_takes_covariates_to_keep_along(name):
    with sklearn.config_context(enable_metadata_routing=True):
        method = new(name).set_fit_request(confounds=True, covariates_to_keep=True)
        pipeline = make_pipeline(method.set_transform_request(confounds=True), Ridge())
        given = {"confounds": DATA.confounds, "covariates_to_keep": AGE}
        pipeline.fit(DATA.X, DATA.y[:, 0], **given)
        routed = pipeline[0].transform(DATA.X, confounds=DATA.confounds)
    by_hand = new(name).fit(DATA.X, DATA.y[:, 0], **given)
    assert_array_equal(routed, by_hand.transform(DATA.X, confounds=DATA.confounds))


class Ageing:
    """Edges are lost with age and with motion; the old move more."""

    def __init__(self, seed: int, n: int = 480, n_edges: int = 66) -> None:
        rng = np.random.default_rng(seed)
        self.age = rng.standard_normal(n)
        self.motion = np.exp(0.5 * (0.6 * self.age + 0.8 * rng.standard_normal(n)))
        self.slopes = rng.normal(-0.15, 0.1, n_edges)
        level = rng.uniform(2.5, 5, n_edges) + self.age[:, None] * self.slopes
        person = rng.standard_normal((n, 3)) @ rng.normal(0, 0.2, (3, n_edges))
        self.X = rng.poisson(np.exp(level + person - 0.3 * self.motion[:, None]))

    def error(self, adjusted: np.ndarray) -> float:
        """How far the effect of age on the log edges is from the true one."""
        age = self.age - self.age.mean()
        found = np.log1p(adjusted).T @ age / (age @ age)
        return float(np.abs(found - self.slopes).mean())


@pytest.mark.parametrize("kind", sorted(set(METHODS) - CANNOT_KEEP - REMOVES_NOTHING))
def test_the_effect_of_what_is_kept_stays(kind):
    errors = np.empty((3, 2))
    for row in range(3):
        data = Ageing(row)
        for column, kept in enumerate((data.age, None)):
            model = new(kind, n_components=10)
            model.fit(data.X, confounds=data.motion, covariates_to_keep=kept)
            errors[row, column] = data.error(model.adjust(data.X, confounds=data.motion))
    assert (errors[:, 0] < 0.8 * errors[:, 1]).all(), errors


def units():
    weights = DATA.X * np.random.default_rng(3).lognormal(0, 0.2, DATA.X.shape)
    return {"counts": DATA.X, "small weights": weights / 200, "large weights": weights * 50}


@pytest.fixture(scope="module", params=["counts", "small weights", "large weights"])
def sampled(name, request):
    X = units()[request.param]
    return X, new(name).fit(X, DATA.y, confounds=DATA.confounds)


def test_synthetic_subjects_have_the_unit_of_the_training_data(name, sampled):
    X, model = sampled
    drawn = model.sample(500, random_state=1)
    assert drawn.connectomes.shape == (500, N_REGIONS, N_REGIONS)
    assert_array_equal(drawn.connectomes, np.swapaxes(drawn.connectomes, 1, 2))
    assert (drawn.connectomes >= 0).all() and np.isfinite(drawn.connectomes).all()
    assert drawn.connectomes.dtype == (np.int64 if X.dtype.kind == "i" else np.float64)
    edges = drawn.connectomes[:, *np.triu_indices(N_REGIONS, 1)]
    assert X.mean() / 1.5 < edges.mean() < 1.5 * X.mean()
    assert np.corrcoef(edges.mean(axis=0), X.mean(axis=0))[0, 1] > 0.9
    assert drawn.traits.shape == (500, 2) and np.isfinite(drawn.traits).all()
    assert_allclose(drawn.traits.std(axis=0), np.nanstd(DATA.y, axis=0), rtol=0.3)
    if name in USES_NO_CONFOUNDS:
        assert drawn.confounds is None
    else:
        assert_allclose(drawn.confounds.mean(axis=0), DATA.confounds.mean(axis=0), rtol=0.15)


def test_synthetic_subjects_depend_on_the_seed_only(fitted, tmp_path):
    first, again, other = (fitted.sample(7, random_state=seed) for seed in (1, 1, 2))
    loaded = load_model(fitted.save(tmp_path / "model")).sample(7, random_state=1)
    for same in (again, loaded):
        assert_array_equal(same.connectomes, first.connectomes)
        assert_array_equal(same.traits, first.traits)
    assert (other.connectomes != first.connectomes).any()
    with pytest.raises(InputError, match="n_subjects=0"):
        fitted.sample(0)


def test_synthetic_subjects_of_one_trait_and_of_none(name):
    one = new(name).fit(DATA.X, DATA.y[:, 0], confounds=DATA.confounds)
    assert one.sample(3).traits.shape == (3,)
    assert new(name).fit(DATA.X, confounds=DATA.confounds).sample(3).traits is None
    with pytest.raises(NotFittedError, match="Call fit first"):
        new(name).sample(3)


def test_a_reference_that_nobody_is_near_is_named_by_every_method(name, fitted, unseen):
    X, confounds = unseen
    far = [5.0, 0.5]
    if name in USES_NO_CONFOUNDS | REMOVES_NOTHING:
        assert fitted.adjust(X, confounds=confounds, reference=far).shape == X.shape
    else:
        with pytest.warns(StillomeWarning, match=r"reference=5 lies \d+ standard.* confound 0"):
            fitted.adjust(X, confounds=confounds, reference=far)


def test_unknown_names_are_refused():
    with pytest.raises(InputError, match=f"no method 'combatt'; choose among {', '.join(METHODS)}"):
        make_method("combatt")
    assert "combatt" not in METHODS and "combat" in METHODS


def test_unknown_parameters_are_answered_with_those_there_are(name):
    known = make_method(name).get_params()
    with pytest.raises(InputError, match=f"'{name}' has no parameter 'wings'; it has") as refused:
        make_method(name, wings=2)
    listed = str(refused.value).split("it has ")[1].rstrip(".").split(", ")
    assert listed == sorted(known)


@pytest.mark.parametrize("value", [0, -1, "many", None, 2.5])
def test_the_method_itself_judges_the_value_of_a_parameter(name, value):
    with pytest.raises(InputError, match=f"n_components={value!r}"):
        make_method(name, n_components=value).fit(DATA.X, confounds=DATA.confounds)
