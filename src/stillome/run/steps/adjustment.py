"""Adjust all subjects to the reference."""

from dataclasses import replace

from stillome.io.write import write_connectomes
from stillome.run.folder import RunFolder
from stillome.run.inputs import source_data
from stillome.run.parallel import Workers


def adjust_step(folder: RunFolder, workers: Workers) -> None:
    """Write the connectomes of all subjects at the reference, for the report and for the user."""
    settings = folder.settings
    adjusted = folder.model.adjust(
        folder.cohort.connectomes, confounds=folder.confounds, reference=folder.reference
    )
    folder.write_array("adjusted", adjusted)
    data = source_data(folder)
    if settings.form == "relmat":
        # run.json has the hashes of all files, which need not be there any more.
        data = replace(data, source=replace(data.source, files=()))
    at = ", ".join(f"{name} = {value}" for name, value in folder.reference_said.items())
    write_connectomes(
        folder.place("connectomes"),
        data,
        adjusted,
        form=settings.form,
        random_state=settings.seed,
        description=f"motion-adjusted connectomes ({settings.method}, at {at})",
        overwrite=True,
    )
