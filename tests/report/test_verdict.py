"""The verdict follows the numbers, also when they disappoint."""

from dataclasses import replace

import numpy as np
import pytest

from stillome.report.verdict import judge


def certified(results, method, r2, p_holm, *, use="cohort", features=None):
    """Let every probe of a method read this much."""
    table = results.certificates.copy()
    rows = (table["method"] == method) & (table["use"] == use)
    if features is not None:
        rows &= table["features"] == features
    table.loc[rows, "r2"] = r2
    table.loc[rows, ["p_value", "p_holm"]] = p_holm
    table.loc[rows, "passed"] = p_holm > 0.05
    return replace(results, certificates=table)


def kept(results, **values):
    table = results.fidelity.copy()
    for name, value in values.items():
        table.loc[table["method"] == results.method, name] = value
    return replace(results, fidelity=table)


@pytest.fixture
def convincing(results):
    """All probes at chance, everybody recognised."""
    found = certified(results, "raw", 0.8, 0.001)
    for use in ("cohort", "unseen"):
        found = certified(found, "inv-fa", -0.02, 1.0, use=use)
    return kept(found, r2=0.8, identification=1.0)


def answer(verdict, word):
    return next(check for check in verdict.checks if word in check.question)


def test_a_convincing_run(convincing):
    verdict = judge(convincing)
    assert verdict.state == "good"
    assert {check.state for check in verdict.checks} == {"good"}


def test_motion_that_is_left_fails(convincing):
    verdict = judge(certified(convincing, "inv-fa", 0.4, 0.001, features="connectomes"))
    assert verdict.state == "bad"
    assert answer(verdict, "adjusted connectomes").answer.startswith(
        "No: 6 of 6 probes read motion"
    )


def test_a_small_remainder_calls_for_care(convincing):
    verdict = judge(certified(convincing, "inv-fa", 0.03, 0.001, features="z"))
    assert verdict.state == "caution"
    assert "covariate" in answer(verdict, "latents").answer


def test_what_fails_in_unseen_people_calls_for_care(convincing):
    verdict = judge(certified(convincing, "inv-fa", 0.4, 0.001, use="unseen"))
    assert verdict.state == "caution"
    assert "held-out" in answer(verdict, "not seen").answer


@pytest.mark.parametrize(
    ("values", "state"),
    [
        ({"r2": 0.9, "identification": 1.0}, "good"),
        ({"r2": 0.4, "identification": 1.0}, "caution"),
        ({"r2": -0.1, "identification": 1.0}, "bad"),
        ({"r2": 0.8, "identification": 0.03}, "bad"),
        ({"r2": np.nan, "variance_ratio": 1.0, "edge_means_r2": 0.95}, "good"),
        ({"r2": np.nan, "variance_ratio": 0.3, "edge_means_r2": 0.95}, "caution"),
        ({"r2": np.nan, "variance_ratio": 0.01, "edge_means_r2": 0.95}, "bad"),
    ],
)
def test_people_must_be_kept(convincing, values, state):
    assert judge(kept(convincing, **values)).state == state


def test_a_collapsed_latent_fails_though_it_looks_invariant(convincing):
    empty = {"active_units": 0, "kl_per_unit": [0.001] * 8, "n_components": 8}
    verdict = judge(replace(convincing, diagnostics=empty))
    assert verdict.state == "bad"
    assert "collapsed" in answer(verdict, "latent say").answer


def test_nothing_to_remove_is_said(convincing):
    verdict = judge(certified(convincing, "raw", 0.0, 0.9))
    assert verdict.state == "caution"
    assert "little to remove" in answer(verdict, "mark the scans").answer


def test_few_subjects_are_said(convincing):
    few = replace(convincing, cohort=convincing.cohort.select(np.arange(30)))
    assert judge(few).state == "caution"
