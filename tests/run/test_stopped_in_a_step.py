"""Runs that are stopped inside cross-fitting or certifying: what was done is not done again."""

import contextlib
import errno
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from small_study import contents, write_study
from stillome import InvFA
from stillome.cohort.stored_matrices import NpyRows
from stillome.exceptions import FileError, InputError
from stillome.io.edge_store import convert_connectomes
from stillome.pipeline import run_pipeline
from stillome.run import RunFolder
from stillome.run.steps import certifying

OUT = Path("out")
PARTS = OUT / "work" / "certifying"


def counted(patch, place, name, *, stop_at=None, error=KeyboardInterrupt):
    """Count the calls of a function in a list, and stop at one of them."""
    function, calls = getattr(place, name), []

    def call(*args, **more):
        calls.append(name)
        if len(calls) == stop_at:
            raise error
        return function(*args, **more)

    patch.setattr(place, name, call)
    return calls


@pytest.fixture(params=["memory", "slices"], scope="module")
def study(request, tmp_path_factory):
    """A study, beside the folder `whole` of a run that nobody stopped."""
    place = tmp_path_factory.mktemp(request.param)
    with contextlib.chdir(place), pytest.MonkeyPatch.context() as patch:
        settings = write_study(Path("study"), 60, seed=1, trait=(), traits=(), baselines=())
        if request.param == "slices":
            convert_connectomes(settings.connectomes[0], "cohort.zarr", labels=settings.labels)
            settings = replace(settings, connectomes=("cohort.zarr",), labels=None)
            patch.setattr("stillome.io.one_stack.LAZY_BYTES", 0)
            patch.setattr("stillome.cohort.stored_matrices.LARGE_BYTES", 0)
            patch.setattr("stillome.run.steps.cross_fitting._JOINED_VALUES", 500)
        run_pipeline(settings, OUT, report=False)
        OUT.rename("whole")
        yield settings


@pytest.fixture
def until_certifying(study):
    """The same run as it was when certifying began, in the folder `out`."""
    shutil.rmtree(OUT, ignore_errors=True)
    shutil.copytree("whole", OUT)
    later = ("certificates", "graph_m", "motion_effects_adjusted", "fidelity", "subjects")
    for path in [*OUT.glob("*"), OUT / "work" / "slider.npz"]:
        if path.name.startswith(later) or path.name == "slider.npz":
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    return study


def stopped(settings, place, name, **stop):
    """Run until a function is called for the n-th time."""
    with pytest.MonkeyPatch.context() as patch:
        counted(patch, place, name, **stop)
        with pytest.raises((KeyboardInterrupt, FileError)) as why:
            run_pipeline(settings, OUT, resume=True, report=False)
    assert not list(OUT.rglob(".stillome-*"))
    return str(why.value)


def finish_as_whole(settings, **more):
    run_pipeline(settings, OUT, resume=True, report=False, **more)
    expected, found = contents(Path("whole")), contents(OUT)
    assert list(found) == list(expected)
    assert [name for name in expected if found[name] != expected[name]] == []


def finished_parts():
    return sorted(path.parent.name for path in PARTS.rglob("latents.npy"))


def test_only_the_missing_fits_and_certificates_are_made(until_certifying, monkeypatch):
    settings = until_certifying
    stopped(settings, InvFA, "fit", stop_at=2)
    assert finished_parts() == ["part-0"]
    fits = counted(monkeypatch, InvFA, "fit")
    stopped(settings, certifying, "repeated_certificate", stop_at=4)
    assert len(fits) == 2
    certificates = counted(monkeypatch, certifying, "repeated_certificate")
    finish_as_whole(settings)
    assert len(fits) == 2
    assert len(certificates) == len(RunFolder(OUT).certificates) - 3
    assert not PARTS.exists()


def test_files_that_a_crash_has_cut_short_are_made_anew(until_certifying):
    settings = until_certifying
    stopped(settings, certifying, "repeated_certificate", stop_at=4)
    for file in [*PARTS.glob("*/adjusted.npy"), *PARTS.rglob("part-1/adjusted.npy")]:
        file.write_bytes(file.read_bytes()[:-8])
    certificates = [*PARTS.rglob("certificate.json")]
    assert len(certificates) == 3
    certificates[0].write_text("{}")
    finish_as_whole(settings)


def test_a_disk_that_fills_up_in_the_second_part_loses_only_that_part(
    until_certifying, monkeypatch
):
    full = OSError(errno.ENOSPC, "No space left on device")
    place = (NpyRows, "__setitem__") if "zarr" in until_certifying.connectomes[0] else (np, "save")
    # In memory, adjusted edges and latents of the first part are two files.
    n_before = 2 if place[0] is np else _blocks_of_a_part(until_certifying)
    said = stopped(until_certifying, *place, stop_at=n_before + 1, error=full)
    assert "No space left on device" in said
    assert finished_parts() == ["part-0"]
    fits = counted(monkeypatch, InvFA, "fit")
    finish_as_whole(until_certifying)
    assert len(fits) == 2


def _blocks_of_a_part(settings):
    """Count the blocks that the first part writes, until the second begins."""
    with pytest.MonkeyPatch.context() as patch:
        written = counted(patch, NpyRows, "__setitem__")
        stopped(settings, InvFA, "fit", stop_at=2)
    shutil.rmtree(PARTS)
    return len(written)


def test_parts_are_not_used_with_other_settings_or_inputs(until_certifying, monkeypatch):
    settings = until_certifying
    stopped(settings, InvFA, "fit", stop_at=3)
    other = replace(settings, seed=5)
    with pytest.raises(InputError, match="was begun with seed=0, not 5"):
        run_pipeline(other, OUT, resume=True, report=False)
    motion = Path(settings.motion[0])
    text = motion.read_text(encoding="utf-8")
    motion.write_text(f"{text}999\t0.1\t0.1\n", encoding="utf-8")
    with pytest.raises(FileError, match="was changed since the run"):
        run_pipeline(settings, OUT, resume=True, report=False)
    motion.write_text(text, encoding="utf-8")
    assert finished_parts() == ["part-0", "part-1"]
    fits = counted(monkeypatch, InvFA, "fit")
    run_pipeline(other, OUT, overwrite=True, report=False)
    assert len(fits) == 1 + 3  # of everybody, and of every part


def test_parts_that_could_not_be_removed_are_removed_by_the_next_run(study):
    shutil.rmtree(OUT, ignore_errors=True)
    shutil.copytree("whole", OUT)
    (PARTS / "inv-fa-1-0").mkdir(parents=True)
    finish_as_whole(study)
