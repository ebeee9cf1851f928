"""Headline, methods text, console and certificates say the same of three cohorts."""

import re

import pytest

from report.run_folders import run_small
from small_study import write_study
from stillome.cli.run import summary
from stillome.evaluate.verdict import STATE_WORDS
from stillome.evaluate.words import number
from stillome.pipeline import run_pipeline
from stillome.report.methods_text import methods_paragraph
from stillome.run import RunFolder
from stillome.run.judging import judge_run
from stillome.run.run_certificates import CERTIFICATE_COLUMNS
from stillome.run.run_tables import read_run_table
from stillome.simulate import simulate_cohort

# Few subjects do not reach down to no motion.
pytestmark = pytest.mark.filterwarnings("ignore:reference=0.* lies")

ALONE = {"trait": (), "traits": (), "baselines": ()}


def passing(place):
    """Fewer subjects would not be enough to trust probes that find nothing."""
    settings = write_study(place / "study", 360, 1, parameters={"n_components": 4}, **ALONE)
    return run_pipeline(settings, place / "run", report=False)


def amber(place):
    """Motion goes with the person, so that models of few subjects leave some of it in others."""
    return run_small(place, simulate_cohort(150, "confounded", random_state=2), 16, **ALONE)


def too_small(place):
    return run_pipeline(write_study(place / "study", 24, 1, **ALONE), place / "run", report=False)


COHORTS = {"good": passing, "caution": amber, "unknown": too_small}


@pytest.fixture(scope="module", params=COHORTS)
def finished(request, tmp_path_factory):
    """The state that is expected, the run folder, and its table of certificates."""
    out = COHORTS[request.param](tmp_path_factory.mktemp(request.param))
    return (
        request.param,
        RunFolder(out),
        read_run_table(out / "certificates.tsv", CERTIFICATE_COLUMNS),
    )


def found(table, use, features="connectomes", method="inv-fa"):
    chosen = (table["use"] == use) & (table["method"] == method) & (table["features"] == features)
    return table[chosen].set_index("probe")


def read_by(rows):
    """How many probes read motion, in words, counted in the file."""
    n_reading = int((rows["p_holm"] <= 0.05).sum())
    return "no probe read" if n_reading == 0 else f"{n_reading} of {len(rows)} probes read"


def shown(row):
    return f"{number(row['r2'])} [{number(row['low'])}, {number(row['high'])}]"


def best(rows):
    rows = rows[rows["low"].notna()]
    return shown(rows.loc[rows["r2"].idxmax()])


def best_r2(rows):
    return rows.loc[rows["low"].notna(), "r2"].max()


def test_the_verdict_is_that_of_the_evidence(finished):
    state, folder, table = finished
    verdict = judge_run(folder)
    assert verdict.state == state
    unseen = found(table, "unseen")
    if state == "unknown":
        assert unseen.empty
        assert verdict.headline == "Cannot be told with 24 subjects"
    else:
        assert (unseen["p_holm"] > 0.05).all() == (state == "good")
        start = {"good": "No probe reads motion", "caution": "Motion is reduced, not gone,"}[state]
        assert verdict.headline == (
            f"{start} in subjects the model has not seen: largest R² {best(unseen)}, as scanned "
            f"{best(found(table, 'unseen', method='raw'))}; in z "
            f"{number(best_r2(found(table, 'unseen', 'z')))}"
        )
    fitted = f"In the subjects the model was fitted to: largest R² {best(found(table, 'cohort'))}"
    assert verdict.advice.startswith(fitted)


def test_the_console_prints_the_verdict(finished):
    _, folder, _ = finished
    verdict = judge_run(folder)
    printed = " ".join(summary(folder.path).split())
    assert f"{verdict.headline}. {verdict.advice}" in printed
    for check in verdict.checks:
        assert f"{STATE_WORDS[check.state]}: {check.question} {check.answer}" in printed


def test_the_methods_text_states_what_the_certificates_hold(finished):
    state, folder, table = finished
    text = methods_paragraph(folder)
    for use in ("unseen", "cohort"):
        rows = found(table, use)
        if rows.empty:
            continue
        start = {
            "unseen": f"In the {len(folder.known)} subjects, each adjusted by a model that had not "
            "seen them, ",
            "cohort": "In the subjects the model was fitted to, ",
        }[use]
        said = text[text.index(start) + len(start) :]
        assert said.startswith(f"{read_by(rows)} motion from the adjusted connectomes (")
        assert f"{read_by(found(table, use, 'z'))} motion from the latents z (" in said
        raw = found(table, use, method="raw")
        assert f"{read_by(raw)} it from the connectomes as scanned (" in said
        regressions = rows[rows["low"].notna()]
        worst = regressions["r2"].idxmax()
        least = rows.index[rows["p_value"] == rows["p_value"].min()]  # often several
        both = said[: said.index(" motion from the latents z")]
        assert worst in both and any(probe in both for probe in least)
    if state == "unknown":
        assert "was not measured in subjects the model had not seen" in text
    else:
        assert "3 parts" in text and "1 random division" in text
        assert text.index("had not seen them") < text.index("In the subjects the model was fitted")
    assert "500 permutations" in text and "5 folds" in text and "seed 0" in text
    assert "The baseline was the connectomes as scanned." in text
    assert ("cannot be told with these 24 subjects" in text) == (state == "unknown")
    assert "MRtrix" not in text  # plain matrices do not say who wrote them


def test_every_row_passes_as_its_p_value_says(finished):
    _, folder, table = finished
    assert (table["passed"] == (table["p_holm"] > 0.05)).all()
    for one in folder.certificates:
        rows = found(table, one.use, one.features, one.method)
        assert rows["passed"].all() == rows["certificate_passed"].all() == one.found.passed


def test_power_and_graph_measures_are_in_verdict_and_text(finished):
    state, folder, _ = finished
    verdict, text = judge_run(folder), methods_paragraph(folder)
    questions = " ".join(check.question for check in verdict.checks)
    found, in_z = folder.power("connectomes"), folder.power("z")
    if state == "unknown":
        assert found is in_z is None and "noticed" not in questions
        return
    assert "noticed" in questions and "graph measures" in questions
    # Also where leakage was found.
    for share in (
        f"at least {100 * found.share:.0f} % of its effect on the connectomes is left",
        f"z holds at least {100 * in_z.share:.0f} % of its variance",
    ):
        assert share in text and any(share in check.answer for check in verdict.checks)
    density = folder.graph_motion.query("use == 'unseen' and measure == 'density'")
    before, after = (density[density["method"] == m]["r"].item() for m in ("raw", "inv-fa"))
    assert re.search(f"density {number(before)} as scanned and {number(after)} adjusted", text)
