"""`run_pipeline`: a whole run, from the files of a study to its report."""

import os
from collections.abc import Callable
from pathlib import Path

from stillome.progress import Progress, say_nothing
from stillome.run.folder import RunFolder
from stillome.run.parallel import Workers, one_thread_each
from stillome.run.run_files import REPORTING
from stillome.run.settings import RunSettings
from stillome.run.stepping import Claim, Step, start_run, steps_asked_for, take_steps


def report_step(folder: RunFolder, workers: Workers) -> None:
    """Draw the figures and write the report."""
    # Drawing takes seconds to import, and is needed at the very end only.
    from stillome.report import write_report

    with one_thread_each(workers.n_jobs):
        write_report(
            folder.path,
            with_subjects=folder.settings.with_subjects,
            overwrite=True,
            n_jobs=workers.n_jobs,
            progress=workers.progress,
        )


def steps_of(settings: RunSettings, *, report: bool = True) -> tuple[Step, ...]:
    """Return the steps of a run after reading, the report included if it is wanted."""
    return (*steps_asked_for(settings), *([Step(REPORTING, report_step)] if report else []))


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

    Examples
    --------
    >>> import tempfile
    >>> from stillome import Cohort, simulate_cohort
    >>> from stillome.io.write_cohort import write_cohort
    >>> people = simulate_cohort(40, "thinning", random_state=1).cohort
    >>> few = Cohort(people.subject_ids, people.connectomes[:, :8, :8], motion=people.motion)
    >>> files = write_cohort(Path(tempfile.mkdtemp(), "study"), few)
    >>> given = {"connectomes": (str(files.connectomes),), "motion": (str(files.motion),)}
    >>> settings = RunSettings(**given, confounds=("rms_mm",), baselines=(), repeats=0)
    >>> results = Path(tempfile.mkdtemp(), "results")
    >>> _ = run_pipeline(settings, results, report=False)
    >>> from stillome.run import verdict
    >>> verdict(results)[0]
    'Cannot be told with 40 subjects. ...'
    >>> RunFolder(results).latents.shape
    (40, 68)
    """
    workers = Workers(n_jobs, progress or say_nothing)
    begin = step or (lambda name: None)
    with Claim() as claim:
        folder = start_run(
            settings, out, resume=resume, overwrite=overwrite, begin=begin, claim=claim
        )
        take_steps(folder, steps_of(folder.settings, report=report), workers, begin)
    return folder.path
