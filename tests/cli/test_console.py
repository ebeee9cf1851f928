import io
import sys
import time

import pandas as pd
import pytest

from stillome.cli import main
from stillome.cli.console import heading, steps, table
from stillome.counts.workers import in_order


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_headings_are_bold_on_a_terminal_only(monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    assert heading("Results") == "Results"
    monkeypatch.setattr(sys, "stdout", Terminal())
    assert "\x1b[1m" in heading("Results")
    monkeypatch.setenv("NO_COLOR", "1")
    assert heading("Results") == "Results"


@pytest.mark.parametrize(
    ("stream", "quiet", "shown"),
    [
        (Terminal, False, True),
        (Terminal, True, False),
        (io.StringIO, False, False),
    ],
)
def test_progress_is_shown_on_a_terminal_unless_quiet(monkeypatch, stream, quiet, shown):
    screen = stream()
    monkeypatch.setattr(sys, "stderr", screen)
    with steps(2, quiet=quiet) as step:
        step("Reading")
        step("Writing")
    assert ("Writing" in screen.getvalue()) == shown


def test_a_step_names_its_parts_and_the_blocks_of_its_passes(monkeypatch):
    monkeypatch.setattr(sys, "stderr", screen := Terminal())

    def block(item):
        time.sleep(0.12)  # a bar is drawn at most ten times a second
        return list(in_order(abs, range(5)))

    with steps(2) as step:
        step("Certifying")
        list(in_order(block, range(2), 1))
        step.progress(1, 3)
        for n_blocks in (1, 3, 3):
            list(in_order(block, range(n_blocks), 1))
    said = screen.getvalue()
    assert "Certifying (pass 1, block 2 of 2)" in said
    assert "Certifying (1 of 3; pass 2, block 3 of 3)" in said
    assert "of 5" not in said  # blocks of a block
    assert "block 1 of 1" not in said
    monkeypatch.setattr(sys, "stderr", screen := Terminal())
    list(in_order(abs, range(3)))
    assert screen.getvalue() == ""


def test_the_clock_of_a_bar_goes_on_where_nothing_is_told(monkeypatch):
    monkeypatch.setattr(sys, "stderr", screen := Terminal())
    with steps(1) as step:
        step("Fitting")
        deadline = time.monotonic() + 30
        while "00:01" not in screen.getvalue() and time.monotonic() < deadline:
            time.sleep(0.05)
    assert "00:01" in screen.getvalue()


def test_tables_are_aligned():
    text = table(pd.DataFrame({"name": ["a", "long name"], "n": ["1", "-23"]}))
    assert text.splitlines() == ["  name         n", "  a            1", "  long name  -23"]


def test_inspect_prints_no_escape_codes_of_files(tmp_path, capsys):
    path = tmp_path / "participants.tsv"
    path.write_text("participant_id\tage\x1b[31m\x1b]0;title\x07\n01\t3\n02\t4\n")
    main(["inspect", str(path)])
    said = capsys.readouterr()
    assert "\x1b" not in said.out + said.err and "\x07" not in said.out + said.err
