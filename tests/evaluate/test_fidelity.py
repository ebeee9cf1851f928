import numpy as np
import pytest

from stillome.cohort.edges import edges_to_matrices
from stillome.evaluate import fidelity_r2, fidelity_report
from stillome.exceptions import ConfoundsError, InputError
from stillome.simulate import simulate_cohort


@pytest.fixture(scope="module")
def simulated():
    return simulate_cohort(80, random_state=0)


def test_r2_is_one_for_the_truth_and_zero_for_its_mean():
    truth = np.random.default_rng(0).poisson(5.0, (20, 15))
    mean = np.expm1(np.log1p(truth).mean(axis=0))
    assert fidelity_r2(truth, edges_to_matrices(truth)) == 1.0
    assert fidelity_r2(np.tile(mean, (20, 1)), truth) == pytest.approx(0.0, abs=1e-12)
    assert fidelity_r2(truth * 10, truth) < 0


def test_small_integers_are_not_rounded():
    truth = np.random.default_rng(0).poisson(50.0, (20, 15))
    other = np.random.default_rng(1).poisson(50.0, (20, 15))
    narrow = fidelity_r2(other.astype(np.uint8), truth.astype(np.uint8))
    assert narrow == pytest.approx(fidelity_r2(other, truth), rel=1e-12)


def test_the_truth_is_reported_as_the_truth(simulated):
    truth = simulated.motion_free
    report = fidelity_report(truth, simulated.cohort.connectomes, truth, motion=simulated.confounds)
    assert (report.r2, report.identification) == (1.0, 1.0)
    assert report.subject_correlation == pytest.approx(1.0)
    assert report.n_small_motion == 20
    assert report.edge_means_r2 > 0.95
    assert 0.8 < report.variance_ratio < 1.2
    assert report.total_ratio > 1 > report.strength_r > 0.5
    assert report.zeros_adjusted < report.zeros_raw


def test_a_mean_network_for_everybody_is_seen_without_the_truth(simulated):
    raw = simulated.X
    same = np.tile(raw.mean(axis=0), (len(raw), 1))
    report = fidelity_report(same, raw)
    assert report.edge_variances_r2 < 0
    assert report.variance_ratio == pytest.approx(0.0, abs=1e-12)
    assert (report.strength_r, report.efficiency_r, report.clustering_r) == (0.0, 0.0, 0.0)
    assert report.total_ratio == pytest.approx(1.0)
    assert np.isnan([report.r2, report.subject_correlation, report.identification]).all()


def test_raw_connectomes_keep_everything_of_themselves(simulated):
    report = fidelity_report(simulated.X, simulated.X)
    ones = [
        report.edge_means_r2,
        report.edge_variances_r2,
        report.variance_ratio,
        report.density_r,
        report.strength_r,
        report.clustering_r,
        report.efficiency_r,
        report.modularity_r,
        report.total_ratio,
    ]
    assert ones == pytest.approx([1.0] * 9)
    assert report.n_small_motion == 0
    assert report.sentence() == (
        "Edge means agree with raw connectomes by R² 1.00, variances by 1.00 (adjusted / raw: "
        "1.00); across subjects, density correlates with the raw at 1.00, strength at 1.00, "
        "clustering at 1.00, efficiency at 1.00, modularity at 1.00; "
        f"zeros {report.zeros_raw:.1%} before, {report.zeros_raw:.1%} after; "
        "1.00 times the fibres."
    )


def test_the_sentence_begins_with_the_truth_where_it_is_known(simulated):
    X, motion = simulated.X, simulated.confounds
    report = fidelity_report(X, X, X, motion=motion)
    assert str(report).startswith(
        "Adjusted connectomes match the motion-free ones by R² 1.000; individual deviations "
        "correlate at 1.000; 100.0% of subjects are identified. Edge means agree with raw "
        "connectomes at small motion by R² "
    )


def test_empty_networks_are_described_without_dividing_by_zero():
    empty = np.zeros((4, 3))
    report = fidelity_report(empty, empty)
    assert (report.zeros_adjusted, report.strength_r) == (1.0, 0.0)
    assert np.isnan([report.total_ratio, report.variance_ratio, report.edge_means_r2]).all()


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"adjusted": np.ones((5, 6))}, InputError, "adjusted: 5 subjects × 6 edges, raw: 4 × 3"),
        ({"adjusted": np.ones((4, 4))}, InputError, "4 edges per subject is not"),
        ({"raw": np.full((4, 3), -1)}, InputError, "raw: subject 0 has -1"),
        ({"adjusted": [[1, 2, 3]]}, InputError, "at least 3 needed"),
        ({"truth": np.ones((4, 3))}, InputError, "truth: the same for all subjects"),
        ({"motion": [1, 2]}, ConfoundsError, "motion: 2 rows for 4"),
        ({"small_share": 2}, InputError, "small_share=2"),
    ],
)
def test_what_cannot_be_judged_is_refused(change, error, message):
    raw = np.arange(12).reshape(4, 3)
    with pytest.raises(error, match=message):
        fidelity_report(**({"adjusted": raw, "raw": raw} | change))
