import json
import os
import signal
import subprocess
import sys
import time
from importlib.metadata import version

import matplotlib.image
import pandas as pd
import pytest

from interruptible import start
from stillome.cli import main
from stillome.cli.app import app
from stillome.exceptions import StillomeWarning

RESULTS = {
    "changed_edges.tsv",
    "demo.json",
    "fibre_totals.tsv",
    "motion_effects.pdf",
    "motion_effects.png",
    "qcsc.tsv",
}


@pytest.fixture(autouse=True)
def the_hook_comes_back(monkeypatch):
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The results of one demo, as a user's process writes them."""
    folder = tmp_path_factory.mktemp("demo") / "results"
    result = subprocess.run(
        [sys.executable, "-W", "error", "-m", "stillome", "demo", "--out", str(folder)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return folder, result


def test_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"stillome {version('stillome')}\n"


def test_help_names_every_verb(capsys):
    assert main(["--help"]) == 0
    text = capsys.readouterr().out
    assert "demo" in text
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
        shown = " ".join(capsys.readouterr().out.split())  # however wide the terminal
        assert command.callback.__doc__.splitlines()[0] in shown


def test_the_demo_says_what_it_found_and_where_it_is(finished):
    folder, result = finished
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""  # no progress bar where nobody looks
    assert "\x1b" not in result.stdout
    for part in ("decile", "ctx-lh-", "QC–SC", "of the fibres are lost", str(folder)):
        assert part in result.stdout
    assert {path.name for path in folder.iterdir()} == RESULTS


def test_the_numbers_of_the_demo_are_tables_and_motion_costs_fibres(finished):
    folder, _ = finished
    totals = pd.read_csv(folder / "fibre_totals.tsv", sep="\t")
    assert totals["n_subjects"].sum() == 400
    assert totals["fibres_mean"].iloc[-1] < 0.9 * totals["fibres_mean"].iloc[0]
    edges = pd.read_csv(folder / "qcsc.tsv", sep="\t", na_values="n/a")
    assert len(edges) == 2278
    assert edges["correlation"].median() < 0
    assert len(pd.read_csv(folder / "changed_edges.tsv", sep="\t")) == 10
    assert json.loads((folder / "demo.json").read_text())["seed"] == 0


def test_the_figure_of_the_demo_is_a_picture(finished):
    folder, _ = finished
    picture = matplotlib.image.imread(folder / "motion_effects.png")
    assert picture.shape[:2] == (1400, 2200)
    assert picture[..., :3].std() > 0.1
    assert (folder / "motion_effects.pdf").read_bytes().startswith(b"%PDF")


def test_the_same_seed_gives_the_same_bits_and_another_one_others(finished, tmp_path, capsys):
    folder, _ = finished
    assert main(["demo", "--out", str(tmp_path / "a"), "--quiet"]) == 0
    assert capsys.readouterr() == (f"{tmp_path / 'a'}\n", "")
    for name in RESULTS:
        assert (tmp_path / "a" / name).read_bytes() == (folder / name).read_bytes(), name
    assert main(["demo", "--out", str(tmp_path / "a"), "--seed", "1", "--overwrite"]) == 0
    assert (tmp_path / "a" / "qcsc.tsv").read_bytes() != (folder / "qcsc.tsv").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["demo", "--out", "{existing}"], "exists already"),
        (["demo", "--out", "{existing}", "--overwrite"], "holds other things"),
        (["demo", "--out", "{locked}"], "cannot be written"),
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


def test_ctrl_c_ends_cleanly(tmp_path):
    process = start(
        *(sys.executable, "-m", "stillome", "demo", "--out", str(tmp_path / "results")),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 30
    while not list(tmp_path.iterdir()) and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "Traceback" not in err
    assert "Stopped" in err
    assert list(tmp_path.iterdir()) == []


def test_our_warnings_are_one_sentence(monkeypatch, capsys):
    import warnings

    import stillome.evaluate.motion_effects as room

    def warn(*_):
        warnings.warn("Only 3 subjects moved.", StillomeWarning, stacklevel=1)
        raise room.InputError("Enough.")

    monkeypatch.setattr(room, "describe_motion_effects", warn)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        assert main(["demo", "--out", "never"]) == 2
    assert capsys.readouterr().err == "Note: Only 3 subjects moved.\nEnough.\n"
