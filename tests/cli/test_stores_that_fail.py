"""Runs from a store that is damaged, changed or too large: one sentence, then resume."""

import contextlib
import itertools
import json
import os
import resource
import shlex
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from small_study import write_study
from stillome.cli import main
from stillome.io.edge_store import convert_connectomes
from stillome.run import command_line

LIMITS = {
    "stillome.io.one_stack.LAZY_BYTES": 0,
    "stillome.cohort.stored_matrices.LARGE_BYTES": 0,
}


@pytest.fixture
def words(tmp_path, monkeypatch):
    """Words of a run on a store that is read in slices, in an empty folder with that store."""
    for name, value in LIMITS.items():
        monkeypatch.setattr(name, value)
    monkeypatch.chdir(tmp_path)
    settings = write_study(Path("files"), 24, trait=(), traits=(), baselines=())
    convert_connectomes(settings.connectomes[0], "cohort.zarr", labels=settings.labels)
    settings = replace(settings, connectomes=("cohort.zarr",), labels=None)
    return [*shlex.split(command_line(settings, "out"))[1:], "--jobs", "1", "--no-report"]


def one_sentence(capsys):
    said = capsys.readouterr().err.strip()
    assert said and "\n" not in said and "Traceback" not in said
    return said


def is_finished():
    assert Path("out", "subjects.tsv").is_file()
    assert Path("out", "adjusted", "cohort.zarr").is_dir()
    return not list(Path().rglob(".stillome-*"))


def test_a_chunk_that_cannot_be_read(words, capsys):
    chunk = Path("cohort.zarr", "connectomes", "0.0")
    whole = chunk.read_bytes()
    chunk.write_bytes(whole[: len(whole) // 2])
    assert main([*words, "--quiet"]) == 2
    assert "cohort.zarr" in one_sentence(capsys)
    chunk.write_bytes(whole)
    assert main([*words, "--quiet", "--resume"]) == 0
    assert is_finished()


def test_a_store_that_is_changed_while_it_is_read(words, capsys):
    attributes = Path("cohort.zarr", ".zattrs")
    before = json.loads(attributes.read_text())
    stop = threading.Event()

    def change():
        for number in itertools.count():
            if stop.wait(0.001):
                return
            Path("next").write_text(json.dumps(before | {"changed": number}))
            os.replace("next", attributes)  # noqa: PTH105

    writer = threading.Thread(target=change)
    writer.start()
    with contextlib.ExitStack() as stack:
        stack.callback(writer.join)
        stack.callback(stop.set)
        assert main([*words, "--quiet"]) == 2
    assert "cohort.zarr was changed while it was read" in one_sentence(capsys)
    assert not Path("out", "work", "cohort").exists()
    assert main([*words, "--quiet", "--overwrite"]) == 0
    assert is_finished()


def test_a_store_that_is_changed_or_gone_after_it_was_read(words, capsys):
    assert main([*words, "--quiet"]) == 0
    capsys.readouterr()
    Path("out", "subjects.tsv").unlink()
    attributes = Path("cohort.zarr", ".zattrs")
    before = attributes.read_text()
    attributes.write_text(json.dumps(json.loads(before) | {"changed": 1}))
    assert main([*words, "--quiet", "--resume"]) == 2
    assert "cohort.zarr was changed since the run in out was begun" in one_sentence(capsys)
    Path("cohort.zarr").rename("elsewhere")  # the run has a copy of its own
    assert main([*words, "--quiet", "--resume"]) == 0
    assert is_finished()


@pytest.mark.parametrize("limit", [5_000, 20_000])
def test_a_disk_that_fills_up(words, limit):
    """Writes fail here beyond a size of a file, as they do where a disk is full."""
    script = (
        "import sys, stillome.io.one_stack as one, stillome.cohort.stored_matrices as two\n"
        "from stillome.cli import main\n"
        "one.LAZY_BYTES = two.LARGE_BYTES = 0\n"
        "sys.exit(main(sys.argv[1:]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *words, "--quiet"],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2 and "could not be written" in done.stderr, done.stderr
    assert "Traceback" not in done.stderr and len(done.stderr.strip().splitlines()) == 1
    assert main([*words, "--quiet", "--resume"]) == 0
    assert is_finished()


def test_a_cluster_that_is_not_there(words, capsys):
    assert main([*words, "--quiet", "--cluster", "nobody://here"]) == 2
    assert "--cluster nobody://here: no Dask scheduler answers there." in one_sentence(capsys)
    assert main([*words, "--quiet", "--resume"]) == 0
    assert is_finished()
