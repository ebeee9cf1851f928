"""`stillome predict`: traits of subjects, by a model fitted with traits."""

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
from stillome.exceptions import InputError


def predict(
    model: ModelFolder,
    connectomes: Connectomes,
    motion: MotionIfKnown = None,
    traits: TraitsIfNeeded = None,
    out: Annotated[Path, typer.Option(help="The table to write.")] = Path("predictions.tsv"),
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
    """Predict the traits of subjects by a model that was fitted with traits, in their units.

    Predictions of the subjects of the fit look better than they are; how well a trait can be
    predicted is what compare says.

    Example: stillome predict model --connectomes new --motion new.tsv --out predictions.tsv
    """
    import numpy as np
    import pandas as pd

    from stillome.io.write import write_described_table
    from stillome.methods.fitted import load_fitted

    check_table(out, overwrite=overwrite)
    fitted = load_fitted(model)
    if not fitted.traits:
        raise InputError(f"{model}: was fitted without traits. Fit it with --traits and --trait.")
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
        step("Predicting")
        confounds = confounds_of(fitted, read)
        with fitted.coding.naming(read.cohort.subject_ids):
            predicted = fitted.model.predict(read.cohort.connectomes, confounds=confounds)
    values = np.reshape(predicted, (len(predicted), -1))
    write_described_table(
        out,
        pd.DataFrame(values, index=read.index, columns=list(fitted.traits)),
        description=f"traits predicted by {type(fitted.model).__name__}",
        inputs=[model, *read.files],
        overwrite=overwrite,
    )
    print(out if quiet else f"{', '.join(fitted.traits)} of {len(values)} subjects in {out}")
