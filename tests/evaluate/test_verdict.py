"""The verdict follows the numbers, also when they disappoint."""

from dataclasses import fields, replace

import numpy as np
import pandas as pd
import pytest

from stillome.evaluate.fidelity import FidelityReport
from stillome.evaluate.leakage.certificate_record import LeakageCertificate
from stillome.evaluate.leakage.power import Power
from stillome.evaluate.verdict import judge
from stillome.evaluate.verdict_evidence import Evidence
from stillome.methods.diagnostics import LatentDiagnostics

PROBES = ["ridge", "svr", "trees", "distance correlation"]


def certificate(r2, p_holm):
    """Let every probe read this much."""
    found = {"r2": r2, "p_value": p_holm, "p_holm": p_holm, "auc": np.nan}
    table = pd.DataFrame(found | {"low": r2 - 0.03, "high": r2 + 0.03}, index=PROBES)
    return LeakageCertificate(table)


def graph(r=0.02, p_holm=0.7):
    columns = {"r_raw": -0.6, "rms_raw": 0.6, "r": r, "rms": abs(r), "p_holm": p_holm}
    return pd.DataFrame(columns, index=["density", "strength"])


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
    unseen_raw=certificate(0.7, 0.001),
    unseen_adjusted=CLEAN,
    unseen_latents=CLEAN,
    power=Power(0.3, 0.01),
    latent_power=Power(0.08, 0.02),
    graph=graph(),
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
    assert verdict.headline == (
        "No probe reads motion in subjects the model has not seen: largest R² "
        "−0.02 [−0.05, 0.01], as scanned 0.70 [0.67, 0.73]; in z −0.02"
    )
    assert verdict.advice.startswith("In the subjects the model was fitted to: largest R² −0.02")
    assert "inv-FA" in verdict.advice


def test_leakage_in_the_subjects_of_the_fit_fails():
    verdict = judge(replace(CONVINCING, adjusted=certificate(0.5, 0.001)))
    assert verdict.state == "bad"
    said = answer(verdict, "adjusted connectomes in the subjects the model was fitted to").answer
    assert said.startswith("No: 4 of 4 probes read motion")
    assert verdict.headline.startswith("Not convincing, although no probe reads motion")


def test_small_leakage_calls_for_care():
    verdict = judge(replace(CONVINCING, latents=certificate(0.03, 0.001)))
    assert verdict.state == "caution"
    assert "covariate" in answer(verdict, "latents z in the subjects").answer
    assert verdict.headline.startswith("Usable with care; no probe reads motion in subjects")


@pytest.mark.parametrize(
    ("r2", "state", "says"),
    [
        (0.03, "caution", "Motion is reduced, not gone, in subjects the model has not seen"),
        (0.16, "caution", "Motion is reduced, not gone, in subjects the model has not seen"),
        (0.40, "bad", "Motion can still be read in subjects the model has not seen"),
    ],
)
def test_leakage_in_unseen_subjects_is_the_headline(r2, state, says):
    verdict = judge(replace(CONVINCING, unseen_adjusted=certificate(r2, 0.001)))
    assert verdict.state == state
    assert verdict.headline.startswith(f"{says}: largest R² {r2:.2f} [")
    assert verdict.headline.endswith("as scanned 0.70 [0.67, 0.73]; in z −0.02")


@pytest.mark.parametrize(
    ("r2", "left"), [(0.3, "is reduced, not gone,"), (0.6, "can still be read")]
)
def test_leakage_in_z_alone_is_the_headline(r2, left):
    verdict = judge(replace(CONVINCING, unseen_latents=certificate(r2, 0.001)))
    said = f"Motion {left} in the latents z of subjects the model has not seen: "
    assert verdict.headline.startswith(said)
    assert verdict.headline.endswith(f"in z {r2:.2f}")


def test_leakage_that_was_found_is_told_whatever_the_power():
    found = replace(CONVINCING, unseen_adjusted=certificate(0.2, 0.001), power=Power(np.nan, 0.2))
    assert judge(found).state == "caution"
    assert judge(found).headline.startswith("Motion is reduced, not gone,")


@pytest.mark.parametrize("which", ["unseen_latents", "unseen_adjusted"])
def test_one_probe_of_four_reads_and_both_probes_are_named(which):
    table = CLEAN.table.copy()
    table.loc["svr", ["r2", "p_value", "p_holm"]] = [-0.03, 0.002, 0.008]
    verdict = judge(replace(CONVINCING, **{which: LeakageCertificate(table)}))
    name = {"unseen_latents": "the latents z of", "unseen_adjusted": "connectomes of"}[which]
    said = answer(verdict, name).answer
    assert said.startswith("Almost: 1 of 4 probes reads motion (largest R²: ridge, −0.02")
    assert "smallest p: svr, R² −0.03 [−0.05, 0.01], p = 0.008" in said
    assert verdict.state == "caution"


@pytest.mark.parametrize(
    ("power", "in_z", "state"),
    [
        (0.33, 0.20, "good"),
        (0.34, 0.20, "caution"),
        (0.33, 0.21, "caution"),
        (0.70, 0.50, "caution"),
        (0.71, 0.05, "unknown"),
        (0.20, 0.51, "unknown"),
        (np.nan, 0.05, "unknown"),
        (0.20, np.nan, "unknown"),
    ],
)
def test_nothing_found_is_worth_as_much_as_the_power_to_find(power, in_z, state):
    given = {"power": Power(power, 0.05), "latent_power": Power(in_z, 0.04)}
    verdict = judge(replace(CONVINCING, **given))
    check = answer(verdict, "noticed")
    assert verdict.state == check.state == state
    for share, what in [(power, "of its effect on the connectomes"), (in_z, "of its variance")]:
        if np.isfinite(share):
            assert f"at least {100 * share:.0f} % {what}" in check.answer
    if state == "unknown":
        assert verdict.headline == "Cannot be told with 400 subjects"
    if not np.isfinite(power + in_z):
        assert "finding nothing says nothing" in check.answer


def test_the_power_is_told_also_where_leakage_was_found():
    check = answer(judge(replace(CONVINCING, unseen_adjusted=certificate(0.16, 0.001))), "noticed")
    assert check.state == "good"
    assert check.answer == (
        "It was. In 80 % of cohorts like this one, ridge regression detects motion if at least 30 "
        "% of its effect on the connectomes is left (R² 0.01), or if z holds at least 8 % of its "
        "variance (R² 0.02)."
    )
    # Leakage that was found in the connectomes does not say that it would have been found in z.
    weak = replace(
        CONVINCING, unseen_adjusted=certificate(0.03, 0.001), latent_power=Power(0.4, 0.1)
    )
    assert answer(judge(weak), "noticed").state == "caution"


@pytest.mark.parametrize(
    ("r", "state"), [(0.1, "caution"), (-0.2, "caution"), (0.4, "bad"), (-0.4, "bad")]
)
def test_graph_measures_that_go_with_motion_are_named(r, state):
    verdict = judge(replace(CONVINCING, graph=graph(r, 0.01)))
    assert verdict.state == state
    said = answer(verdict, "graph measures").answer
    assert f"density (root mean square within parts {abs(r):.2f}, p = 0.01)" in said


def test_graph_measures_with_opposite_signs_in_parts_are_not_free_of_motion():
    table = graph(0.0, 0.01).assign(rms=0.5)
    assert judge(replace(CONVINCING, graph=table)).state == "bad"
    assert judge(replace(CONVINCING, graph=graph().assign(p_holm=np.nan))).state == "unknown"


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
    verdict = judge(replace(CONVINCING, unseen_raw=certificate(0.0, 0.9)))
    assert verdict.state == "unknown"
    assert "little to remove" in answer(verdict, "affect").answer


NOT_MEASURED = dict.fromkeys(
    (
        *("unseen_raw", "unseen_adjusted", "unseen_latents", "power", "latent_power"),
        *("graph", "diagnostics"),
    )
)


def test_few_subjects_are_never_green():
    verdict = judge(replace(CONVINCING, n_subjects=24, **NOT_MEASURED))
    assert verdict.state == "unknown"
    assert verdict.headline == "Cannot be told with 24 subjects"
    assert answer(verdict, "adjusted connectomes in the subjects").state == "unknown"
    collapsed = LatentDiagnostics(np.full(8, 0.001), 0)
    few = replace(CONVINCING, n_subjects=24, **NOT_MEASURED | {"diagnostics": collapsed})
    assert judge(few).state == "unknown"
    assert judge(replace(few, adjusted=certificate(0.6, 0.001))).state == "bad"


def test_where_unseen_subjects_were_not_measured_nothing_is_known_about_them():
    verdict = judge(replace(CONVINCING, **NOT_MEASURED))
    assert verdict.state == "unknown"
    assert verdict.headline == "Nothing is known about subjects the model has not seen"
    assert answer(verdict, "not seen").state == "unknown"


def test_sites_are_named():
    questions = [check.question for check in judge(replace(CONVINCING, others=["site"])).checks]
    assert questions[:2] == [
        "Did motion or site affect the connectomes as scanned?",
        "Are motion and site gone from the adjusted connectomes of subjects the model has not "
        "seen?",
    ]


def test_the_lines_are_headline_checks_and_notes():
    verdict = judge(replace(CONVINCING, adjusted=certificate(0.5, 0.001)))
    first, *lines, last = verdict.lines()
    assert first.startswith(f"{verdict.headline}. ")
    states = ["passed"] * 5 + ["failed"] + ["passed"] * 3
    assert [line.split(":")[0] for line in lines] == states
    assert last == "A note."
