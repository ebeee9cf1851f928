"""Console and page print one verdict: the same state and the same sentences."""

import html
import json
import re

import pytest

from stillome.evaluate.verdict import STATE_WORDS
from stillome.persistence import write_table
from stillome.report.page import render
from stillome.run import RunFolder, verdict
from stillome.run.judging import judge_run
from stillome.run.run_certificates import CERTIFICATE_COLUMNS
from stillome.run.run_tables import read_run_table

# What every probe reads from the adjusted connectomes of unseen subjects, the corrected p-value,
# and the share of the motion effect that would have been detected.
FOUND = {
    "good": (-0.02, 1.0, 0.3),
    "caution": (0.03, 0.001, 0.3),
    "bad": (0.6, 0.001, 0.3),
    "unknown": (-0.02, 1.0, None),
}


@pytest.mark.parametrize("state", FOUND)
def test_console_and_page_agree(copied_run, state):
    path = copied_run / "certificates.tsv"
    table = read_run_table(path, CERTIFICATE_COLUMNS)
    r2, p, share = FOUND[state]
    unseen = table["use"] == "unseen"
    raw, ours = (unseen & (table["method"] == name) for name in ("raw", "inv-fa"))
    connectomes = table["features"] == "connectomes"
    numbers = ["r2", "low", "high", "p_value", "p_holm"]
    table.loc[raw, numbers] = 0.7, 0.6, 0.8, 0.001, 0.001
    table.loc[ours & connectomes, numbers] = r2, r2 - 0.02, r2 + 0.02, p, p
    write_table(path, table)
    notes = json.loads((copied_run / "certificates.json").read_text())
    notes["power"] = {
        "connectomes": {"share": share, "r2": 0.02},
        "z": {"share": 0.1, "r2": 0.03},
    }
    (copied_run / "certificates.json").write_text(json.dumps(notes))
    folder = RunFolder(copied_run)
    assert judge_run(folder).state == state
    page = html.unescape(re.sub(r"<[^>]+>", "\n", render(folder, [], {})))
    shown = " ".join(page.split())
    words = "|".join(STATE_WORDS.values())
    for line in verdict(copied_run):
        for sentence in re.split(r"(?<=[.?]) ", re.sub(rf"^({words}): ", "", line)):
            assert sentence.rstrip(".") in shown, sentence
    assert f"Verdict: {STATE_WORDS[state]}" in shown
