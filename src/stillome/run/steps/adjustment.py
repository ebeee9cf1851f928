"""Adjust all subjects to the reference."""

from dataclasses import replace
from typing import Any

import numpy as np

from stillome.cohort.stored_matrices import NpyRows, some_matrices
from stillome.cohort.validation.sliced import is_sliced
from stillome.exceptions import FileError
from stillome.io.write import write_connectomes
from stillome.methods.answer_place import dtype_of_adjusted, reads_slices
from stillome.run.folder import RunFolder
from stillome.run.inputs import source_data
from stillome.run.parallel import Workers


def _write_adjusted(folder: RunFolder) -> None:
    """Write adjusted connectomes for the report; those of a large cohort as they are made."""
    if folder.has("adjusted"):  # a run that was stopped later in this step
        return
    X, at = folder.cohort.connectomes, {"reference": folder.reference}
    if not (is_sliced(X) and reads_slices(folder.model)):
        adjusted = folder.model.adjust(X, confounds=folder.confounds, **at)
        folder.write_array("adjusted", adjusted)
        return
    model: Any = folder.model
    place = folder.place("adjusted")
    part = place.with_name("adjusted.part.npy")
    try:
        # Subjects are written in order, so that a run that is stopped continues after the last.
        with NpyRows(part, X.shape, dtype_of_adjusted(X), continues=True) as out:
            left = np.arange(out.n_before, len(X))
            if len(left):
                some = some_matrices(X, left)
                model.adjust(some, confounds=folder.confounds[left], **at, out=out)
        part.replace(place)
    except OSError as error:
        raise FileError(
            f"{part}: cannot be written ({error.strerror or error}). Mend that, and resume the run."
        ) from error
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
