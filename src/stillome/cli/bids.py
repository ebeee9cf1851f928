"""`stillome bids`: a run as a BIDS App, fitted to a group and applied to participants."""

from contextlib import nullcontext, suppress
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from stillome.cli.console import steps
from stillome.cli.file_options import study_files
from stillome.cli.given_words import baselines_of, parameters_of, reference_of
from stillome.cli.options import (
    Atlas,
    Baseline,
    Confound,
    Group,
    Keep,
    Labels,
    Lengths,
    Measure,
    Method,
    OverwriteRun,
    Quiet,
    Reference,
    Repeats,
    Report,
    Resume,
    Seed,
    Set,
    Symmetrize,
    Trait,
    Verbose,
    Weight,
    WithSubjects,
)
from stillome.cli.run import perform
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
        typer.Option(
            "--participant-label",
            "--subjects",
            "--subject",
            help="An id, with or without sub-, or a file of ids; repeat for several.",
        ),
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
    parameters: Set = None,
    invariance_weight: Weight = None,
    baseline: Baseline = ["edgewise"],  # noqa: B006 - typer shows it, nobody changes it
    reference: Reference = ["0"],  # noqa: B006
    repeats: Repeats = 2,
    seed: Seed = 0,
    atlas: Atlas = None,
    measure: Measure = None,
    labels: Labels = None,
    lengths: Lengths = None,
    symmetrize: Symmetrize = None,
    n_procs: Annotated[
        int,
        typer.Option("--n-procs", "--nprocs", "--n_cpus", min=1, max=1000, help="Fits at a time."),
    ] = 2,
    skip_bids_validation: Annotated[
        bool, typer.Option("--skip-bids-validation", help="Accepted; nothing is validated.")
    ] = False,
    report: Report = True,
    with_subjects: WithSubjects = False,
    resume: Resume = False,
    overwrite: OverwriteRun = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Run as a BIDS App: group fits a model to everybody, participant applies it to subjects.

    Finds connectomes, eddy's or QSIPrep's motion and participants.tsv in the derivatives.
    Participants may be others than those of the group, each gets a folder sub-<id> in OUT.

    Example: stillome bids derivatives/qsirecon results group --trait age
    """
    from stillome.io.subject_ids import bare_session

    files = study_files(
        connectomes=[str(bids_dir)],
        motion=motion,
        traits=None if participants is None else [str(participants)],
        labels=labels,
        lengths=lengths,
        atlas=atlas,
        measure=measure,
        symmetrize=symmetrize,
        session=bare_session(session_label) if session_label else None,
        subjects=participant_label,
    )
    if level is Level.participant:
        from stillome.run.participants import apply_to_participants

        with steps(1, quiet=quiet) as step:
            step("Applying the model")
            folders = apply_to_participants(
                out,
                files,
                reference=reference_of(reference),
                overwrite=overwrite,
                progress=step.progress,
            )
        print("\n".join(map(str, folders)))
        return
    from stillome.run import RunSettings
    from stillome.run.participants import find_participants

    given = vars(files) | {"motion": files.motion or (str(bids_dir),)}
    columns = bool(trait or keep or group)
    if not (columns or confound):
        given["traits"] = ()
    elif not files.traits:
        # A confound may be a column of motion; participants.tsv need not be there for it.
        with nullcontext() if columns else suppress(FileError):
            given["traits"] = (str(find_participants(bids_dir)),)
    settings = RunSettings(
        **given,
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
        with_subjects=with_subjects,
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
