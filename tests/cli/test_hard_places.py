"""Full disks, places that cannot be written, inputs that are gone, names that are long or odd."""

import contextlib
import os
import resource
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from small_study import write_study
from stillome.cli import main
from stillome.run import command_line

# 127 letters of two bytes and one of one: the longest name that file systems take.
LONGEST = "é" * 127 + "x"


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """A folder with the files of a study, and the words of a run on them into the folder `out`."""
    place = tmp_path_factory.mktemp("étude 脳")
    with contextlib.chdir(place):
        settings = write_study(Path("files"), 24, trait=(), traits=(), baselines=())
    return place, [*shlex.split(command_line(settings, "out"))[1:], "--jobs", "1", "--no-report"]


@pytest.fixture
def words(study, monkeypatch):
    monkeypatch.chdir(study[0])
    return study[1]


def into(words, place):
    return [str(place) if word == "out" else word for word in words]


def litter(folder):
    return list(folder.rglob(".stillome-*"))


@pytest.mark.parametrize("limit", [100, 20_000])
def test_a_disk_that_fills_up_is_told_and_the_run_continues_once_there_is_room(words, limit):
    """Writes fail here beyond a size of a file, as they do where a disk is full."""
    done = subprocess.run(
        [sys.executable, "-m", "stillome", *into(words, f"out{limit}"), "--quiet"],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2 and "could not be written" in done.stderr
    assert "Traceback" not in done.stderr and not litter(Path())
    assert main([*into(words, f"out{limit}"), "--quiet", "--resume"]) == 0
    assert Path(f"out{limit}", "subjects.tsv").is_file()


def test_a_place_that_cannot_be_written_is_told(words, tmp_path, capsys):
    place = Path("/sys/fs/stillome")  # nobody can make a folder there, root included
    assert main([*into(words, place), "--quiet"]) == 2
    assert f"{place}: cannot be made" in capsys.readouterr().err
    if os.geteuid():
        (tmp_path / "kept").mkdir(mode=0o500)
        assert main([*into(words, tmp_path / "kept" / "out"), "--quiet"]) == 2
        assert "cannot be made (Permission denied)" in capsys.readouterr().err


def test_the_longest_name_works_and_a_longer_one_is_told(words, capsys):
    assert main([*into(words, LONGEST), "--quiet"]) == 0
    assert Path(LONGEST, "subjects.tsv").is_file()
    assert main([*into(words, LONGEST + "x"), "--quiet"]) == 2
    assert "File name too long" in capsys.readouterr().err
    assert not litter(Path())


def test_inputs_that_are_gone_are_named_and_what_is_there_stays(words, capsys):
    (motion,) = Path("files").glob("*motion.tsv")
    place = Path("earlier")
    place.mkdir()
    (place / "run.json").write_text("{}")
    motion.rename("elsewhere.tsv")
    assert main([*into(words, place), "--quiet", "--overwrite"]) == 2
    Path("elsewhere.tsv").rename(motion)
    assert f"{motion}: no such file" in capsys.readouterr().err
    assert (place / "run.json").read_text() == "{}"
