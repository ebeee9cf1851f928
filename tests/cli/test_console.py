import io
import sys

import pandas as pd
import pytest

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
