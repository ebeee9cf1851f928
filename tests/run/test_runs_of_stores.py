"""Runs whose connectomes stay in files: read in slices, and written as they are made."""

import contextlib
import errno
import os
import shutil
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from small_study import write_study
from stillome.cohort.stored_matrices import NpyRows, StoredMatrices
from stillome.exceptions import FileError
from stillome.io import read_connectomes
from stillome.io.edge_store import convert_connectomes
from stillome.pipeline import run_pipeline
from stillome.run import RunFolder
from stillome.run.parallel import Workers
from stillome.run.steps.adjustment import adjust_step

TABLES = ("latents", "subjects", "certificates", "graph_motion", "graph_measures", "fidelity")


def small_limits(monkeypatch):
    """Treat every cohort as one that memory does not hold."""
    monkeypatch.setattr("stillome.io.one_stack.LAZY_BYTES", 0)
    monkeypatch.setattr("stillome.cohort.stored_matrices.LARGE_BYTES", 0)
    monkeypatch.setattr("stillome.cohort.stored_matrices._PART_VALUES", 1000)
    monkeypatch.setattr("stillome.run.steps.cross_fitting._JOINED_VALUES", 500)


def study_in_a_store(place, **settings):
    chosen = write_study(place / "study", seed=1, trait=(), traits=(), **settings)
    store = place / "cohort.zarr"
    convert_connectomes(chosen.connectomes[0], store, labels=chosen.labels)
    return replace(chosen, connectomes=(os.fspath(store),), labels=None)


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """The same run in memory and in slices."""
    place = tmp_path_factory.mktemp("stores")
    settings = study_in_a_store(place)
    with contextlib.chdir(place), pytest.MonkeyPatch.context() as patch:
        run_pipeline(settings, "memory", report=False)
        small_limits(patch)
        run_pipeline(settings, "slices", report=True)
        assert isinstance(RunFolder("slices").cohort.connectomes, StoredMatrices)
        assert isinstance(RunFolder("slices").adjusted, StoredMatrices)
    return place / "memory", place / "slices"


@pytest.mark.parametrize("name", TABLES)
def test_a_run_in_slices_finds_what_one_in_memory_finds(both, name):
    one, two = (pd.read_csv(out / f"{name}.tsv", sep="\t") for out in both)
    pd.testing.assert_frame_equal(one, two, rtol=1e-6)


def test_adjusted_connectomes_are_the_same_and_become_a_store(both):
    memory, slices = both
    one, two = (np.load(out / "work" / "adjusted.npy") for out in both)
    np.testing.assert_array_equal(one, two)
    written = read_connectomes(slices / "adjusted" / "cohort.zarr")
    np.testing.assert_array_equal(np.asarray(written.connectomes), one)
    assert written.subject_ids == read_connectomes(memory / "adjusted").subject_ids
    assert not (slices / "work" / "certifying").exists()


def test_the_report_says_what_was_not_measured(both):
    assert "How much leakage would be detected is not measured" in (
        both[1] / "certificates.json"
    ).read_text(encoding="utf-8")
    assert (both[1] / "report.html").is_file()


def test_a_run_that_was_stopped_while_adjusting_continues_after_the_last_subject(
    both, tmp_path, monkeypatch
):
    """A disk that fills up in the middle, and is emptied again."""
    out = shutil.copytree(both[1], tmp_path / "stopped")
    (out / "work" / "adjusted.npy").unlink()
    shutil.rmtree(out / "adjusted")
    written: list[int] = []
    room = [2]  # blocks

    def while_there_is_room(rows, subjects, values):
        if rows._file.name.endswith("adjusted.part.npy"):
            if len(written) == room[0]:
                raise OSError(errno.ENOSPC, "No space left on device")
            written.append(len(values))
        write(rows, subjects, values)

    write = NpyRows.__setitem__
    small_limits(monkeypatch)
    monkeypatch.setattr("stillome.methods.inv_fa.ordered_table._ELEMENTS", 300)
    monkeypatch.setattr(NpyRows, "__setitem__", while_there_is_room)
    with contextlib.chdir(both[1].parent):
        with pytest.raises(FileError, match="Is the disk full"):
            adjust_step(RunFolder(out), Workers())
        assert not (out / "work" / "adjusted.npy").exists()
        room[0] = 1000
        adjust_step(RunFolder(out), Workers())
    assert sum(written) == RunFolder(out).cohort.n_subjects  # each of them once
    one, two = (np.load(run / "work" / "adjusted.npy") for run in (both[0], out))
    np.testing.assert_array_equal(one, two)
    assert not (out / "work" / "adjusted.part.npy").exists()
