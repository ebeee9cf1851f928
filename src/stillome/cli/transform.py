"""`stillome transform`: the representation of subjects, by a model fitted to these or others."""

from pathlib import Path
from typing import Annotated

import typer

from stillome.cli.console import steps
from stillome.cli.inputs import Files, confounds_of, read_new_subjects
from stillome.cli.options import (
    Atlas,
    Connectomes,
    Dropped,
    Labels,
    Measure,
    ModelFolder,
    MotionIfKnown,
    Overwrite,
    Quiet,
    Session,
    Subjects,
    Symmetrize,
    TraitsIfNeeded,
)
from stillome.cli.outputs import check_table


def transform(
    model: ModelFolder,
    connectomes: Connectomes,
    motion: MotionIfKnown = None,
    traits: TraitsIfNeeded = None,
    out: Annotated[Path, typer.Option(help="The table to write.")] = Path("latents.tsv"),
    labels: Labels = None,
    atlas: Atlas = None,
    measure: Measure = None,
    symmetrize: Symmetrize = None,
    session: Session = None,
    subjects: Subjects = None,
    dropped: Dropped = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Write the latents of subjects, one row each, by a model that was fitted before.

    Nothing is fitted again, so that new subjects can be added to an old study. Motion columns and
    regions are found by the names that the model knows.

    Example: stillome transform model --connectomes new --motion new.tsv --out latents.tsv
    """
    import pandas as pd

    from stillome.io.write import write_described_table
    from stillome.methods.fitted import load_fitted

    check_table(out, overwrite=overwrite)
    fitted = load_fitted(model)
    with steps(2, quiet=quiet) as step:
        step("Reading")
        files = Files(
            connectomes,
            motion,
            traits,
            labels=labels,
            atlas=atlas,
            measure=measure,
            symmetrize=symmetrize,
            session=session,
            subjects=subjects,
            dropped=dropped,
            overwrite=overwrite,
        )
        read = read_new_subjects(fitted, files)
        step("Transforming")
        confounds = confounds_of(fitted, read)
        with fitted.coding.naming(read.cohort.subject_ids):
            latents = fitted.model.transform(read.cohort.connectomes, confounds=confounds)
    names = [f"z_{k + 1}" for k in range(latents.shape[1])]
    write_described_table(
        out,
        pd.DataFrame(latents, index=read.index, columns=names),
        description=f"latents by {type(fitted.model).__name__}",
        inputs=[model, *read.files],
        overwrite=overwrite,
    )
    print(out if quiet else f"{latents.shape[0]} subjects, {latents.shape[1]} latents in {out}")
