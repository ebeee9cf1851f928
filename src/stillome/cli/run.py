"""`stillome run`: from connectomes and motion to adjusted connectomes and a report."""

import textwrap
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stillome.cli.console import Stopped, heading, log_to_stderr, steps
from stillome.cli.options import (
    Atlas,
    Confound,
    Connectomes,
    Group,
    Jobs,
    Labels,
    Lengths,
    Measure,
    Motion,
    Quiet,
    Seed,
    Session,
    Symmetrize,
    Trait,
    Traits,
)

if TYPE_CHECKING:
    from stillome.run import RunSettings


class RunForm(StrEnum):
    """Formats in which adjusted connectomes are written."""

    relmat = "relmat"
    same = "same"


Keep = Annotated[
    list[str] | None,
    typer.Option(help="A column of --traits (age, sex) that must not go with motion."),
]
Method = Annotated[str, typer.Option(help="inv-fa, gate, combat, sog …")]
Baseline = Annotated[
    list[str], typer.Option(help="A method to compare with; repeat for several, or none.")
]
Reference = Annotated[
    list[str],
    typer.Option(help="What to adjust to: 0.1, one for each measure of motion, or site=B."),
]
Weight = Annotated[
    str | None,
    typer.Option(help="How much of what motion and person share is taken out: 0 to 1, or auto."),
]
Format = Annotated[
    RunForm, typer.Option("--format", help="Adjusted connectomes as BIDS, or as they came.")
]
Truth = Annotated[
    list[str] | None, typer.Option(help="Motion-free connectomes, of simulated subjects.")
]
Report = Annotated[bool, typer.Option(help="Draw the figures and write the report.")]
Resume = Annotated[bool, typer.Option("--resume", help="Continue where a run was stopped.")]
Replace = Annotated[bool, typer.Option("--overwrite", help="Replace an earlier run.")]
Verbose = Annotated[
    bool, typer.Option("--verbose", "-v", callback=log_to_stderr, help="Log what is done.")
]


def run(
    connectomes: Connectomes,
    motion: Motion,
    out: Annotated[Path, typer.Option(help="The folder for the results.")],
    traits: Traits = None,
    trait: Trait = None,
    confound: Confound = None,
    keep: Keep = None,
    group: Group = None,
    method: Method = "inv-fa",
    baseline: Baseline = ["edgewise"],  # noqa: B006 - typer shows it, nobody changes it
    reference: Reference = ["0"],  # noqa: B006
    invariance_weight: Weight = None,
    seed: Seed = 0,
    jobs: Jobs = 2,
    form: Format = RunForm.relmat,
    labels: Labels = None,
    lengths: Lengths = None,
    atlas: Atlas = None,
    measure: Measure = None,
    symmetrize: Symmetrize = None,
    session: Session = None,
    subject: Annotated[
        list[str] | None, typer.Option(help="An id; repeat for several. By default everybody.")
    ] = None,
    truth: Truth = None,
    report: Report = True,
    resume: Resume = False,
    overwrite: Replace = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Remove head motion from connectomes, prove it, and write a report.

    Reads, fits, adjusts, certifies that no motion can be read any more, measures what was kept,
    predicts the traits, and puts everything into one folder with one HTML page.

    Example: stillome run --connectomes counts --motion eddy --traits participants.tsv
    --trait reading --out results
    """
    from stillome.run import RunSettings

    settings = RunSettings(
        connectomes=tuple(connectomes),
        motion=tuple(motion),
        traits=tuple(traits or ()),
        trait=tuple(trait or ()),
        confounds=tuple(confound or ()),
        keep=tuple(keep or ()),
        group=group,
        method=method,
        baselines=baselines_of(baseline),
        reference=reference_of(reference),
        invariance_weight=weight_of(invariance_weight),
        seed=seed,
        form=form.value,
        labels=labels,
        lengths=lengths,
        atlas=atlas,
        measure=measure,
        symmetrize=symmetrize,
        session=session,
        subjects=tuple(subject or ()),
        truth=tuple(truth or ()),
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


def baselines_of(names: list[str]) -> tuple[str, ...]:
    """Return the methods to compare with.

    Examples
    --------
    >>> baselines_of(["none"]), baselines_of(["edgewise", "sog"])
    ((), ('edgewise', 'sog'))
    """
    return () if names == ["none"] else tuple(names)


def reference_of(words: list[str]) -> tuple[float | str, ...]:
    """Return what to adjust to: numbers for motion, or words that name a confound.

    Examples
    --------
    >>> reference_of(["0.1"]), reference_of(["site=B"])
    ((0.1,), ('site=B',))
    """
    from stillome.cohort.reference import float_of

    return tuple(word if "=" in word else float_of(word) for word in words)


def weight_of(word: str | None) -> float | str | None:
    """Read a weight: a number, ``auto``, or nothing.

    Examples
    --------
    >>> weight_of("0.5"), weight_of("auto"), weight_of(None)
    (0.5, 'auto', None)
    """
    try:
        return None if word is None else float(word)
    except ValueError:
        return word  # the method says what it takes


def summary(out: Path) -> str:
    """Return the verdict on a finished run, and where its results are."""
    from stillome.run import verdict

    said = [
        textwrap.fill(line, 92, initial_indent="  ", subsequent_indent="    ")
        for line in verdict(out)
    ]
    places = ["adjusted", "latents.tsv", "model", "report.html"]
    found = [f"  {out / name}" for name in places if (out / name).exists()]
    return "\n".join([heading("Verdict"), *said, heading("\nResults"), *found])
