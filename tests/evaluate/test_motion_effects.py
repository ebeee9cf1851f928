import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from odd_inputs import odd_scalars
from stillome.cohort.cohort import Cohort
from stillome.cohort.edges import edges_to_matrices
from stillome.evaluate.motion_effects import (
    describe_motion_effects,
    edge_table,
    fibre_totals_by_motion,
    qcsc_correlations,
    top_changed_edges,
)
from stillome.exceptions import InputError, StillomeError


def make_cohort(n_subjects=60, n_regions=6, seed=0, lengths=True, **columns):
    """Edges 0 and 1 change with motion, the last one is constant, the others are noise."""
    rng = np.random.default_rng(seed)
    moved = rng.gamma(2, 0.1, n_subjects)
    edges = rng.poisson(50, (n_subjects, n_regions * (n_regions - 1) // 2))
    edges[:, 0] = rng.poisson(400 * np.exp(-2 * moved))
    edges[:, 1] = rng.poisson(100 * np.exp(2 * moved))
    edges[:, -1] = 7
    apart = edges_to_matrices(np.linspace(10, 150, edges.shape[1]))
    return Cohort(
        [str(i) for i in range(n_subjects)],
        edges_to_matrices(edges),
        motion=pd.DataFrame({"rms_mm": moved, **columns}),
        regions=pd.DataFrame({"name": [f"r{i}" for i in range(n_regions)]}),
        lengths=apart if lengths else None,
    )


def test_qcsc_is_spearmans_correlation_of_every_edge():
    cohort = make_cohort()
    qcsc = qcsc_correlations(cohort, "rms_mm")
    for edge in range(cohort.edges.shape[1] - 1):
        expected = stats.spearmanr(cohort.edges[:, edge], cohort.motion["rms_mm"])
        assert qcsc.correlations[edge] == pytest.approx(expected.statistic, abs=1e-12)
        assert qcsc.p_values[edge] == pytest.approx(expected.pvalue, rel=1e-6)


def test_an_edge_that_never_varies_has_no_correlation_and_is_left_out():
    qcsc = qcsc_correlations(make_cohort(), "rms_mm")
    assert np.isnan(qcsc.correlations[-1])
    assert np.isnan(qcsc.p_values[-1])
    assert qcsc.median_absolute == np.median(np.abs(qcsc.correlations[:-1]))
    assert qcsc.share_significant >= 2 / 14
    known = qcsc.correlations[:-1]
    assert qcsc.length_dependence == pytest.approx(
        stats.spearmanr(known, qcsc.lengths[:-1]).statistic
    )


def test_a_cohort_without_any_variation_says_so_by_nan():
    cohort = Cohort(list("abcdefgh"), np.ones((8, 3, 3)), pd.DataFrame({"rms_mm": range(8)}))
    qcsc = qcsc_correlations(cohort, "rms_mm")
    assert np.isnan([qcsc.median_absolute, qcsc.share_significant, qcsc.length_dependence]).all()


def test_totals_are_the_means_of_equal_groups():
    cohort = make_cohort(n_subjects=63)
    totals = fibre_totals_by_motion(cohort, "rms_mm", n_groups=10)
    assert totals["n_subjects"].sum() == 63
    assert set(totals["n_subjects"]) == {6, 7}
    assert totals["motion_median"].is_monotonic_increasing
    fibres = cohort.connectomes.sum(axis=(1, 2)) / 2
    order = np.argsort(cohort.motion["rms_mm"].to_numpy())
    assert totals["fibres_mean"].iloc[0] == pytest.approx(fibres[order[:7]].mean())
    assert totals["fibres_se"].iloc[0] == pytest.approx(stats.sem(fibres[order[:7]]))


def test_the_most_changed_edges_come_first():
    cohort = make_cohort(n_subjects=200)
    changed = top_changed_edges(cohort, "rms_mm", n_edges=3)
    assert changed["difference"].abs().is_monotonic_decreasing
    pairs = set(zip(changed["region_a"], changed["region_b"], strict=True))
    assert {("r0", "r1"), ("r0", "r2")} <= pairs
    first = changed.set_index(["region_a", "region_b"]).loc[("r0", "r1")]
    assert first["difference"] == cohort.group_difference("rms_mm")[0, 1] < 0
    assert first["change"] == pytest.approx(first["large_mean"] / first["small_mean"] - 1)
    assert first["length_mm"] == cohort.lengths[0, 1]


def test_an_edge_out_of_nothing_has_no_relative_change():
    counts = np.zeros((20, 2, 2))
    counts[10:, 0, 1] = counts[10:, 1, 0] = 5
    cohort = Cohort([str(i) for i in range(20)], counts, pd.DataFrame({"rms_mm": range(20)}))
    changed = top_changed_edges(cohort, "rms_mm")
    assert changed["difference"].tolist() == [5.0]
    assert changed["change"].isna().all()
    assert changed["length_mm"].isna().all()


def test_subjects_without_motion_are_left_out_of_everything():
    cohort = make_cohort()
    unknown = cohort.motion["rms_mm"].mask(np.arange(60) < 10)
    effects = describe_motion_effects(
        make_cohort(some_mm=unknown.to_numpy()), "some_mm", n_groups=5
    )
    expected = describe_motion_effects(cohort.select(range(10, 60)), "rms_mm", n_groups=5)
    pd.testing.assert_frame_equal(effects.totals, expected.totals)
    np.testing.assert_array_equal(effects.qcsc.correlations, expected.qcsc.correlations)
    np.testing.assert_array_equal(effects.difference, expected.difference)


def test_everything_follows_the_subjects_in_any_order():
    cohort = make_cohort()
    effects = describe_motion_effects(cohort, "rms_mm")
    shuffled = describe_motion_effects(
        cohort.select(np.random.default_rng(1).permutation(60)), "rms_mm"
    )
    pd.testing.assert_frame_equal(effects.totals, shuffled.totals)
    pd.testing.assert_frame_equal(effects.changed_edges, shuffled.changed_edges)
    np.testing.assert_allclose(effects.qcsc.correlations, shuffled.qcsc.correlations, atol=1e-12)


def test_the_table_of_all_edges_agrees_with_the_record():
    effects = describe_motion_effects(make_cohort(), "rms_mm")
    table = edge_table(effects)
    assert len(table) == 15
    assert table["region_b"].iloc[0] == "r1"
    assert table["difference"].iloc[0] == effects.difference[0, 1]
    assert (
        edge_table(describe_motion_effects(make_cohort(lengths=False), "rms_mm"))["length_mm"]
        .isna()
        .all()
    )


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda c: describe_motion_effects(c, "fd_mm"), "no column 'fd_mm'"),
        (lambda c: describe_motion_effects("cohort", "rms_mm"), "expected a stillome Cohort"),
        (lambda c: fibre_totals_by_motion(c, "rms_mm", n_groups=31), "fewer groups"),
        (lambda c: fibre_totals_by_motion(c, "rms_mm", n_groups=1), "n_groups=1"),
        (lambda c: top_changed_edges(c, "rms_mm", n_edges=0), "n_edges=0"),
        (lambda c: qcsc_correlations(c.select([0, 1, 2]), "rms_mm"), "at least 4"),
        (lambda c: qcsc_correlations(make_cohort(same_mm=1.0), "same_mm"), "is the same for all"),
        (lambda c: qcsc_correlations(make_cohort(none_mm=np.nan), "none_mm"), "no value"),
        (lambda c: qcsc_correlations(make_cohort(text="a"), "text"), "not a number"),
    ],
)
def test_what_cannot_be_described_is_said(call, says):
    with pytest.raises(InputError, match=says):
        call(make_cohort())


@settings(max_examples=50)
@given(column=odd_scalars, number=odd_scalars, which=st.integers(0, 3))
def test_odd_questions_are_refused_in_a_sentence(column, number, which):
    cohort = make_cohort(n_subjects=40)
    call = [
        lambda: qcsc_correlations(cohort, column),
        lambda: describe_motion_effects(cohort, "rms_mm", quantile=number),
        lambda: fibre_totals_by_motion(cohort, "rms_mm", n_groups=number),
        lambda: top_changed_edges(cohort, "rms_mm", n_edges=number),
    ][which]
    try:
        call()
    except StillomeError as error:
        assert len(str(error)) > 20
