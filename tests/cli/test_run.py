import json
import os
import shlex
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest

from interruptible import start
from small_study import contents, write_derivatives, write_study
from stillome.cli import demo, main
from stillome.io import read_connectomes
from stillome.run import command_line


def stillome(*words, **options):
    return subprocess.run(
        [sys.executable, "-m", "stillome", *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        **options,
    )


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """One run as a user's process makes it; its report is drawn in the tests of docs."""
    place = tmp_path_factory.mktemp("run")
    settings = write_study(place / "study", 40, trait=("reading",))
    command = command_line(settings, place / "out")
    return place / "out", command, stillome(*shlex.split(command)[1:], "--jobs", 1, "--no-report")


def test_a_run_says_what_it_found_and_where_the_results_are(finished):
    out, _, result = finished
    assert result.returncode == 0, result.stderr
    said = " ".join(result.stdout.split())
    assert "affect the connectomes as scanned?" in said and "gone from the latents z in" in said
    assert "reading predicted in subjects who were not in the fit" in said
    assert str(out / "adjusted") in result.stdout
    assert "report.html" not in result.stdout and not (out / "report.html").exists()
    assert "\x1b" not in result.stdout and "it/s" not in result.stderr
    assert "Traceback" not in result.stderr


def test_the_command_in_the_results_is_the_one_that_made_them(finished, capsys):
    out, command, _ = finished
    told = json.loads((out / "run.json").read_text())["command"]
    assert told == command
    before = contents(out)
    assert main([*shlex.split(told)[1:], "--resume", "--quiet", "--no-report"]) == 0
    assert capsys.readouterr().out == f"{out}\n"
    assert contents(out) == before


def test_ctrl_c_says_how_to_continue_and_that_works(tmp_path):
    settings = write_study(tmp_path / "study", 24, trait=(), traits=(), baselines=())
    out = tmp_path / "out"
    words = shlex.split(command_line(settings, out))[1:]
    process = start(
        *(sys.executable, "-m", "stillome", *words, "--jobs", "1", "--no-report"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 60
    while not (out / "work" / "cohort").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in err
    assert "Stopped; nothing was left half-written. Continue with: stillome run" in err
    assert not list(out.rglob(".stillome-*"))
    told = err.split("Continue with: ")[1].strip()
    assert told.endswith("--no-report --resume")
    assert main(shlex.split(told)[1:]) == 0
    assert (out / "subjects.tsv").is_file()


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_other_signals_end_the_workers_too_and_say_how_to_continue(name, tmp_path):
    settings = write_study(tmp_path / "study", 24, trait=(), traits=(), baselines=())
    out = tmp_path / "out"
    words = shlex.split(command_line(settings, out))[1:]
    process = start(
        *(sys.executable, "-m", "stillome", *words, "--jobs", "2", "--no-report"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # Whoever runs these tests may ignore signals, and children inherit that.
        preexec_fn=lambda: signal.signal(getattr(signal, name), signal.SIG_DFL),
    )
    deadline = time.monotonic() + 60
    while not (out / "adjusted").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(getattr(signal, name))
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Continue with: stillome run" in err and "Traceback" not in err
    while time.monotonic() < deadline:
        try:
            os.killpg(process.pid, 0)
        except ProcessLookupError:
            break
        time.sleep(0.05)
    else:
        raise AssertionError("workers are left behind")


@pytest.mark.parametrize("place", ["/dev/full", None])
def test_a_closed_or_full_output_after_the_work_is_no_failure(place, tmp_path):
    command = [sys.executable, "-m", "stillome", "simulate", "--out", str(tmp_path / "new")]
    closing = "exec 1>&-" if place is None else f"exec 1>{place}"
    line = f"{closing}; exec {shlex.join(command)} --subjects 12"
    done = subprocess.run(["sh", "-c", line], stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr and (tmp_path / "new").is_dir()


def without(words, option):
    place = words.index(option)
    return words[:place] + words[place + 2 :]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda words, _: without(words, "--motion"), "--motion"),
        (lambda words, _: [*words, "--motoin", "x"], "--motoin"),
        (lambda words, _: [*words, "--method", "magic"], "no method 'magic'"),
        (lambda words, _: [*words, "--baseline", "magic"], "no method 'magic'"),
        (lambda words, _: [*words, "--connectomes", "missing.csv"], "missing.csv"),
        (lambda words, _: [*words, "--motion", "missing"], "missing"),
        (lambda words, _: [*words, "--traits", "missing.tsv"], "missing.tsv"),
        (lambda words, _: [*words, "--labels", "missing.txt"], "missing.txt"),
        (lambda words, _: [*words, "--truth", "missing"], "missing"),
        (lambda words, _: [*words, "--trait", "raeding"], "raeding"),
        (lambda words, _: [*words, "--trait", "empty"], "'empty' holds no value"),
        (lambda words, _: [*words, "--trait", "sex"], "'sex' holds text"),
        (lambda words, _: [*words, "--keep", "colour"], "colour"),
        (lambda words, _: [*words, "--confound", "fd_mm"], "no column 'fd_mm'"),
        (lambda words, _: [*words, "--reference", "low"], "'low' is not a number"),
        (lambda words, _: [*words, "--reference", "fd_mm=1"], "is fitted with rms_mm"),
        (lambda words, _: [*words, "--reference", "rms_mm=nan"], "finite"),
        (lambda words, _: [*words, "--reference", "nan"], "finite"),
        (lambda words, _: [*words, "--reference", "0", "--reference", "1"], "2 value(s)"),
        (lambda words, _: [*words, "--invariance-weight", "half"], "half"),
        (lambda words, _: [*words, "--seed", "-1"], "seed"),
        (lambda words, _: [*words, "--jobs", "0"], "jobs"),
        (lambda words, _: [*words, "--format", "xlsx"], "xlsx"),
        (lambda words, _: [*words, "--subject", "000"], "1 subject has"),
        (lambda words, _: [*words, "--subject", "000", "--subject", "001"], "2 subjects have"),
        (lambda words, _: [*words, "--subject", "nobody"], "nobody"),
        (lambda words, place: [*words, "--out", place], "exists already"),
        (lambda words, place: [*words, "--out", place, "--overwrite"], "holds other things"),
        (lambda words, place: [*words, "--out", place, "--resume"], "exists already"),
        (lambda words, place: [*words, "--out", f"{place}/motion.tsv/x"], "is a file"),
        (lambda words, place: [*words, "--out", f"{place}/connectomes/x"], "lies in"),
    ],
)
def test_the_users_mistake_is_one_sentence_and_exit_code_2(change, says, tmp_path, capsys):
    settings = write_study(tmp_path / "study", 32, trait=("reading",))
    words = shlex.split(command_line(settings, tmp_path / "out"))[1:]
    assert main(change(words, str(tmp_path / "study"))) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert says in err
    assert err.count("\n") == 1 and "Traceback" not in err
    assert not (tmp_path / "out").exists()


def test_a_folder_that_nobody_may_write_is_one_sentence(tmp_path, capsys):
    settings = write_study(tmp_path / "study", 24)
    for place in ("/proc/self", "/proc/self/status"):  # not even the superuser
        assert main(shlex.split(command_line(settings, f"{place}/out"))[1:]) == 2
        out, err = capsys.readouterr()
        assert out == "" and f"{place}/out" in err
        assert err.count("\n") == 1 and "Traceback" not in err


def test_the_demo_is_a_run_on_files_written_beside_it(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(demo, "N_SUBJECTS", 32)
    out = tmp_path / "demo"
    assert main(["demo", "--out", str(out), "--no-report", "--jobs", "1", "--seed", "7"]) == 0
    said, notes = capsys.readouterr()
    assert f"stillome run --connectomes {tmp_path / 'demo-input' / 'connectomes'}" in said
    assert "nearest to the same subject's true" in " ".join(said.split())
    assert notes == ""
    header = json.loads((out / "run.json").read_text())
    assert header["simulated"] and header["settings"]["seed"] == 7
    given = read_connectomes(tmp_path / "demo-input" / "connectomes")
    assert given.n_subjects == 32
    totals = pd.read_csv(out / "motion_effects" / "fibre_totals.tsv", sep="\t")
    assert totals["n_subjects"].sum() == 32
    assert len(pd.read_csv(out / "motion_effects" / "qcsc.tsv", sep="\t")) == 2278
    assert main(["demo", "--out", str(out), "--seed", "7"]) == 2
    assert "exists already" in capsys.readouterr().err


def test_a_bids_app_fits_the_group_and_applies_to_participants(tmp_path, capsys):
    connectomes, eddy = write_derivatives(tmp_path)
    eddy.rename(connectomes / "eddy")  # motion and traits are found by themselves
    out = tmp_path / "out"
    words = ["bids", str(connectomes), str(out)]
    assert main([*words, "participant"]) == 2
    assert "level group first" in capsys.readouterr().err
    group = ["group", "--trait", "reading", "--no-report", "--n-procs", "1"]
    group += ["--baseline", "none", "--repeats", "0", "--with-subjects"]
    assert main([*words, *group, "--skip-bids-validation"]) == 0
    settings = json.loads((out / "run.json").read_text())["settings"]
    assert (settings["repeats"], settings["with_subjects"]) == (0, True)
    assert str(out / "adjusted") in capsys.readouterr().out
    assert main([*words, "participant", "--participant-label", "sub-004"]) == 0
    assert capsys.readouterr().out == f"{out / 'sub-004'}\n"
    ids = {"dtype": {"participant_id": str}, "index_col": "participant_id", "sep": "\t"}
    own = out / "sub-004" / "dwi" / "sub-004_desc-stillome_latents.tsv"
    latents = pd.read_csv(out / "latents.tsv", **ids)
    assert np.allclose(pd.read_csv(own, **ids), latents.loc[["004"]], atol=1e-5)
    assert (out / "sub-004" / "dwi" / "sub-004_desc-stillome_predictions.tsv").is_file()
    adjusted = read_connectomes(out / "sub-004").connectomes
    position = list(latents.index).index("004")
    assert (adjusted[0] == read_connectomes(out / "adjusted").connectomes[position]).all()
    assert main([*words, "participant", "--participant-label", "004"]) == 2
    assert "exists already" in capsys.readouterr().err
    assert main([*words, "participant", "--participant-label", "nobody"]) == 2
    assert "nobody" in capsys.readouterr().err
    assert main([*words, "group", "--trait", "raeding", "--overwrite"]) == 2
    assert main([*words, "dance"]) == 2
