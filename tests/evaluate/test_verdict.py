"""The verdict follows the numbers, also when they disappoint."""

from dataclasses import fields, replace

import numpy as np
import pandas as pd
import pytest

from stillome.evaluate.fidelity import FidelityReport
from stillome.evaluate.leakage.certificate_record import LeakageCertificate
from stillome.evaluate.verdict import Evidence, judge
from stillome.methods.diagnostics import LatentDiagnostics

PROBES = ["ridge", "svr", "trees", "distance correlation"]


def certificate(r2, p_holm):
    """Let every probe read this much."""
    table = pd.DataFrame({"r2": r2, "p_value": p_holm, "p_holm": p_holm}, index=PROBES)
    return LeakageCertificate(table, PROBES[0], p_holm > 0.05)


def kept(**values):
    figures = {field.name: 0.9 for field in fields(FidelityReport)}
    return FidelityReport(**(figures | values))


CLEAN = certificate(-0.02, 1.0)
CONVINCING = Evidence(
    method="inv-FA",
    n_subjects=400,
    raw=certificate(0.8, 0.001),
    adjusted=CLEAN,
    latents=CLEAN,
    unseen_adjusted=CLEAN,
    unseen_latents=CLEAN,
    n_unseen=120,
    fidelity=kept(r2=0.8, identification=1.0),
    diagnostics=LatentDiagnostics(np.full(8, 0.5), 8),
    notes=["A note."],
)


def answer(verdict, word):
    return next(check for check in verdict.checks if word in check.question)


def test_a_convincing_adjustment():
    verdict = judge(CONVINCING)
    assert verdict.state == "good"
    assert {check.state for check in verdict.checks} == {"good"}
    assert "inv-FA" in verdict.advice


def test_leakage_fails():
    verdict = judge(replace(CONVINCING, adjusted=certificate(0.4, 0.001)))
    assert verdict.state == "bad"
    said = answer(verdict, "adjusted connectomes").answer
    assert said.startswith("No: 4 of 4 probes read motion")


def test_small_leakage_calls_for_care():
    verdict = judge(replace(CONVINCING, latents=certificate(0.03, 0.001)))
    assert verdict.state == "caution"
    assert "covariate" in answer(verdict, "latents").answer


def test_leakage_in_unseen_subjects_calls_for_care():
    verdict = judge(replace(CONVINCING, unseen_latents=certificate(0.4, 0.001)))
    assert verdict.state == "caution"
    assert "latents of 120 held-out" in answer(verdict, "not in the fit").answer


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
def test_differences_between_subjects_must_be_kept(values, state):
    assert judge(replace(CONVINCING, fidelity=kept(**values))).state == state


def test_posterior_collapse_fails_though_it_looks_invariant():
    verdict = judge(replace(CONVINCING, diagnostics=LatentDiagnostics(np.full(8, 0.001), 0)))
    assert verdict.state == "bad"
    assert "collapse" in answer(verdict, "information").answer


def test_nothing_to_remove_is_said():
    verdict = judge(replace(CONVINCING, raw=certificate(0.0, 0.9)))
    assert verdict.state == "caution"
    assert "little to remove" in answer(verdict, "affect").answer


def test_few_subjects_are_said():
    assert judge(replace(CONVINCING, n_subjects=30)).state == "caution"


def test_what_was_not_measured_is_not_judged():
    nothing = {"unseen_adjusted": None, "unseen_latents": None, "diagnostics": None}
    verdict = judge(replace(CONVINCING, **nothing))
    assert verdict.state == "good" and len(verdict.checks) == 4


def test_sites_are_named():
    questions = [check.question for check in judge(replace(CONVINCING, others=["site"])).checks]
    assert questions[:2] == [
        "Did motion or site affect the raw connectomes?",
        "Are motion and site gone from the adjusted connectomes?",
    ]


def test_the_lines_are_headline_checks_and_notes():
    verdict = judge(replace(CONVINCING, adjusted=certificate(0.4, 0.001)))
    first, *lines, last = verdict.lines()
    assert first.startswith(f"{verdict.headline}. ")
    assert [line.split(":")[0] for line in lines] == [
        *("passed", "failed", "passed", "passed", "passed", "passed")
    ]
    assert last == "A note."
