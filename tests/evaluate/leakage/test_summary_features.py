"""Leaks into what all edges of a network have in common, which single edges hardly show."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from scipy.stats import kstest
from sklearn.metrics import roc_auc_score

from odd_inputs import matrices
from stillome.cohort.edges import edge_indices, edges_to_matrices
from stillome.cohort.exchange import Shuffler
from stillome.evaluate import graph_measures, leakage_certificate, summary_features
from stillome.evaluate.leakage.auc import best_auc, two_valued
from stillome.evaluate.leakage.outcomes import joined
from stillome.evaluate.leakage.probe_data import prepare_probes
from stillome.evaluate.leakage.probes import probe_ridge

OLD = ["ridge", "svr", "trees", "distance correlation", "zeros, ridge", "zeros, trees"]
N_REGIONS = 20
FIRST, SECOND = edge_indices(N_REGIONS)


def counts_with_a_floor(rng, n=120, shift=0.0):
    """Networks of counts, none of them below 3; totals differ between subjects."""
    log_rate = rng.normal(1.5, 1.5, len(FIRST)) + 0.2 * rng.standard_normal((n, 1)) + shift
    counts = rng.poisson(np.exp(log_rate) * rng.gamma(4.0, 0.25, log_rate.shape))
    return np.where(counts < 3, 0, counts)


def certify(counts, confounds, **options):
    return leakage_certificate(counts, confounds, kind="counts", n_permutations=250, **options)


def test_counts_below_the_floor_are_found_although_no_edge_shows_them():
    rng = np.random.default_rng(0)
    moved = np.arange(120) % 2
    counts = counts_with_a_floor(rng)
    for subject in np.flatnonzero(moved):
        some = rng.choice(np.flatnonzero(counts[subject] == 0), 2, replace=False)
        counts[subject, some] = [1, 2]
    found = certify(counts, moved)
    assert not found.passed
    assert (found.table.loc[OLD, "p_holm"] > 0.05).all()
    assert found.table.loc["summary, ridge", "auc"] > 0.99
    assert found.table.loc["summary, trees", "auc"] > 0.99
    assert found.table["auc"].drop("distance correlation").notna().all()
    assert np.isnan(found.table.loc["distance correlation", "auc"])
    assert "AUC 1.00" in found.sentence()


def test_a_larger_deviation_from_the_mean_network_is_found():
    rng = np.random.default_rng(1)
    motion = rng.gamma(2.0, 0.2, 120)
    noise = rng.standard_normal((120, len(FIRST))) * (0.2 + 0.3 * motion)[:, None]
    weights = np.exp(rng.normal(3, 1, len(FIRST)) + noise)
    table = certify(weights, motion).table
    assert table.loc[["summary, ridge", "summary, trees"], "p_holm"].max() < 0.05
    assert table.loc["ridge", "r2"] < 0.05 < table.loc["summary, ridge", "r2"] - 0.3


def test_a_leak_common_to_the_edges_of_two_regions_is_found_best_by_region():
    rng = np.random.default_rng(2)
    motion = rng.gamma(2.0, 1.0, 150)
    effect = np.where(FIRST < 2, -0.15, 0.0)
    counts = counts_with_a_floor(rng, 150, shift=np.outer(motion - 2, effect))
    table = certify(counts, motion).table
    assert table.loc["regions, ridge", "p_holm"] < 0.05
    assert table["r2"].idxmax() == "regions, ridge"


def test_graph_measures_find_a_density_that_depends_on_motion():
    rng = np.random.default_rng(3)
    motion = rng.gamma(2.0, 0.2, 120)
    counts = counts_with_a_floor(rng)
    lost = rng.random(counts.shape) < 0.3 * motion[:, None]
    table = certify(np.where(lost, 0, counts), motion).table
    assert table.loc["graph measures, ridge", "p_holm"] < 0.05
    assert table.loc["graph measures, ridge", "r2"] > table.loc["ridge", "r2"]


@pytest.mark.parametrize("weights", [False, True])
def test_without_a_leak_no_probe_of_few_numbers_is_biased(weights):
    """p-values of families, alike in networks and motion, are those of a fair die."""
    p_values = []
    for seed in range(60):
        rng = np.random.default_rng([4, seed])
        family = np.repeat(np.arange(16), 2)
        counts = counts_with_a_floor(rng, 16)[family] + rng.poisson(0.2, (32, len(FIRST)))
        values = counts * 0.37 if weights else counts
        motion = rng.gamma(2.0, 0.2, 16)[family] + 0.01 * rng.standard_normal(32)
        data = prepare_probes(values, motion, "counts", None, family, 4, rng)
        orders = Shuffler(data.groups).draw_many(99, rng)
        p_values.append(
            {
                name: joined(
                    [probe_ridge(view, data.confounds, data.blocks, orders)],
                    *(data.confounds, data.groups, 0),
                ).p_value
                for name, view in data.views.items()
            }
        )
    table = pd.DataFrame(p_values)
    assert list(table.columns) == ["zeros", "summary", "graph measures", "regions"]
    assert all(kstest(table[name], "uniform").pvalue > 0.005 for name in table)


def test_without_a_leak_the_certificate_passes():
    passed = []
    for seed in range(4):
        rng = np.random.default_rng([5, seed])
        passed.append(certify(counts_with_a_floor(rng, 60), rng.gamma(2.0, 0.2, 60)).passed)
    assert sum(passed) >= 3


def test_summary_numbers_are_what_they_are_called():
    counts = np.array([[0, 3, 3, 4, 0, 10], [1, 0, 5, 5, 5, 20], [0, 0, 0, 0, 0, 0]])
    found = summary_features(counts)
    assert found["equal_3"].tolist() == pytest.approx([2 / 6, 0, 0])
    assert found["equal_1"].tolist() == pytest.approx([0, 1 / 6, 0])
    assert found["equal_20"].tolist() == pytest.approx([0, 1 / 6, 0])  # the sixth smallest
    assert found["distinct"].tolist() == [3, 3, 0]
    assert np.exp(found["smallest"]).tolist()[:2] == pytest.approx([3, 1])
    assert np.exp(found["total"]).tolist()[:2] == pytest.approx([20, 36])
    assert np.exp(found["floor_of_largest"]).tolist()[:2] == pytest.approx([0.3, 0.05])
    assert np.exp(found["floor_of_total"]).tolist()[:2] == pytest.approx([3 / 20, 1 / 36])
    assert found["top_share"].tolist() == pytest.approx([10 / 20, 20 / 36, 0])
    assert found["fractional"].tolist() == [0, 0, 0]
    assert found["present_strong"].tolist() == [1, 1, 0]
    assert found["density"].equals(graph_measures(counts)["density"])


def test_weights_have_fractions_and_no_counts_of_their_smallest_values():
    found = summary_features([[0.25, 1.0, 2.5], [3.0, 1.0, 0.0]])
    assert found["fractional"].tolist() == pytest.approx([2 / 3, 0])
    assert found["mean_fraction"].tolist() == pytest.approx([0.25, 0])
    assert "equal_0.25" not in found
    assert found["equal_1"].tolist() == pytest.approx([1 / 3, 1 / 3])


@settings(max_examples=60)
@given(connectomes=matrices())
def test_any_connectomes_have_finite_summaries(connectomes):
    found = summary_features(connectomes)
    assert np.isfinite(found.to_numpy()).all()
    assert len(found) == len(connectomes)


def test_the_order_of_subjects_and_regions_changes_no_summary():
    rng = np.random.default_rng(6)
    networks = edges_to_matrices(counts_with_a_floor(rng, 30))
    subjects, regions = rng.permutation(30), rng.permutation(N_REGIONS)
    moved = summary_features(networks[subjects][:, regions][:, :, regions])
    np.testing.assert_allclose(moved, summary_features(networks).iloc[subjects], rtol=1e-9)


def test_huge_and_tiny_weights_can_be_certified():
    rng = np.random.default_rng(7)
    weights = counts_with_a_floor(rng, 60)
    motion = rng.gamma(2.0, 0.2, 60)
    for scale in (1e300, 1e-9):
        data = prepare_probes(weights * scale, motion, "counts", None, None, 5, rng)
        assert all(np.isfinite(view).all() for view in data.views.values())


def test_what_age_explains_is_taken_out_of_the_summaries():
    rng = np.random.default_rng(8)
    age = rng.uniform(8, 80, 120)
    motion = (age - 44) / 20 + rng.standard_normal(120)
    counts = counts_with_a_floor(rng)
    counts = np.where(rng.random(counts.shape) < 0.006 * age[:, None], 0, counts)
    raw = certify(counts, motion).table.loc["graph measures, ridge"]
    given = certify(counts, motion, nuisance=age).table.loc["graph measures, ridge"]
    assert raw["p_holm"] < 0.05 < given["p_holm"]


def test_auc_is_that_of_scikit_learn_within_each_fold():
    rng = np.random.default_rng(9)
    labels = two_valued(np.column_stack([rng.integers(0, 2, 40), rng.standard_normal(40)]))
    predicted = labels[:, :1] + rng.standard_normal((40, 2)).round(1)
    folds = [np.arange(20), np.arange(20, 40)]
    right = pairs = 0
    for test in folds:
        ones = labels[test, 0].sum()
        weight = ones * (20 - ones)
        right += weight * roc_auc_score(labels[test, 0], predicted[test, 0])
        pairs += weight
    assert best_auc(predicted, labels, folds) == pytest.approx(right / pairs)
    assert np.isnan(best_auc(predicted[:, 1:], labels[:, 1:], folds))
    single = [np.flatnonzero(labels[:, 0] == 1), np.flatnonzero(labels[:, 0] == 0)]
    assert np.isnan(best_auc(predicted, labels, single))  # no pair to compare


def test_without_leakage_the_auc_is_one_half_on_average():
    scores = []
    for seed in range(30):
        rng = np.random.default_rng([10, seed])
        features, site = rng.standard_normal((60, 3)), rng.permutation(60) % 2
        data = prepare_probes(features, site, "features", None, None, 5, rng)
        no_orders = np.empty((0, 60), dtype=np.intp)
        found = probe_ridge(data.features, data.confounds, data.blocks, no_orders, data.two_valued)
        scores.append(found.auc)
    assert np.mean(scores) == pytest.approx(0.5, abs=0.04)
