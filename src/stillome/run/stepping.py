"""The steps of a run in their order, each skipped if its results are there already."""

import logging
import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple, Self

from stillome.exceptions import FileError, InputError
from stillome.io.write import hash_of
from stillome.locks import lock, sweep, unlock
from stillome.persistence import check_replaceable, is_empty
from stillome.run.folder import RunFolder
from stillome.run.inputs import read_inputs, write_inputs
from stillome.run.parallel import Workers, one_thread_each
from stillome.run.run_files import (
    ADJUSTING,
    BASELINES,
    CERTIFYING,
    DESCRIBING,
    FIDELITY,
    FILES,
    FITTING,
    LISTING,
    PREDICTING,
    READING,
    SLIDING,
)
from stillome.run.settings import RunSettings, check_same
from stillome.run.steps.adjustment import adjust_step
from stillome.run.steps.baseline_fits import baselines_step
from stillome.run.steps.certifying import certify_step
from stillome.run.steps.describing import effects_step
from stillome.run.steps.fitting import fit_step
from stillome.run.steps.kept_parts import remove_parts
from stillome.run.steps.listing import subjects_step
from stillome.run.steps.measuring import fidelity_step
from stillome.run.steps.predicting import predict_step
from stillome.run.steps.sliding import slider_step

logger = logging.getLogger(__name__)


class Step(NamedTuple):
    """One step: its name in `FILES`, what it does, and which setting asks for it."""

    name: str
    do: Callable[[RunFolder, Workers], None]
    asked_by: str | None = None


STEPS = (
    Step(DESCRIBING, effects_step),
    Step(FITTING, fit_step),
    Step(ADJUSTING, adjust_step),
    Step(BASELINES, baselines_step, asked_by="baselines"),
    Step(CERTIFYING, certify_step),
    Step(FIDELITY, fidelity_step),
    Step(PREDICTING, predict_step, asked_by="trait"),
    Step(SLIDING, slider_step),
    Step(LISTING, subjects_step),
)


def steps_asked_for(settings: RunSettings) -> tuple[Step, ...]:
    """Return the steps that these settings ask for, after reading."""
    return tuple(
        step for step in STEPS if step.asked_by is None or getattr(settings, step.asked_by)
    )


def start_run(
    settings: RunSettings,
    out: str | os.PathLike[str],
    *,
    resume: bool,
    overwrite: bool,
    begin: Callable[[str], None],
    claim: "Claim",
) -> RunFolder:
    """Open the folder of a run: one to be continued, or a new one with what was read.

    Parameters
    ----------
    settings : RunSettings
    out : path-like
    resume : bool
        Continue what an earlier run with the same settings left; start if there is nothing.
    overwrite : bool
        Replace an earlier run, once the new inputs have been read and judged.
    begin : callable
        Called with the name of this step where something is read.
    claim : Claim
        Locks the folder until the run ends.

    Raises
    ------
    FileError, InputError
        One sentence that says what is wrong, where, and what to do.
    """
    folder = RunFolder(out)
    check_writable(folder.path)
    if folder.path.is_dir():
        claim.take(folder.path)
    continues = resume and folder.place("header").is_file()
    if continues:
        _check_continues(settings, folder)
        _check_unchanged(folder)
        for place in (folder.path, folder.path / "work"):
            sweep(place)
        if folder.done(CERTIFYING):
            remove_parts(folder)  # of a run that was stopped before it could
    elif not overwrite and folder.place("header").is_file():
        raise FileError(
            f"{folder.path} holds a run already. Pass resume=True to continue it, overwrite=True "
            "to replace it, or choose another name."
        )
    elif not (resume and folder.path.is_dir() and is_empty(folder.path)):
        check_replaceable(folder.path, overwrite=overwrite, marker=FILES["header"].name)
    if not (continues and folder.done(READING)):
        begin(READING)
        _check_apart(settings, folder.path)
        inputs = read_inputs(settings)
        if not continues:
            _make_room(folder, claim, overwrite=overwrite)
        write_inputs(inputs, folder.path)
    return RunFolder(out)


class Claim:
    """The lock on the folder of a run, held until the run ends."""

    def __init__(self) -> None:
        self._handle: int | None = None
        self._place: tuple[int, int] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        unlock(self._handle)
        self._handle = None

    def take(self, folder: Path) -> None:
        """Lock a folder, and release the one before.

        Raises
        ------
        FileError
            If another run is working in it.
        """
        status = folder.stat()
        if self._place == (status.st_dev, status.st_ino):
            return
        handle = lock(folder)
        if handle is None:
            raise FileError(
                f"{folder}: another run is writing into it. Wait for it, or choose another name."
            )
        unlock(self._handle)
        self._handle, self._place = handle, (status.st_dev, status.st_ino)


def take_steps(
    folder: RunFolder, steps: Sequence[Step], workers: Workers, begin: Callable[[str], None]
) -> None:
    """Take those of the steps whose results are not there yet.

    Parameters
    ----------
    folder : RunFolder
    steps : sequence of Step
    workers : Workers
    begin : callable
        Called with the name of each step when it begins.
    """
    for step in steps:
        if folder.done(step.name):
            logger.info("%s: done before", step.name)
            continue
        begin(step.name)
        logger.info("%s …", step.name)
        with one_thread_each():
            step.do(folder, workers)


def check_writable(out: Path) -> None:
    """Refuse a place where no folder can be made, before any work is done.

    Raises
    ------
    FileError
    """
    try:
        place = out.resolve()
        while not place.exists():
            place = place.parent
        if not place.is_dir():
            raise FileError(f"{out}: cannot be a folder, {place} is a file. Choose another name.")
        if not os.access(place, os.W_OK | os.X_OK):
            raise FileError(f"{out}: cannot be written. Choose a folder you may write to.")
    except (OSError, ValueError, RuntimeError) as error:
        raise FileError(f"{out}: cannot be written ({error}).") from error


def _check_continues(settings: RunSettings, folder: RunFolder) -> None:
    check_same(settings, folder.settings, str(folder.path))
    begun = folder.header.get("stillome")
    if begun != version("stillome"):
        raise FileError(
            f"{folder.path} was begun with stillome {begun}, this is "
            f"{version('stillome')}. Run into a new folder."
        )


def _check_apart(settings: RunSettings, out: Path) -> None:
    """Refuse inputs among the results, which may be replaced, and results among the inputs."""
    place = out.resolve()
    for path in (*settings.connectomes, *settings.motion, *settings.traits, *settings.truth):
        given = Path(path).resolve()
        if given.is_relative_to(place):
            raise InputError(f"{path} lies in {out}, where results go. Choose another out=...")
        if place.is_relative_to(given):
            raise InputError(
                f"{out} lies in {path}, where results would be taken for inputs. "
                "Choose out=... beside it."
            )


def _check_unchanged(folder: RunFolder) -> None:
    """Refuse to continue with inputs that were changed; those that are gone are not needed."""
    told = folder.header.get("provenance") or {}
    for path, digest in (told.get("Inputs") or {}).items():
        if Path(path).exists() and hash_of(path) != digest:
            raise FileError(
                f"{path} was changed since the run in {folder.path} was begun. Run into a new "
                "folder, or pass overwrite=True instead of resume=True."
            )


def _make_room(folder: RunFolder, claim: Claim, *, overwrite: bool) -> None:
    """Judge again what is there, since reading took its time; take it away, and claim the place.

    Raises
    ------
    FileError
        If another run was begun here in the meantime.
    """
    if not overwrite and folder.place("header").is_file():
        raise FileError(f"{folder.path}: another run was begun here. Choose another name.")
    if folder.path.is_dir():
        claim.take(folder.path)
    _remove(folder.path)
    try:
        folder.path.mkdir(parents=True)
    except FileExistsError as error:
        raise FileError(
            f"{folder.path}: another run was begun here. Choose another name."
        ) from error
    except OSError as error:
        raise FileError(
            f"{folder.path}: cannot be made ({error.strerror or error}). Choose a place that can "
            "be written."
        ) from error
    claim.take(folder.path)


def _remove(out: Path) -> None:
    """Take away an earlier run, which `check_replaceable` has allowed, in one move."""
    if not out.exists():
        return
    try:
        place = out.resolve()
        holder = Path(tempfile.mkdtemp(prefix=".stillome-", dir=place.parent))
        place.rename(holder / place.name)
    except OSError as error:
        raise FileError(f"{out}: cannot be replaced ({error.strerror or error}).") from error
    shutil.rmtree(holder, ignore_errors=True)
