"""`stillome run`: from connectomes and motion to adjusted connectomes and a report."""

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stillome.cli.cluster_option import runs_on_cluster
from stillome.cli.console import Stopped, heading, steps
from stillome.cli.file_options import reads_files
from stillome.cli.given_words import baselines_of, parameters_of, reference_of
from stillome.cli.options import (
    AdjustedForm,
    AdjustedFormat,
    Baseline,
    Confound,
    Group,
    Jobs,
    Keep,
    Method,
    OverwriteRun,
    Quiet,
    Reference,
    Repeats,
    Report,
    Resume,
    Seed,
    Set,
    Trait,
    Truth,
    Verbose,
    Weight,
    WithSubjects,
)

if TYPE_CHECKING:
    from stillome.run import RunSettings
    from stillome.run.study_files import StudyFiles


@runs_on_cluster
@reads_files()
def run(
    files: "StudyFiles",
    out: Annotated[Path, typer.Option(help="The folder for the results.")],
    trait: Trait = None,
    confound: Confound = None,
    keep: Keep = None,
    group: Group = None,
    method: Method = "inv-fa",
    parameters: Set = None,
    invariance_weight: Weight = None,
    baseline: Baseline = ["edgewise"],  # noqa: B006 - typer shows it, nobody changes it
    reference: Reference = ["0"],  # noqa: B006
    repeats: Repeats = 2,
    seed: Seed = 0,
    jobs: Jobs = 2,
    form: AdjustedFormat = AdjustedForm.relmat,
    truth: Truth = None,
    report: Report = True,
    with_subjects: WithSubjects = False,
    resume: Resume = False,
    overwrite: OverwriteRun = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Remove head motion from connectomes, test how much is left, and write a report.

    Reads, fits, adjusts, tests whether motion can still be predicted, measures what was kept,
    predicts the traits, and puts everything into one folder with one HTML page.

    Example: stillome run --connectomes counts --motion eddy --traits participants.tsv
    --trait reading --out results
    """
    from stillome.run import RunSettings

    settings = RunSettings(
        **vars(files),
        trait=tuple(trait or ()),
        confounds=tuple(confound or ()),
        keep=tuple(keep or ()),
        group=group,
        method=method,
        parameters=parameters_of(parameters, invariance_weight),
        baselines=baselines_of(baseline),
        repeats=repeats,
        reference=reference_of(reference),
        seed=seed,
        form=form.value,
        truth=tuple(truth or ()),
        with_subjects=with_subjects,
    )
    perform(
        settings, out, jobs=jobs, report=report, resume=resume, overwrite=overwrite, quiet=quiet
    )


def perform(
    settings: "RunSettings",
    out: Path,
    *,
    jobs: int,
    report: bool = True,
    resume: bool = False,
    overwrite: bool = False,
    quiet: bool = False,
    again: str | None = None,
) -> None:
    """Run the pipeline under a bar, and print the verdict.

    Parameters
    ----------
    settings : RunSettings
    out : pathlib.Path
    jobs : int
    report, resume, overwrite : bool
        See `run_pipeline`.
    quiet : bool
        Whether only the folder is printed.
    again : str, optional
        The command that was given, where it was another than ``stillome run``.

    Raises
    ------
    Stopped
        After Ctrl-C, with the command that continues.
    """
    from stillome.pipeline import run_pipeline, steps_of
    from stillome.run import command_line

    try:
        with steps(1 + len(steps_of(settings, report=report)), quiet=quiet) as step:
            run_pipeline(
                settings,
                out,
                resume=resume,
                overwrite=overwrite,
                n_jobs=jobs,
                report=report,
                step=step,
                progress=step.progress,
            )
    except KeyboardInterrupt as error:
        given = again or f"{command_line(settings, out)} --jobs {jobs}"
        options = "" if report else " --no-report"
        raise Stopped(f"Continue with: {given}{options} --resume") from error
    print(out if quiet else summary(out))


def summary(out: Path) -> str:
    """Return the verdict on a finished run, and where its results are."""
    from stillome.run import verdict

    said = [
        textwrap.fill(
            line, 92, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False
        )
        for line in verdict(out)
    ]
    places = ["adjusted", "latents.tsv", "model", "report.html"]
    found = [f"  {out / name}" for name in places if (out / name).exists()]
    return "\n".join([heading("Verdict"), *said, heading("\nResults"), *found])
