"""`stillome bids`: the same as a BIDS App, fit to a group and applied to participants."""

from contextlib import nullcontext, suppress
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from stillome.cli.console import steps
from stillome.cli.options import Atlas, Confound, Group, Labels, Measure, Quiet, Seed, Trait
from stillome.cli.run import (
    Baseline,
    Keep,
    Method,
    Reference,
    Replace,
    Report,
    Resume,
    Verbose,
    baselines_of,
    perform,
    reference_of,
)
from stillome.exceptions import FileError


class Level(StrEnum):
    """What a BIDS App is asked to do."""

    group = "group"
    participant = "participant"


def bids(
    bids_dir: Annotated[
        Path,
        typer.Argument(metavar="BIDS_DERIVATIVES", help="Where connectomes and motion are."),
    ],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The folder for the results.")],
    level: Annotated[Level, typer.Argument(help="Fit to everybody, or apply to participants.")],
    participant_label: Annotated[
        list[str] | None,
        typer.Option(help="An id, with or without sub-; repeat for several."),
    ] = None,
    session_label: Annotated[
        str | None, typer.Option(help="The session, with or without ses-.")
    ] = None,
    motion: Annotated[
        list[str] | None, typer.Option(help="Motion, where it is not in the same derivatives.")
    ] = None,
    participants: Annotated[
        Path | None, typer.Option(help="participants.tsv, where it is not found by itself.")
    ] = None,
    trait: Trait = None,
    confound: Confound = None,
    keep: Keep = None,
    group: Group = None,
    method: Method = "inv-fa",
    baseline: Baseline = ["edgewise"],  # noqa: B006 - typer shows it, nobody changes it
    reference: Reference = ["0"],  # noqa: B006
    seed: Seed = 0,
    atlas: Atlas = None,
    measure: Measure = None,
    labels: Labels = None,
    n_procs: Annotated[
        int, typer.Option("--n-procs", "--nprocs", "--n_cpus", min=1, help="Fits at a time.")
    ] = 2,
    skip_bids_validation: Annotated[
        bool, typer.Option("--skip-bids-validation", help="Accepted; nothing is validated.")
    ] = False,
    report: Report = True,
    resume: Resume = False,
    overwrite: Replace = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Run as a BIDS App: group fits a model to everybody, participant applies it to subjects.

    Finds connectomes, eddy's or QSIPrep's motion and participants.tsv in the derivatives.
    Participants may be others than those of the group, each gets a folder sub-<id> in OUT.

    Example: stillome bids derivatives/qsirecon results group --trait age
    """
    ids = tuple(label.removeprefix("sub-") for label in participant_label or ())
    session = session_label.removeprefix("ses-") if session_label else None
    if level is Level.participant:
        from stillome.run.participants import apply_to_participants

        with steps(1, quiet=quiet) as step:
            step("Applying the model")
            folders = apply_to_participants(
                out,
                bids_dir,
                motion=motion,
                traits=participants,
                participants=ids,
                reference=reference_of(reference),
                overwrite=overwrite,
                progress=step.progress,
                labels=labels,
                atlas=atlas,
                measure=measure,
                session=session,
            )
        print("\n".join(map(str, folders)))
        return
    from stillome.run import RunSettings
    from stillome.run.participants import find_participants

    table = None
    # A confound is a column of motion or of participants.tsv, which need not be there for it.
    with nullcontext() if trait or keep or group else suppress(FileError):
        if trait or keep or group or confound:
            table = participants or find_participants(bids_dir)
    settings = RunSettings(
        connectomes=(str(bids_dir),),
        motion=tuple(motion or [str(bids_dir)]),
        traits=() if table is None else (str(table),),
        trait=tuple(trait or ()),
        confounds=tuple(confound or ()),
        keep=tuple(keep or ()),
        group=group,
        method=method,
        baselines=baselines_of(baseline),
        reference=reference_of(reference),
        seed=seed,
        labels=labels,
        atlas=atlas,
        measure=measure,
        session=session,
        subjects=ids,
    )
    perform(
        settings,
        out,
        jobs=n_procs,
        report=report,
        resume=resume,
        overwrite=overwrite,
        quiet=quiet,
    )
