"""Adjust all subjects to the reference."""

from dataclasses import replace
from typing import Any

from stillome.cohort.stored_matrices import NpyRows
from stillome.cohort.validation.sliced import is_sliced
from stillome.io.write import write_connectomes
from stillome.methods.answer_place import dtype_of_adjusted, reads_slices
from stillome.persistence import written_aside
from stillome.run.folder import RunFolder
from stillome.run.inputs import source_data
from stillome.run.parallel import Workers


def _write_adjusted(folder: RunFolder) -> None:
    """Write adjusted connectomes for the report; those of a large cohort as they are made."""
    X, at = folder.cohort.connectomes, {"reference": folder.reference}
    if not (is_sliced(X) and reads_slices(folder.model)):
        adjusted = folder.model.adjust(X, confounds=folder.confounds, **at)
        folder.write_array("adjusted", adjusted)
        return
    model: Any = folder.model
    place = written_aside(folder.place("adjusted"), overwrite=True)
    with place as aside, NpyRows(aside, X.shape, dtype_of_adjusted(X)) as out:
        model.adjust(X, confounds=folder.confounds, **at, out=out)
    folder.forget("adjusted")


def adjust_step(folder: RunFolder, workers: Workers) -> None:
    """Write the connectomes of all subjects at the reference, for the report and for the user."""
    settings = folder.settings
    _write_adjusted(folder)
    adjusted = folder.adjusted
    data = source_data(folder)
    form = settings.form
    if is_sliced(adjusted) and len(data.source.files) == 1:
        form = "same"  # a large store becomes a store, and not a file for each of its subjects
    if form == "relmat":
        # run.json has the hashes of all files, which need not be there any more.
        data = replace(data, source=replace(data.source, files=()))
    at = ", ".join(f"{name} = {value}" for name, value in folder.reference_said.items())
    write_connectomes(
        folder.place("connectomes"),
        data,
        adjusted,
        form=form,
        random_state=settings.seed,
        description=f"motion-adjusted connectomes ({settings.method}, at {at})",
        overwrite=True,
    )
