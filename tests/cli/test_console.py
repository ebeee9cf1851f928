import io
import sys

import pandas as pd
import pytest

from stillome.cli import main
from stillome.cli.console import heading, steps, table


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


def test_tables_are_aligned():
    text = table(pd.DataFrame({"name": ["a", "long name"], "n": ["1", "-23"]}))
    assert text.splitlines() == ["  name         n", "  a            1", "  long name  -23"]


def test_inspect_prints_no_escape_codes_of_files(tmp_path, capsys):
    path = tmp_path / "participants.tsv"
    path.write_text("participant_id\tage\x1b[31m\x1b]0;title\x07\n01\t3\n02\t4\n")
    main(["inspect", str(path)])
    said = capsys.readouterr()
    assert "\x1b" not in said.out + said.err and "\x07" not in said.out + said.err
