import os
import re
import subprocess
import sys
import warnings
from importlib.metadata import version

import pytest

from stillome.cli import main
from stillome.cli.app import VERBS, app
from stillome.exceptions import InputError, StillomeWarning


def test_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"stillome {version('stillome')}\n"


def test_help_names_every_verb(capsys):
    assert main(["--help"]) == 0
    text = capsys.readouterr().out
    for verb in VERBS:
        assert len(re.findall(rf"^  {verb.__name__} ", text, flags=re.M)) == 1
    assert len(set(VERBS)) == len(VERBS)
    assert "\x1b" not in text


def test_without_arguments_the_help_is_the_answer(capsys):
    assert main(["--help"]) == 0
    text = capsys.readouterr().out
    assert main([]) == 2
    assert capsys.readouterr().err == text


def test_every_verb_explains_itself_and_its_options(capsys):
    for command in app.registered_commands:
        name = command.name or command.callback.__name__
        assert main([name, "--help"]) == 0
        # However wide the terminal, and wherever it breaks "motion-free".
        shown = " ".join(capsys.readouterr().out.split()).replace("- ", "-")
        assert command.callback.__doc__.splitlines()[0] in shown


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["demo", "--out", "{existing}"], "exists already"),
        (["demo", "--out", "{existing}", "--overwrite"], "holds other things"),
        (["demo", "--out", "{locked}"], "is a file"),
        (["demo", "--out", "{existing}/mine.txt", "--overwrite"], "is a file"),
        (["demo", "--out", ""], "exists already"),
        (["demo", "--seed", "-1"], "seed"),
        (["demo", "--seed", "many"], "seed"),
        (["demo", "--subject"], "--subject"),
        (["dance"], "dance"),
        (["demo", "extra"], "extra"),
        (["--nothing"], "--nothing"),
        (["inspect"], "paths"),
        (["inspect", "{existing}/missing.csv"], "no such file"),
        (["inspect", "{existing}/mine.txt"], "an empty file"),
        (["inspect", "{existing}", "--axis", "first"], "integer. See"),
        (["motion", "{existing}"], "no file about motion"),
        (["motion", "{existing}/mine.txt"], "not recognised"),
        (["motion", "{existing}", "--out", ""], "written as .tsv"),
        (["motion", "{existing}", "--out", "{existing}/motion.json"], "written as .tsv"),
    ],
)
def test_the_users_mistake_is_one_sentence_and_exit_code_2(arguments, says, tmp_path, capsys):
    (tmp_path / "mine.txt").touch()
    places = {"existing": tmp_path, "locked": tmp_path / "mine.txt" / "results"}
    assert main([argument.format(**places) for argument in arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert says in err
    assert err.count("\n") == 1
    assert "Traceback" not in err


def test_our_mistake_says_where_to_report_it():
    code = (
        "import sys, stillome.simulate as s; from stillome.cli import main\n"
        "s.simulate_cohort = None\n"
        "sys.exit(main(['demo', '--out', 'never']))"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert result.returncode == 1
    assert "Traceback" in result.stderr
    assert "fault of stillome" in result.stderr
    assert "CONTRIBUTING.md" in result.stderr
    assert not os.path.exists("never")  # noqa: PTH110


def test_our_warnings_are_one_sentence(monkeypatch, capsys):
    import stillome.io.inspection as room

    def warn(*_, **__):
        warnings.warn("Only 3 subjects moved.", StillomeWarning, stacklevel=1)
        raise InputError("Enough.")

    monkeypatch.setattr(room, "inspect_path", warn)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        assert main(["inspect", "anything"]) == 2
    assert capsys.readouterr().err == "Note: Only 3 subjects moved.\nEnough.\n"


def test_a_reader_who_has_had_enough_is_no_mistake():
    command = f"{sys.executable} -m stillome run --help | true; exit ${{PIPESTATUS[0]}}"
    result = subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, check=False, timeout=60
    )
    assert result.returncode == 0
    assert result.stderr == ""


@pytest.mark.parametrize(
    ("shell", "shown"), [("bash", "complete -o"), ("zsh", "#compdef stillome")]
)
def test_shells_complete_verbs_and_options(shell, shown):
    def complete(**words):
        return subprocess.run(
            [f"{os.path.dirname(sys.executable)}/stillome"],  # noqa: PTH120
            env=os.environ | {"_STILLOME_COMPLETE": words.pop("ask")} | words,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    assert shown in complete(ask=f"source_{shell}").stdout
    if shell == "bash":
        answer = complete(ask="complete_bash", COMP_WORDS="stillome ins", COMP_CWORD="1")
        assert answer.stdout.split() == ["inspect"]
        answer = complete(ask="complete_bash", COMP_WORDS="stillome run --ref", COMP_CWORD="2")
        assert answer.stdout.split() == ["--reference"]


def test_the_library_logs_where_asked(tmp_path, caplog, capsys):
    import logging

    table = tmp_path / "motion.tsv"
    table.write_text("participant_id\trms_mm\n01\t0.1\n02\t0.4\n")
    logger = logging.getLogger("stillome")
    before = logger.handlers, logger.level
    try:
        assert main(["-v", "motion", str(table), "--out", str(tmp_path / "a.tsv")]) == 0
        assert "rms_mm: as given in the table" in capsys.readouterr().err
    finally:
        logger.handlers, logger.level = before
