"""What transform and predict share: apply a fitted model to subjects, and write one table."""

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from stillome.cli.console import steps
from stillome.cli.outputs import check_table
from stillome.exceptions import InputError

if TYPE_CHECKING:
    import pandas as pd

    from stillome.run.study_files import StudyFiles


def write_applied(
    what: Literal["latents", "predictions"],
    model: Path,
    files: "StudyFiles",
    out: Path,
    *,
    dropped: Path | None,
    overwrite: bool,
    quiet: bool,
) -> "pd.DataFrame":
    """Write the latents or the predicted traits of subjects, one row each, and return them.

    Motion that was inferred is written beside them, as ``<name>_inferred_motion.tsv``.

    Raises
    ------
    FileError, InputError
        Before anything is read if `out` cannot be written, or the model knows no traits.
    """
    from stillome.io.write import write_described_table
    from stillome.methods.fitted import load_fitted
    from stillome.persistence import check_replaceable, write_table, written_aside
    from stillome.run.inferred_motion import INFERRED
    from stillome.run.new_subjects import read_new_subjects

    check_table(out, overwrite=overwrite)
    beside = out.with_name(f"{out.stem}_{INFERRED}")
    check_replaceable(beside, overwrite=overwrite)
    fitted = load_fitted(model)
    if what == "predictions" and not fitted.traits:
        raise InputError(
            f"{model}: was fitted without traits. Fit it with `stillome fit … --traits … --trait …`"
        )
    with steps(2, quiet=quiet) as step:
        step("Reading")
        new = read_new_subjects(fitted, files, dropped=dropped, overwrite=overwrite)
        step("Applying the model")
        table = new.latents() if what == "latents" else new.predictions()
    write_described_table(
        out,
        table,
        description=f"{what} by {type(fitted.model).__name__}",
        inputs=[model, *new.study.files],
        overwrite=overwrite,
    )
    if len(new.inferred):
        with written_aside(beside, overwrite=overwrite) as aside:
            write_table(aside, new.inferred)
    return table
