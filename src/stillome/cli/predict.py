"""`stillome predict`: traits of subjects, by a model fitted with traits."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stillome.cli.apply import write_applied
from stillome.cli.cluster_option import runs_on_cluster
from stillome.cli.file_options import reads_files
from stillome.cli.options import (
    Dropped,
    ModelFolder,
    MotionIfKnown,
    Overwrite,
    Quiet,
    TraitsOfModel,
)

if TYPE_CHECKING:
    from stillome.run.study_files import StudyFiles


@runs_on_cluster
@reads_files(without=["lengths"], motion=MotionIfKnown, traits=TraitsOfModel)
def predict(
    model: ModelFolder,
    files: "StudyFiles",
    out: Annotated[Path, typer.Option(help="The table to write.")] = Path("predictions.tsv"),
    dropped: Dropped = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Predict the traits of subjects by a model that was fitted with traits, in their units.

    Predictions of the subjects of the fit are better than those of other subjects. How well a
    trait can be predicted is what compare says.

    Example: stillome predict model --connectomes new --motion new.tsv --out predictions.tsv
    """
    from stillome.cohort.scan_words import rows_counted

    table = write_applied(
        "predictions", model, files, out, dropped=dropped, overwrite=overwrite, quiet=quiet
    )
    print(
        out
        if quiet
        else f"{', '.join(table.columns)} of {rows_counted(list(table.index))} in {out}"
    )
