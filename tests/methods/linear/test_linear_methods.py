"""The competitors against their definitions, written out by hand."""

import sys

import combatlearn
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import brentq
from sklearn.decomposition import PCA
from sklearn.linear_model import LinearRegression, RidgeCV

from stillome.cohort.residuals import least_squares
from stillome.exceptions import FitError, InputError, MissingExtraError, StillomeWarning
from stillome.methods.linear.batches import ConfoundBatches
from stillome.methods.linear.combat import ComBat
from stillome.methods.linear.edgewise import EdgewiseRegression
from stillome.methods.linear.pca_regression import PCARegression
from stillome.methods.linear.sog import SOG, bounded_loadings
from stillome.methods.trait_regression import PENALTIES

N_TRAIN = 120


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(11)
    latent = rng.standard_normal((160, 4)) * [4, 3, 2, 1]
    confounds = rng.lognormal(-1, 0.6, (160, 2)) * [1.0, 0.01]
    level = rng.uniform(0, 4, 45) + 0.1 * latent @ rng.standard_normal((4, 45))
    X = rng.poisson(np.exp(level - 0.5 * confounds[:, :1] - 20 * confounds[:, 1:]))
    y = latent @ rng.standard_normal((4, 2)) + rng.standard_normal((160, 2))
    y[::9, 1] = np.nan
    confounds[N_TRAIN:] = np.minimum(confounds[N_TRAIN:], confounds[:N_TRAIN].max(axis=0))
    return X, confounds, y


def split(values):
    return values[:N_TRAIN], values[N_TRAIN:]


def same_up_to_sign(found, expected, **tolerance):
    signs = np.sign((found * expected).sum(axis=0))
    assert_allclose(found * signs, expected, **tolerance)


def project_out(values, confounds):
    design = np.column_stack([np.ones(len(confounds)), confounds])
    return values - design @ np.linalg.lstsq(design, values, rcond=None)[0]


def test_pca_regression_is_a_scikit_learn_pipeline(data):
    X, confounds, y = data
    model = PCARegression(n_components=6).fit(
        X[:N_TRAIN], y[:N_TRAIN], confounds=confounds[:N_TRAIN]
    )
    predicted = model.predict(X[N_TRAIN:], confounds=confounds[N_TRAIN:])

    pca = PCA(6, svd_solver="full").fit(np.log1p(X[:N_TRAIN]))
    Z, Z_new = (pca.transform(np.log1p(part)) for part in split(X))
    same_up_to_sign(model.transform(X[N_TRAIN:], confounds=confounds[N_TRAIN:]), Z_new, atol=1e-10)
    for trait in range(2):
        known = ~np.isnan(y[:N_TRAIN, trait])
        c, target = confounds[:N_TRAIN][known], y[:N_TRAIN][known, trait]
        from_motion = LinearRegression().fit(c, target)
        scores_from_motion = LinearRegression().fit(c, Z[known])
        left = Z[known] - scores_from_motion.predict(c)
        ridge = RidgeCV(PENALTIES).fit(left / left.std(axis=0), target - from_motion.predict(c))
        left_new = Z_new - scores_from_motion.predict(confounds[N_TRAIN:])
        expected = ridge.predict(left_new / left.std(axis=0))
        expected += target.mean()  # the trait at average motion
        assert_allclose(predicted[:, trait], expected, rtol=1e-8)


def test_pca_regression_adjusts_what_lies_in_its_components(data):
    X, confounds, _ = data
    model = PCARegression(n_components=6).fit(X, confounds=confounds)
    log_edges, loadings = np.log1p(X), model.pca_.components_
    effect = LinearRegression().fit(confounds, log_edges @ loadings.T).coef_
    expected = log_edges - (confounds - [0.2, 0.0]) @ effect.T @ loadings
    adjusted = model.adjust(X, confounds=confounds, reference=[0.2, 0.0])
    assert_allclose(adjusted, np.expm1(np.maximum(expected, 0)), atol=1e-8)


@pytest.mark.parametrize("sparsity", [0.0, 0.3, 0.6])
def test_sog_scores_are_orthogonal_to_the_confounds(data, sparsity):
    X, confounds, _ = data
    for values in (confounds[:, 0], confounds):
        scores = SOG(n_components=8, sparsity=sparsity).fit_transform(X, confounds=values)
        centred = (values - values.mean(axis=0)).reshape(len(X), -1)
        unit = [table / np.linalg.norm(table, axis=0) for table in (scores, centred)]
        assert np.abs(unit[0].T @ unit[1]).max() < 1e-10
        gram = scores.T @ scores
        assert np.abs(gram - np.diag(np.diag(gram))).max() < 1e-8 * gram.max()


def test_og_solves_its_least_squares_problem(data):
    X, confounds, _ = data
    centred = np.log1p(X) - np.log1p(X).mean(axis=0)
    loadings = np.random.default_rng(0).standard_normal((X.shape[1], 4))
    # Brute force: alternate the two exact least-squares steps of min ‖X − S Uᵀ‖, S ⟂ confounds.
    for _ in range(500):
        scores = project_out(centred @ loadings @ np.linalg.inv(loadings.T @ loadings), confounds)
        loadings = centred.T @ scores @ np.linalg.inv(scores.T @ scores)
    model = SOG(n_components=4, sparsity=0).fit(X, confounds=confounds)
    found = model.transform(X, confounds=confounds) @ model.loadings_.T
    assert_allclose(found, scores @ loadings.T, atol=1e-7)
    assert_array_equal(model.rotation_, np.eye(4))


def bounded_by_bisection(gradient, bound):
    def shrink(threshold):
        return np.sign(gradient) * np.maximum(np.abs(gradient) - threshold, 0)

    def excess(threshold):
        return np.abs(shrink(threshold)).sum() / np.linalg.norm(shrink(threshold)) - bound

    largest = np.abs(gradient).max() * (1 - 1e-9)
    threshold = 0.0 if excess(0.0) <= 0 else brentq(excess, 0.0, largest, xtol=1e-14)
    return shrink(threshold) / np.linalg.norm(shrink(threshold))


def test_sparse_sog_is_one_component_after_another(data):
    X, confounds, _ = data
    model = SOG(n_components=4, sparsity=0.4, tol=1e-15, max_iter=3000).fit(X, confounds=confounds)
    dense = SOG(n_components=4, sparsity=0).fit(X, confounds=confounds)
    left = project_out(np.log1p(X), confounds)
    bound = 0.6 * np.sqrt(X.shape[1])
    for k in range(4):
        u = dense.loadings_[:, k]
        for _ in range(1000):
            s = left @ u / np.linalg.norm(left @ u)
            u = bounded_by_bisection(left.T @ s, bound)
        same_up_to_sign(model.loadings_[:, [k]], u[:, None], atol=1e-4)
        s = left @ u / np.linalg.norm(left @ u)
        left = left - np.outer(s, s @ left)
    assert (model.loadings_ == 0).any()


def test_sog_never_refits_on_new_subjects(data):
    X, confounds, _ = data
    model = SOG(n_components=5).fit(X[:N_TRAIN], confounds=confounds[:N_TRAIN])
    motion = LinearRegression().fit(confounds[:N_TRAIN], np.log1p(X[:N_TRAIN]))
    left = np.log1p(X[N_TRAIN:]) - motion.predict(confounds[N_TRAIN:])
    expected = left @ model.loadings_ @ model.rotation_
    assert_allclose(
        model.transform(X[N_TRAIN:], confounds=confounds[N_TRAIN:]), expected, atol=1e-10
    )
    adjusted = model.adjust(X[N_TRAIN:], confounds=confounds[N_TRAIN:])
    level = motion.predict(np.zeros((1, 2)))
    assert_allclose(
        adjusted, np.expm1(np.maximum(level + expected @ model.loadings_.T, 0)), atol=1e-8
    )


@settings(max_examples=200)
@given(st.integers(2, 40), st.floats(0.0, 0.98), st.integers(0, 10**6))
def test_bounded_loadings_keep_their_bounds(n_edges, sparsity, seed):
    gradients = np.random.default_rng(seed).standard_normal((n_edges, 3))
    bound = max(1.0, (1 - sparsity) * np.sqrt(n_edges))
    loadings = bounded_loadings(gradients, bound)
    assert_allclose(np.linalg.norm(loadings, axis=0), 1)
    assert (np.abs(loadings).sum(axis=0) <= bound + 1e-9).all()
    for column, gradient in enumerate(gradients.T):
        best = bounded_by_bisection(gradient, bound) @ gradient
        assert loadings[:, column] @ gradient >= best - 1e-6


def test_sog_refuses_impossible_sparsity_and_says_when_it_stops_early(data):
    X, confounds, _ = data
    with pytest.raises(InputError, match=r"sparsity=1\.0"):
        SOG(sparsity=1.0).fit(X, confounds=confounds)
    with pytest.warns(StillomeWarning, match="after 2 sweeps"):
        SOG(n_components=4, tol=0, max_iter=2).fit(X, confounds=confounds)


def test_edgewise_is_a_straight_line_per_edge(data):
    X, confounds, _ = data
    motion = confounds[:, 0]
    model = EdgewiseRegression(n_components=5).fit(X[:N_TRAIN], confounds=motion[:N_TRAIN])
    adjusted = model.adjust(X[N_TRAIN:], confounds=motion[N_TRAIN:], reference=0.1)
    for edge in range(X.shape[1]):
        slope, _ = np.polyfit(motion[:N_TRAIN], np.log1p(X[:N_TRAIN, edge]), 1)
        expected = np.log1p(X[N_TRAIN:, edge]) - slope * (motion[N_TRAIN:] - 0.1)
        assert_allclose(adjusted[:, edge], np.expm1(np.maximum(expected, 0)), atol=1e-8)


@pytest.mark.parametrize("method", [EdgewiseRegression, PCARegression, SOG])
def test_beyond_the_training_subjects_the_effect_of_motion_does_not_grow(method, data):
    X, confounds, _ = data
    model = method(n_components=5).fit(X[:N_TRAIN], confounds=confounds[:N_TRAIN])
    most = np.tile(confounds[:N_TRAIN].max(axis=0), (len(X) - N_TRAIN, 1))
    with pytest.warns(StillomeWarning, match="far outside the training range"):
        beyond = model.adjust(X[N_TRAIN:], confounds=50 * most)
    assert_array_equal(beyond, model.adjust(X[N_TRAIN:], confounds=most))


def test_collinear_confounds_share_their_effect():
    rng = np.random.default_rng(0)
    site = rng.integers(2, size=50)
    dummies, values = np.eye(2)[site], rng.standard_normal((50, 3)) + site[:, None]
    residuals = least_squares(values, dummies).residuals(values, dummies)
    expected = values - np.array([values[site == s].mean(axis=0) for s in (0, 1)])[site]
    assert_allclose(residuals, expected, atol=1e-12)


def test_a_subject_alone_is_adjusted_to_the_same_bits(data):
    X, confounds, _ = data
    model = EdgewiseRegression(n_components=5).fit(X, confounds=confounds)
    together = model.adjust(X, confounds=confounds)
    for row in range(20):
        alone = model.adjust(X[[row]], confounds=confounds[[row]])
        assert_array_equal(alone, together[[row]])


@pytest.mark.parametrize("keep", [False, True])
def test_combat_is_combatlearn(data, keep):
    X, confounds, _ = data
    motion, age = confounds[:, 0], confounds[:, 1]
    model = ComBat(n_components=5, n_batches=4)
    model.fit(
        X[:N_TRAIN], confounds=motion[:N_TRAIN], covariates_to_keep=age[:N_TRAIN] if keep else None
    )
    found = model.transform(X[N_TRAIN:], confounds=motion[N_TRAIN:])

    table = pd.DataFrame(np.log1p(X))
    cuts = np.quantile(motion[:N_TRAIN], [0.25, 0.5, 0.75])
    batch = pd.Series(np.digitize(motion, cuts))
    covariates = pd.DataFrame({"age": age}) if keep else None
    combat = combatlearn.ComBat(batch, continuous_covariates=covariates, method="fortin")
    combat.fit(table.iloc[:N_TRAIN])
    if keep:  # new subjects' are not asked for: everybody stands at the mean of the training part
        combat.continuous_covariates["age"] = age[:N_TRAIN].mean()
    train = combat.transform(table.iloc[:N_TRAIN])
    pca = PCA(5, svd_solver="full").fit(train.to_numpy())
    expected = pca.transform(combat.transform(table.iloc[N_TRAIN:]).to_numpy())
    same_up_to_sign(found, expected, atol=1e-8)


def test_combat_leaves_the_reference_batch_as_it_is(data):
    X, confounds, _ = data
    motion = confounds[:, 0]
    model = ComBat(n_batches=3).fit(X, confounds=motion)
    reference = float(np.median(motion))
    there = model.batches_.of(motion[:, None]) == 1
    adjusted = model.adjust(X, confounds=motion, reference=reference)
    assert_allclose(adjusted[there], X[there], atol=1e-8)
    assert np.abs(adjusted[~there] - X[~there]).max() > 1


def test_combat_passes_edges_that_never_vary(data):
    X, confounds, _ = data
    X = X.copy()
    X[:, 3] = 0
    adjusted = ComBat(n_components=4).fit(X, confounds=confounds).adjust(X, confounds=confounds)
    assert_array_equal(adjusted[:, 3], 0)
    assert np.isfinite(adjusted).all()


def test_batches_put_the_unseen_into_the_nearest():
    batches = ConfoundBatches.fit(np.arange(100.0)[:, None], 4)
    assert_allclose(batches.cutoffs, [[24.75, 49.5, 74.25]])
    assert batches.of(np.array([[-50.0], [30.0], [1e6]])).tolist() == [0, 1, 3]
    tied = ConfoundBatches.fit(np.append(np.zeros(80), np.arange(1, 21))[:, None], 5)
    assert np.unique(tied.of(np.array([[0.0], [0.5], [9.0], [20.0]]))).tolist() == [0, 1]
    sites = ConfoundBatches.fit(np.repeat([3.0, 4.0, 8.0], [40, 30, 30])[:, None], 4)
    assert sites.of(np.array([[3.4], [4.0], [-7.0], [7.0]])).tolist() == [0, 1, 0, 2]


def test_motion_quantiles_of_several_confounds_follow_their_common_direction(data):
    _, confounds, _ = data
    rotation_as_degrees = confounds * [1.0, 180 / np.pi]
    batches = ConfoundBatches.fit(confounds, 3).of(confounds)
    assert_array_equal(batches, ConfoundBatches.fit(rotation_as_degrees, 3).of(rotation_as_degrees))
    assert np.bincount(batches).min() > 40


class Sites:
    """Three sites that differ in every edge, and motion that costs fibres at each of them."""

    def __init__(self, n: int = 240) -> None:
        rng = np.random.default_rng(4)
        self.site = rng.integers(3, size=n)
        self.motion = rng.lognormal(-1, 0.6, n)
        effects = np.vstack([np.zeros(45), rng.normal(0, 0.4, (2, 45))])
        person = rng.standard_normal((n, 3)) @ rng.normal(0, 0.2, (3, 45))
        level = rng.uniform(2, 4, 45) + person + effects[self.site]
        self.X = rng.poisson(np.exp(level - 0.8 * self.motion[:, None]))
        self.dummies = np.column_stack([self.site == 1, self.site == 2]).astype(float)

    def differences(self, edges: np.ndarray) -> float:
        """How far apart the means of the sites are, in log edges."""
        means = np.array([np.log1p(edges[self.site == s]).mean(axis=0) for s in range(3)])
        return float(np.ptp(means, axis=0).mean())


@pytest.mark.parametrize("coding", ["two values", "a number for each", "dummies"])
def test_combat_takes_sites_for_batches(coding):
    data = Sites()
    confounds = {
        "two values": (data.site == 1).astype(float)[:, None],
        "a number for each": data.site[:, None] * 2.0 + 7,
        "dummies": data.dummies,
    }[coding]
    model = ComBat(n_components=4).fit(data.X, confounds=confounds)
    assert len(np.unique(model.batches_.of(confounds))) == (2 if coding == "two values" else 3)
    reference = confounds[data.site == 0][0]
    adjusted = model.adjust(data.X, confounds=confounds, reference=reference)
    at_reference = (confounds == reference).all(axis=1)
    assert_allclose(adjusted[at_reference], data.X[at_reference], atol=1e-8)
    if coding != "two values":
        assert data.differences(data.X) > 0.4
        assert data.differences(adjusted) < 0.1


def test_combat_takes_sites_and_motion_together():
    data = Sites()
    confounds = np.column_stack([data.motion, data.dummies])
    model = ComBat(n_components=4).fit(data.X, confounds=confounds)
    batches = model.batches_.of(confounds)
    sizes = np.unique(batches, return_counts=True)[1]
    assert len(sizes) > 6 and sizes.min() >= 8
    for batch in np.unique(batches):
        assert len(np.unique(data.site[batches == batch])) == 1
    adjusted = model.adjust(data.X, confounds=confounds)
    assert data.differences(adjusted) < 0.15
    raw, left = (
        np.ptp([np.log1p(edges[batches == batch]).mean() for batch in np.unique(batches)])
        for edges in (data.X, adjusted)
    )
    assert raw > 0.8 and left < 0.2  # shrunken batch effects, and motion within a batch, stay
    drawn = model.sample(200)
    assert set(map(tuple, drawn.confounds[:, 1:])) == {(0, 0), (1, 0), (0, 1)}


def test_combat_says_what_is_wrong(data, monkeypatch):
    X, confounds, _ = data
    with pytest.raises(InputError, match="n_batches=1"):
        ComBat(n_batches=1).fit(X, confounds=confounds)
    refused = pytest.raises(FitError, match=r"do not fill two or more batches .*smallest: 1")
    with pytest.warns(StillomeWarning, match="subject 159 alone"), refused:
        ComBat().fit(X, confounds=np.repeat([0.0, 1.0], [159, 1]))
    monkeypatch.setitem(sys.modules, "combatlearn", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'stillome\[combat\]'"):
        ComBat().fit(X, confounds=confounds)


@pytest.mark.parametrize("method", [PCARegression, SOG, EdgewiseRegression, ComBat])
def test_never_more_components_than_the_subjects_allow(data, method):
    X, confounds, _ = data
    model = method(n_components=68).fit(X[:20], confounds=confounds[:20])
    assert model.transform(X[:20], confounds=confounds[:20]).shape[1] == model.n_components_ < 20
    with pytest.raises(InputError, match="n_components=0"):
        method(n_components=0).fit(X, confounds=confounds)
