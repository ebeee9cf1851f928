"""Certificates of subjects that were adjusted by different models."""

import numpy as np
import pytest
from scipy.stats import kstest

from stillome.cohort.exchange import Shuffler
from stillome.cohort.residuals import least_squares
from stillome.evaluate.leakage.certificate import leakage_certificate, repeated_certificate
from stillome.evaluate.leakage.outcomes import joined
from stillome.evaluate.leakage.probe_data import prepare_probes
from stillome.evaluate.leakage.probes import (
    fit_svr,
    probe_by_fitting,
    probe_distance_correlation,
    probe_ridge,
)
from stillome.exceptions import InputError


def standard(values):
    return (values - values.mean(axis=0)) / values.std(axis=0)


def turned(base, within, rng):
    """Give every part coordinates of its own, as the latents of different models have."""
    features = np.empty_like(base)
    for part in np.unique(within):
        matrix, _ = np.linalg.qr(rng.standard_normal((base.shape[1],) * 2))
        features[within == part] = base[within == part] @ matrix
    return features


def divisions(n, rng, repeats=2):
    return [rng.permutation(np.arange(n) % 3) for _ in range(repeats)]


def p_values(seed, n=60):
    """p of three probes of two repeats, of features that have nothing to do with motion."""
    rng = np.random.default_rng(seed)
    base, motion = rng.standard_normal((n, 4)), rng.gamma(2.0, 0.2, n)
    data = [
        prepare_probes(turned(base, w, rng), motion, "features", None, None, 4, rng, w)
        for w in divisions(n, rng)
    ]
    orders = Shuffler(np.arange(n)).draw_many(99, rng)
    motion = data[0].confounds
    found = {
        "ridge": [probe_ridge(d.features, motion, d.blocks, orders) for d in data],
        "dcor": [probe_distance_correlation(d.features, motion, d.blocks, orders) for d in data],
        "svr": [
            probe_by_fitting(fit_svr, d.features, motion, d.blocks, d.groups, rng) for d in data
        ],
    }
    return {name: joined(one, motion, np.arange(n), 0).p_value for name, one in found.items()}


def test_tests_within_parts_are_calibrated():
    found = [p_values(seed) for seed in range(60)]
    for name in ("ridge", "dcor"):
        assert kstest([one[name] for one in found], "uniform").pvalue > 0.01, name
    # Prequential tests of several repeats are joined as if they were the same: never too often.
    svr = np.array([one["svr"] for one in found])
    assert (svr <= 0.05).mean() <= 0.1 and (svr <= 0.2).mean() <= 0.3


def test_a_leak_in_every_part_is_found_whatever_its_coordinates():
    rng = np.random.default_rng(1)
    n = 240
    motion = standard(rng.gamma(2.0, 0.2, n))
    base = rng.standard_normal((n, 6))
    base[:, 0] += 1.5 * motion
    within = divisions(n, rng)
    features = [turned(base, labels, rng) for labels in within]
    found = repeated_certificate(features, motion, within=within, n_permutations=200)
    assert (found.table["p_holm"] <= 0.05).all()
    assert 0.4 < found.table.loc["ridge", "low"] < found.table.loc["ridge", "r2"] < 0.7
    # One set of directions for all parts reads less: they differ.
    pooled = repeated_certificate(features, motion, n_permutations=200)
    assert pooled.table.loc["ridge", "r2"] < found.table.loc["ridge", "r2"] - 0.2


def test_slopes_fitted_to_others_leak_within_parts_and_not_across():
    """Features without any motion effect: their cross-fitted slopes are chance, and cancel out."""
    inside, across = [], []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        n = 150
        motion, base = standard(rng.gamma(2.0, 0.2, n)), rng.standard_normal((n, 15))
        within = rng.permutation(np.arange(n) % 3)
        adjusted = np.empty_like(base)
        for part in range(3):
            test = within == part
            fitted = least_squares(base[~test], motion[~test, None])
            adjusted[test] = fitted.residuals(base[test], motion[test, None])
        orders = Shuffler(np.arange(n)).draw_many(99, rng)
        for labels, found in ((within, inside), (None, across)):
            data = prepare_probes(adjusted, motion, "features", None, None, 5, rng, labels)
            one = probe_distance_correlation(data.features, data.confounds, data.blocks, orders)
            found.append(joined([one], data.confounds, data.groups, 0).p_value)
    assert sum(p <= 0.05 for p in inside) >= 5
    assert min(across) > 0.05 and np.median(across) > 0.5


def test_one_label_for_all_is_the_certificate_without_labels():
    rng = np.random.default_rng(4)
    features, motion = rng.standard_normal((60, 3)), rng.random(60)
    usual = leakage_certificate(features, motion, n_permutations=99)
    same = leakage_certificate(features, motion, within=np.full(60, "a"), n_permutations=99)
    assert same.table.equals(usual.table)


def test_a_nuisance_is_set_aside_within_parts():
    rng = np.random.default_rng(5)
    n = 180
    age = rng.standard_normal(n)
    motion, base = age + rng.standard_normal(n), rng.standard_normal((n, 4))
    base[:, 0] += age
    within = rng.permutation(np.arange(n) % 3)
    features = turned(base, within, rng)
    given = {"within": within, "n_permutations": 99}
    assert not leakage_certificate(features, motion, **given).passed
    assert leakage_certificate(features, motion, nuisance=age, **given).passed


def test_repeats_need_labels_of_their_own():
    with pytest.raises(InputError, match="labels of 1 repeats for 2 sets"):
        repeated_certificate([np.eye(30)] * 2, np.arange(30.0), within=[np.zeros(30)])
