import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from stillome.evaluate import LeakageCertificate, leakage_certificate, probe_scores
from stillome.evaluate.leakage.certificate import holm
from stillome.exceptions import ConfoundsError, InputError, StillomeWarning
from stillome.methods.linear.edgewise import EdgewiseRegression
from stillome.simulate import simulate_cohort

PROBES = ["ridge", "svr", "trees", "distance correlation"]
OF_ZEROS = ["zeros, ridge", "zeros, trees"]
OF_NETWORKS = ["summary, ridge", "summary, trees", "graph measures, ridge", "regions, ridge"]


def certify(features, confounds, **options):
    return leakage_certificate(features, confounds, **({"n_permutations": 200} | options))


def standard(values):
    return (values - values.mean(axis=0)) / values.std(axis=0)


def clean_data(seed, n=150, p=15):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, p)), standard(rng.gamma(2.0, 0.2, n))


def test_a_leak_into_one_feature_is_caught_by_every_probe():
    features, motion = clean_data(0)
    features[:, 3] += 2 * motion
    certificate = certify(features, motion)
    assert list(certificate.table.index) == PROBES
    assert (certificate.table["p_holm"] < 0.05).all()
    assert not certificate.passed
    assert certificate.worst_r2 > 0.6


def test_a_weak_leak_is_mostly_caught():
    caught = 0
    for seed in range(1, 5):
        features, motion = clean_data(seed, n=300, p=8)
        features[:, 0] = np.sqrt(0.9) * features[:, 0] + np.sqrt(0.1) * motion
        caught += not certify(features, motion, n_permutations=500).passed
    assert caught >= 3


def test_a_leak_into_the_spread_is_no_secret_to_trees():
    features, motion = clean_data(4, n=300)
    features[:, 0] *= np.exp(motion)
    certificate = certify(features, motion)
    assert certificate.table.loc["trees", "p_holm"] < 0.05
    assert certificate.table.loc["ridge", "r2"] < 0.05
    assert not certificate.passed


def test_without_a_leak_it_seldom_fails():
    certificates = [certify(*clean_data(seed, n=60, p=4)) for seed in range(8)]
    # At a chance of 5 % each, three or more would be seen in six of a thousand such tests.
    assert sum(not certificate.passed for certificate in certificates) <= 2
    assert np.mean([certificate.worst_r2 for certificate in certificates]) < 0.05
    p_values = pd.concat([certificate.table["p_value"] for certificate in certificates])
    assert 0.3 < p_values.mean() < 0.7


def test_two_confounds_are_no_two_chances():
    features, motion = clean_data(5, n=60, p=4)
    assert certify(features, np.column_stack([motion, np.roll(motion, 7)])).passed


@pytest.mark.parametrize("column", [0, 1])
def test_either_confound_of_two_is_found(column):
    features, motion = clean_data(5, n=100, p=5)
    confounds = np.column_stack([motion, np.random.default_rng(6).standard_normal(len(motion))])
    features[:, 2] += confounds[:, column]
    certificate = certify(features, confounds)
    assert not certificate.passed
    assert certificate.table.loc["ridge", "r2"] > 0.3


def family_data(seed, n_families=40, size=3):
    """Members of a family are alike in features and in motion, for no reason of motion's."""
    rng = np.random.default_rng(seed)
    family = np.repeat(np.arange(n_families), size)
    features = rng.standard_normal((n_families, 8))[family]
    motion = rng.standard_normal(n_families)[family]
    noise = 0.2 * rng.standard_normal((len(family), 9))
    return features + noise[:, :8], motion + noise[:, 8], family


def test_families_are_kept_together():
    alone, together = [], []
    for seed in range(3):
        features, motion, family = family_data(seed)
        shuffled = np.random.default_rng(seed).permutation(len(family))
        features, motion, family = features[shuffled], motion[shuffled], family[shuffled]
        alone.append(certify(features, motion).passed)
        together.append(certify(features, motion, groups=[f"f{name}" for name in family]).passed)
    assert sum(alone) == 0
    assert sum(together) >= 2


def test_a_leak_is_caught_with_families_too():
    features, motion, family = family_data(7)
    features[:, 0] += motion
    assert not certify(features, motion, groups=family).passed


def test_what_age_explains_may_be_set_aside_and_no_more():
    rng = np.random.default_rng(8)
    age = rng.uniform(8, 80, 200)
    motion = standard(age) + rng.standard_normal(200)
    features = rng.standard_normal((200, 6))
    features[:, 0] += standard(age)
    assert not certify(features, motion).passed
    assert certify(features, motion, nuisance=age).passed
    features[:, 1] += 0.7 * motion
    assert not certify(features, motion, nuisance=age).passed


def test_the_pattern_of_zeros_alone_gives_motion_away():
    rng = np.random.default_rng(9)
    motion = rng.gamma(2.0, 0.2, 150)
    counts = rng.poisson(3.0, (150, 45)) + 1
    missing = rng.random(counts.shape) < (0.1 + 0.3 * (motion > np.median(motion)))[:, None]
    table = certify(counts * ~missing, motion, kind="counts").table
    assert list(table.index) == [*PROBES, *OF_ZEROS, *OF_NETWORKS]
    assert (table.loc[OF_ZEROS, "p_holm"] < 0.05).all()
    no_zeros = certify(counts, motion, kind="counts").table
    assert list(no_zeros.index) == [*PROBES, *OF_NETWORKS]


def test_edges_regressed_on_motion_do_not_fool_trees():
    simulated = simulate_cohort(160, random_state=0)
    keep = np.ix_(range(160), range(0, 68, 4), range(0, 68, 4))
    raw, truth = simulated.cohort.connectomes[keep], simulated.motion_free[keep]
    method = EdgewiseRegression(n_components=5).fit(raw, confounds=simulated.confounds)
    adjusted = method.adjust(raw, confounds=simulated.confounds)
    scores = probe_scores(adjusted, simulated.confounds, kind="counts")
    assert scores["trees"] > 0.5 > scores["ridge"] + 0.2
    assert not certify(adjusted, simulated.confounds, kind="counts").passed
    assert certify(truth, simulated.confounds, kind="counts").passed


def test_matrices_and_edges_are_the_same_connectomes():
    simulated = simulate_cohort(40, random_state=1)
    matrices = simulated.cohort.connectomes[:, :10, :10]
    rows, columns = np.triu_indices(10, k=1)
    first = probe_scores(matrices, simulated.confounds, kind="counts")
    second = probe_scores(matrices[:, rows, columns], simulated.confounds, kind="counts")
    # Sums over arrays that lie differently in memory may differ in the last digit.
    assert first == pytest.approx(second, rel=1e-9)


def test_the_same_seed_gives_the_same_certificate():
    data = clean_data(10, n=40, p=3)
    first, again, other = (certify(*data, random_state=seed).table for seed in (3, 3, 4))
    pd.testing.assert_frame_equal(first, again)
    assert not first.equals(other)


def test_scores_are_those_of_the_certificate_without_its_tests():
    data = clean_data(11, n=40, p=3)
    assert probe_scores(*data) == certify(*data).table["r2"].to_dict()


def test_units_do_not_matter():
    features, motion = clean_data(12, n=40, p=3)
    usual = probe_scores(features, motion)
    scaled = probe_scores(features * [1e200, 1e-200, 1.0], motion * 1e180)
    assert scaled == pytest.approx(usual, abs=0.05)  # trees compare 32-bit numbers


def test_progress_is_told():
    seen = []
    certify(*clean_data(13, n=40, p=3), progress=lambda done, total: seen.append((done, total)))
    assert seen == [(1, 4), (2, 4), (3, 4), (4, 4)]


def made_up(p_values=(0.41, 0.9), r2=(0.004, -0.01), auc=np.nan, low=np.nan):
    table = pd.DataFrame(
        {
            "r2": r2,
            "p_value": p_values,
            "p_holm": holm(np.array(p_values)),
            "null_95": 0.01,
            "auc": auc,
            "low": low,
            "high": 0.7,
        },
        index=["trees", "ridge"],
    )
    return LeakageCertificate(table)


def test_the_verdict_is_a_plain_sentence_that_hides_no_probe():
    raw = made_up(p_values=(0.001, 0.001), r2=(0.62, 0.5), low=0.45)
    assert made_up().sentence("z", raw) == (
        "No probe reads motion from z (largest R² and smallest p: trees, 0.00, p = 0.82); "
        "raw connectomes: R² 0.62"
    )
    assert str(raw) == (
        "2 of 2 probes read motion from these features (largest R² and smallest p: trees, "
        "0.62 [0.45, 0.70], p = 0.002)"
    )
    assert made_up(p_values=(0.3, 0.001)).sentence("z") == (
        "1 of 2 probes reads motion from z (largest R²: trees, 0.00, p = 0.3; smallest p: ridge, "
        "R² −0.01, p = 0.002)"
    )
    assert made_up(auc=0.527).sentence("z", confounds="site") == (
        "No probe reads site from z (largest R² and smallest p: trees, 0.00, AUC 0.53, p = 0.82)"
    )


@pytest.mark.parametrize(("p_value", "passed"), [(0.0249, False), (0.025, False), (0.0251, True)])
def test_a_certificate_passes_where_every_row_does(p_value, passed):
    certificate = made_up(p_values=(p_value, 0.9))
    assert certificate.passed == passed == (not certificate.reads.any())


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"features": np.full((40, 3), 0.1)}, InputError, "features: the same for all .*collapsed"),
        ({"features": np.ones((10, 3)), "confounds": np.arange(10)}, InputError, "10 subjects"),
        ({"features": np.ones((40, 2, 2, 2))}, InputError, "features: shape"),
        ({"features": np.full((40, 2), np.nan)}, InputError, "features: nan at subject 0"),
        ({"confounds": np.arange(39)}, ConfoundsError, "39 rows for 40"),
        ({"confounds": np.ones(40)}, ConfoundsError, "the same for all 40"),
        ({"nuisance": np.arange(40.0)}, ConfoundsError, "column 0 is a linear function of the"),
        ({"nuisance": "itself"}, InputError, "features: a linear function of the nuisance"),
        ({"groups": np.arange(3)}, InputError, "groups: shape"),
        ({"groups": np.arange(40) % 3}, InputError, "n_folds=5 with 3 groups"),
        ({"within": np.zeros(39)}, InputError, "within: shape"),
        ({"within": np.arange(40) // 4}, InputError, "n_folds=5 with 4 groups"),
        ({"kind": "edges"}, InputError, "kind='edges'"),
        ({"n_permutations": 0}, InputError, "n_permutations=0"),
        ({"n_folds": 1}, InputError, "n_folds=1"),
        ({"level": 5}, InputError, "level=5"),
        ({"random_state": "x"}, InputError, "random_state='x'"),
    ],
)
def test_what_cannot_be_probed_is_refused_with_a_sentence(change, error, message):
    features = np.random.default_rng(0).standard_normal((40, 3))
    usual = {"features": features, "confounds": np.arange(40) ** 1.0}
    if isinstance(change.get("nuisance"), str):
        change = {"nuisance": features, "confounds": np.arange(40) ** 2.0}
    with pytest.raises(error, match=message):
        leakage_certificate(**(usual | change))


def test_too_few_permutations_are_said_to_prove_nothing():
    with pytest.warns(StillomeWarning, match="n_permutations=20: too few .* use 80"):
        leakage_certificate(*clean_data(14, n=40, p=2), n_permutations=20)


@given(npst.arrays(np.float64, st.integers(1, 9), elements=st.floats(0, 1)))
def test_holm_never_helps_and_keeps_the_order(p_values):
    corrected = holm(p_values)
    assert (corrected >= p_values).all()
    assert (corrected <= 1).all()
    assert (np.diff(corrected[np.argsort(p_values)]) >= 0).all()
    assert corrected.min() == min(1, p_values.min() * len(p_values))
