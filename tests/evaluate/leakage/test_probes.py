import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import pdist, squareform
from scipy.stats import kstest
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.linear_model import Ridge
from sklearn.model_selection import GroupKFold

from stillome.cohort.exchange import Shuffler
from stillome.evaluate.leakage.forest import fit_trees
from stillome.evaluate.leakage.outcomes import joined
from stillome.evaluate.leakage.probe_data import Block, prepare_probes
from stillome.evaluate.leakage.probes import (
    fit_svr,
    probe_by_fitting,
    probe_distance_correlation,
    probe_ridge,
)

NO_ORDERS = np.empty((0, 60), dtype=np.intp)


def standard(values):
    return (values - values.mean(axis=0)) / values.std(axis=0)


def data(seed=0, n=60, p=4, leak=0.0):
    rng = np.random.default_rng(seed)
    confounds = standard(rng.gamma(2.0, 1.0, (n, 1)))
    features = rng.standard_normal((n, p))
    features[:, :1] += leak * confounds
    return standard(features), confounds


def blocks_of(n, k=5):
    """Everybody in one block of k folds."""
    return [Block(np.arange(n), [np.arange(start, n, k) for start in range(k)])]


def result(outcome, confounds):
    return joined([outcome], confounds, np.arange(len(confounds)), 0)


group_lists = st.lists(st.integers(0, 6), min_size=1, max_size=30).map(np.array)


@given(groups=group_lists, seed=st.integers(0, 100))
def test_a_shuffle_moves_whole_groups(groups, seed):
    order = Shuffler(groups).draw(np.random.default_rng(seed))
    assert sorted(order) == list(range(len(groups)))
    came_from = groups[order]
    for label in np.unique(groups):
        sources = np.unique(came_from[groups == label])
        assert len(sources) == 1
        assert (groups == sources[0]).sum() == (groups == label).sum()


def test_every_shuffle_of_single_subjects_is_as_likely():
    orders = Shuffler(np.arange(3)).draw_many(6000, np.random.default_rng(0))
    _, counts = np.unique(orders, axis=0, return_counts=True)
    assert len(counts) == 6
    assert counts.min() > 850


@given(groups=group_lists.filter(lambda labels: len(np.unique(labels)) >= 2))
def test_folds_divide_no_group_and_everybody_is_tested_once(groups):
    groups = np.tile(groups, 20)  # enough subjects to be probed
    rng = np.random.default_rng(0)
    features = rng.standard_normal((len(groups), 2))
    folds = (
        prepare_probes(features, features[:, 0], "features", None, groups, 2, rng).blocks[0].folds
    )
    assert sorted(np.concatenate(folds)) == list(range(len(groups)))
    assert not set(groups[folds[0]]) & set(groups[folds[1]])


def test_folds_are_random_and_of_equal_size_which_scikit_learn_has_only_one_at_a_time():
    sites = np.repeat(np.arange(12), [60, 50, 40, *([10] * 9)])
    rng = np.random.default_rng(0)
    ours = [
        prepare_probes(
            rng.standard_normal((240, 2)), np.arange(240.0), "features", None, sites, 3, rng
        )
        .blocks[0]
        .folds
        for _ in range(5)
    ]
    theirs = [
        [
            test
            for _, test in GroupKFold(3, shuffle=True, random_state=seed).split(sites, groups=sites)
        ]
        for seed in range(5)
    ]
    fixed = [test for _, test in GroupKFold(3).split(sites, groups=sites)]
    assert all(len(fold) == 80 for folds in [*ours, fixed] for fold in folds)
    assert len({tuple(folds[0]) for folds in ours}) > 1
    assert max(len(fold) for folds in theirs for fold in folds) > 120


def test_ridge_is_ridge_at_its_best_penalty():
    features, confounds = data(leak=0.5)
    blocks = blocks_of(60)
    found = result(probe_ridge(features, confounds, blocks, NO_ORDERS), confounds)
    scores = []
    for penalty in np.logspace(-4, 5, 40):
        predicted = np.empty(60)
        for test in blocks[0].folds:
            train = np.setdiff1d(np.arange(60), test)
            model = Ridge(penalty).fit(features[train], confounds[train, 0])
            predicted[test] = model.predict(features[test])
        scores.append(1 - ((confounds[:, 0] - predicted) ** 2).sum() / 60)
    assert max(scores) - 0.05 < found.r2 <= max(scores) + 0.02
    assert np.isnan(found.p_value)


def test_distance_correlation_is_its_definition():
    features, confounds = data(leak=1.0)
    found = result(
        probe_distance_correlation(features, confounds, blocks_of(60), NO_ORDERS), confounds
    )

    def centred(values):
        a, n = squareform(pdist(values)), len(values)
        for_rows = a.sum(axis=1, keepdims=True) / (n - 2)
        u = a - for_rows - for_rows.T + a.sum() / ((n - 1) * (n - 2))
        return u * (1 - np.eye(n))

    a, b = centred(features), centred(confounds)
    assert found.r2 == pytest.approx((a * b).sum() / np.sqrt((a**2).sum() * (b**2).sum()), abs=1e-5)


def test_equal_distances_say_nothing():
    _, confounds = data()
    orders = Shuffler(np.arange(60)).draw_many(19, np.random.default_rng(0))
    found = result(
        probe_distance_correlation(np.eye(60), confounds, blocks_of(60), orders), confounds
    )
    assert (found.r2, found.p_value) == (0.0, 1.0)


def test_the_prequential_test_is_calibrated():
    p_values = []
    for seed in range(60):
        features, confounds = data(seed, n=40, p=2)
        rng = np.random.default_rng(seed)
        found = probe_by_fitting(fit_svr, features, confounds, blocks_of(40), np.arange(40), rng)
        p_values.append(result(found, confounds).p_value)
    assert kstest(p_values, "uniform").pvalue > 0.01


@pytest.mark.parametrize("fit", [fit_svr, fit_trees])
@pytest.mark.parametrize("n_features", [1, 3, 30, 200])
def test_few_and_many_features_are_read_alike(fit, n_features):
    features, confounds = data(n=60, p=n_features)
    features += confounds
    outcome = probe_by_fitting(
        fit, features, confounds, blocks_of(60), np.arange(60), np.random.default_rng(0)
    )
    found = result(outcome, confounds)
    assert found.p_value < 0.01
    assert found.low < found.r2 < found.high and found.r2 > 0.2


@pytest.mark.parametrize("fit", [fit_svr, fit_trees])
def test_a_feature_of_one_subject_only_is_no_trouble(fit):
    _, confounds = data()
    features = np.zeros((60, 70))
    features[0] = 1.0
    rng = np.random.default_rng(0)
    fitted = result(
        probe_by_fitting(fit, features, confounds, blocks_of(60), np.arange(60), rng), confounds
    )
    ridge = result(probe_ridge(features, confounds, blocks_of(60), NO_ORDERS), confounds)
    assert -0.2 < fitted.r2 < 0.1
    assert -0.2 < ridge.r2 < 0.1
    assert fitted.p_value > 0.01


def test_trees_say_the_same_bits_every_time():
    features, confounds = data(n=200, p=600, leak=0.5)  # so many that threads are used
    said = [fit_trees(features, confounds[:, 0], 0)(features) for _ in range(4)]
    assert all((one == said[0]).all() for one in said)


@pytest.mark.parametrize("shape", [(60, 5), (200, 600)])
def test_trees_are_those_of_scikit_learn(shape):
    features, confounds = data(n=shape[0], p=shape[1], leak=0.5)
    n_features = min(shape[1], max(20, shape[1] // 10))
    model = ExtraTreesRegressor(
        30, max_features=n_features, min_samples_leaf=5, random_state=3
    ).fit(features, confounds[:, 0])
    ours = fit_trees(features, confounds[:, 0], 3, n_trees=30)
    assert (ours(features) == model.predict(features)).all()
