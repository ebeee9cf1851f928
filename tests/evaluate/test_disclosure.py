import numpy as np
import pytest
from scipy.stats import mannwhitneyu

from stillome.evaluate.disclosure import attack_auc, disclosure_report
from stillome.exceptions import InputError

RATES = np.random.default_rng(9).gamma(2.0, 10.0, 190)


def people(seed, n=60):
    return np.random.default_rng(seed).poisson(RATES, (n, 190))


def test_the_area_is_the_mann_whitney_statistic():
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 9, 30) + 1.0, rng.integers(0, 9, 40)
    found = attack_auc(a, b)
    assert found.auc == pytest.approx(mannwhitneyu(a, b).statistic / (30 * 40))
    assert found.low < found.auc < found.high


def test_the_interval_covers_chance_when_there_is_nothing_to_find():
    found = [attack_auc(*np.random.default_rng(s).normal(size=(2, 40))) for s in range(200)]
    assert 0.9 <= np.mean([result.low <= 0.5 <= result.high for result in found]) <= 0.99


def test_an_independent_cohort_gives_nobody_away():
    reports = [disclosure_report(people(s), people(s + 50), people(s + 99)) for s in range(8)]
    assert np.mean([r.distance_ratio for r in reports]) == pytest.approx(1, abs=0.02)
    assert np.mean([r.share_nearer for r in reports]) == pytest.approx(0.5, abs=0.15)
    assert np.mean([r.nearest.auc for r in reports]) == pytest.approx(0.5, abs=0.06)
    assert np.mean([r.mean.auc for r in reports]) == pytest.approx(0.5, abs=0.06)


def test_copies_are_found_by_their_nearness():
    members = people(1)
    noisy = members + np.random.default_rng(2).integers(0, 3, members.shape)
    report = disclosure_report(noisy, members, people(3))
    assert report.distance_ratio < 0.8
    assert report.share_nearer == 1.0
    assert report.nearest.auc > 0.99


def test_means_give_members_away_though_nobody_resembles_them():
    members = people(1, n=20)
    own = np.expm1(np.log1p(members).mean(axis=0))
    synthetic = np.random.default_rng(4).poisson(own, (400, 190))
    report = disclosure_report(synthetic, members, people(3, n=200))
    assert report.mean.low > 0.8
    assert report.nearest.auc < report.mean.auc


@pytest.mark.parametrize("n_edges", [190, 153])
def test_what_cannot_be_compared_is_refused(n_edges):
    few = people(1)[: 5 if n_edges == 190 else 60, :n_edges]
    with pytest.raises(InputError):
        disclosure_report(people(0), few, people(2))


def test_scores_must_be_lists():
    with pytest.raises(InputError, match="two of each"):
        attack_auc([1.0], [2.0, 3.0])
