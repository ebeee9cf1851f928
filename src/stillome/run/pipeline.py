"""`run_pipeline`: every step in its order, each skipped if its results stand there already."""

import logging
import os
import shutil
import tempfile
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

from stillome.exceptions import FileError, InputError
from stillome.persistence import check_replaceable
from stillome.run.folder import HEADER, Progress, Work, open_run, read_header
from stillome.run.inputs import read_inputs, write_inputs
from stillome.run.parallel import one_thread_each
from stillome.run.settings import RunSettings, check_same, from_json
from stillome.run.steps.adjusting import adjust_step, fidelity_step
from stillome.run.steps.certifying import certify_step
from stillome.run.steps.describing import effects_step
from stillome.run.steps.fitting import fit_step
from stillome.run.steps.listing import subjects_step
from stillome.run.steps.predicting import predict_step
from stillome.run.steps.sliding import slider_step

logger = logging.getLogger(__name__)

READING = "Reading"
COHORT = "work/cohort"
REPORT = "report.html"


class Step(NamedTuple):
    """One step: what it is called, what it does, and what it writes last."""

    name: str
    do: Callable[[Work], None]
    last: str
    needs_traits: bool = False


def report_step(work: Work) -> None:
    """Draw the figures and write the report."""
    # Drawing takes seconds to import, and is needed at the very end only.
    from stillome.report import write_report

    with one_thread_each(work.n_jobs):
        write_report(work.out, overwrite=True, n_jobs=work.n_jobs, progress=work.progress)


STEPS = (
    Step("Describing motion", effects_step, "motion_effects"),
    Step("Fitting", fit_step, "latents.json"),
    Step("Adjusting", adjust_step, "adjusted"),
    Step("Certifying", certify_step, "certificates.json"),
    Step("Measuring fidelity", fidelity_step, "fidelity.tsv"),
    Step("Predicting traits", predict_step, "predictions.json", needs_traits=True),
    Step("Moving the reference", slider_step, "work/slider.npz"),
    Step("Listing subjects", subjects_step, "subjects.tsv"),
    Step("Writing the report", report_step, REPORT),
)


def steps_of(settings: RunSettings, *, report: bool = True) -> tuple[Step, ...]:
    """Return the steps that these settings ask for, after reading."""
    return tuple(
        step
        for step in STEPS
        if (settings.trait or not step.needs_traits) and (report or step.last != REPORT)
    )


def run_pipeline(
    settings: RunSettings,
    out: str | os.PathLike[str],
    *,
    resume: bool = False,
    overwrite: bool = False,
    n_jobs: int = 1,
    report: bool = True,
    step: Callable[[str], None] | None = None,
    progress: Progress | None = None,
) -> Path:
    """Read, fit, certify, adjust, predict and report, into one folder.

    Every file appears whole or not at all, so that a run that was stopped anywhere can be
    continued, to the same bytes.

    Parameters
    ----------
    settings : RunSettings
    out : path-like
        The run folder.
    resume : bool, default=False
        Continue what an earlier run with the same settings left; start if there is nothing.
    overwrite : bool, default=False
        Replace an earlier run, once the new inputs have been read and judged.
    n_jobs : int, default=1
        Fits and probes at a time; results do not depend on it.
    report : bool, default=True
        Whether the figures and the report are made.
    step : callable, optional
        Called with the name of each step when it begins.
    progress : callable, optional
        Called in the longer steps with (parts done, parts in all).

    Returns
    -------
    pathlib.Path
        The run folder.

    Raises
    ------
    FileError, InputError
        One sentence that says what is wrong, where, and what to do.
    """
    out = Path(out)
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, int) or n_jobs == 0:
        raise InputError(f"n_jobs={n_jobs!r}; expected a whole number other than 0.")
    begin = step or (lambda name: None)
    continues = resume and (out / HEADER).is_file()
    check_writable(out)
    if continues:
        _check_continues(settings, out)
        _sweep(out)
    elif not (resume and out.is_dir() and not any(out.iterdir())):
        check_replaceable(out, overwrite=overwrite, marker=HEADER)
    if not (continues and (out / COHORT).exists()):
        begin(READING)
        _check_apart(settings, out)
        inputs = read_inputs(settings)
        if not continues:
            _remove(out)
        write_inputs(inputs, out)
    work = open_run(out, n_jobs=n_jobs, progress=progress)
    for one in steps_of(work.settings, report=report):
        if (out / one.last).exists():
            logger.info("%s: done before", one.name)
            continue
        begin(one.name)
        logger.info("%s …", one.name)
        with one_thread_each():
            one.do(work)
    return out


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


def _check_continues(settings: RunSettings, out: Path) -> None:
    header = read_header(out)
    check_same(settings, from_json(header["settings"]), str(out))
    if header.get("stillome") != version("stillome"):
        raise FileError(
            f"{out} was begun with stillome {header.get('stillome')}, this is "
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


def _sweep(out: Path) -> None:
    """Remove what a run that was killed had written aside."""
    for folder in (out, out / "work"):
        for stray in folder.glob(".stillome-*"):
            shutil.rmtree(stray, ignore_errors=True)


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
