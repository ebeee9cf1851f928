"""`stillome transform`: the representation of subjects, by a model fitted to these or others."""

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
def transform(
    model: ModelFolder,
    files: "StudyFiles",
    out: Annotated[Path, typer.Option(help="The table to write.")] = Path("latents.tsv"),
    dropped: Dropped = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Write the latents of subjects, one row each, by a model that was fitted before.

    Nothing is fitted again, so that new subjects can be added to an old study. Motion columns and
    regions are found by the names that the model knows.

    Example: stillome transform model --connectomes new --motion new.tsv --out latents.tsv
    """
    from stillome.cohort.scan_words import rows_counted

    table = write_applied(
        "latents", model, files, out, dropped=dropped, overwrite=overwrite, quiet=quiet
    )
    print(out if quiet else f"{rows_counted(list(table.index))}, {table.shape[1]} latents in {out}")
