"""Console and page print one verdict: the same state and the same sentences."""

import html
import re

import pytest

from stillome.persistence import write_table
from stillome.report.page import render
from stillome.run import RunFolder, verdict
from stillome.run.judging import judge_run
from stillome.run.run_certificates import CERTIFICATE_COLUMNS
from stillome.run.run_tables import read_run_table

# What every probe reads from the adjusted connectomes, and the corrected p-value.
FOUND = {"good": (-0.02, 1.0), "caution": (0.03, 0.001), "bad": (0.6, 0.001)}


@pytest.mark.parametrize("state", FOUND)
def test_console_and_page_agree(copied_run, state):
    path = copied_run / "certificates.tsv"
    table = read_run_table(path, CERTIFICATE_COLUMNS)
    ours = (table["method"] == "inv-fa") & (table["features"] == "connectomes")
    table.loc[ours & (table["use"] == "cohort"), ["r2", "p_value", "p_holm"]] = (
        FOUND[state][0],
        FOUND[state][1],
        FOUND[state][1],
    )
    table.loc[ours & (table["use"] == "cohort"), "passed"] = state == "good"
    write_table(path, table)
    folder = RunFolder(copied_run)
    assert judge_run(folder).state == state
    page = html.unescape(re.sub(r"<[^>]+>", "\n", render(folder, [], {})))
    shown = " ".join(page.split())
    for line in verdict(copied_run):
        for sentence in re.split(r"(?<=[.?]) ", re.sub(r"^(passed|with care|failed): ", "", line)):
            assert sentence.rstrip(".") in shown, sentence
    words = {"good": "passed", "caution": "with care", "bad": "failed"}
    assert f"Verdict: {words[state]}" in shown
