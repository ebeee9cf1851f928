"""Apply the model of a group run to participants; each gets a folder of its own."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
from numpy.typing import NDArray

from stillome.cohort.reference import GivenReference
from stillome.exceptions import FileError
from stillome.io.connectome_data import ConnectomeData
from stillome.io.motion.motion_files import find_motion_files
from stillome.io.write import bids_folder, write_connectomes, write_described_table
from stillome.methods.fitted import load_fitted
from stillome.persistence import check_replaceable, write_table, written_aside
from stillome.progress import Progress, say_nothing
from stillome.run.new_subjects import read_new_subjects
from stillome.run.study_files import StudyFiles


def apply_to_participants(
    out: str | os.PathLike[str],
    files: StudyFiles,
    *,
    reference: GivenReference = (0.0,),
    overwrite: bool = False,
    progress: Progress = say_nothing,
) -> list[Path]:
    """Adjust participants with the model that a group run left in `out`.

    Parameters
    ----------
    out : path-like
        A run folder; gets ``sub-<id>/dwi`` with the adjusted connectome, the latents, if the
        model knows traits, their predictions, and if motion was inferred, its value.
    files : StudyFiles
        The participants, of the group or not. Motion is by default what is found beside the
        connectomes; if nothing is found, a method may infer it. Traits are needed if the model
        removes a column of them (site); by default participants.tsv in or above the connectomes.
    reference : sequence of float, or mapping of str to float or str
        What to adjust to, as for `RunSettings`.
    overwrite : bool, default=False
        Whether earlier results of the same participants may be replaced.
    progress : callable
        Called with (participants written, participants in all).

    Returns
    -------
    list of pathlib.Path
        The folders, one for each participant.

    Examples
    --------
    A folder without a fitted model is refused; `stillome bids` shows the two levels.

    >>> import tempfile
    >>> from stillome import StillomeError
    >>> try:
    ...     apply_to_participants(tempfile.mkdtemp(), StudyFiles(connectomes=("counts",)))
    ... except StillomeError as error:
    ...     print(str(error).split(": ", 1)[1])
    no fitted model in it. Run the level group first.
    """
    out = Path(out)
    if not (out / "model").is_dir():
        raise FileError(f"{out}: no fitted model in it. Run the level group first.")
    fitted = load_fitted(out / "model")
    new = read_new_subjects(fitted, _found_beside(files, bool(fitted.coding.others)))
    data = new.study.data
    folders = [out / bids_folder(subject) for subject in data.subject_ids]
    for folder, subject in zip(folders, data.subject_ids, strict=True):
        check_replaceable(folder, overwrite=overwrite, marker=_latents_of(subject))
    tables = {"latents": new.latents()}
    if fitted.traits:
        tables["predictions"] = new.predictions()
    adjusted = new.adjusted(reference)
    for i, folder in enumerate(folders):
        own = {name: table.iloc[i : i + 1] for name, table in tables.items()}
        inferred = new.inferred[new.inferred["participant_id"] == data.subject_ids[i]]
        _write(folder, _only(data, i), adjusted[i : i + 1], own, inferred, overwrite)
        progress(i + 1, len(folders))
    return folders


def find_participants(folder: str | os.PathLike[str]) -> Path:
    """Return ``participants.tsv`` of a derivative, or of the dataset it was derived from.

    Raises
    ------
    FileError
        If there is none.
    """
    place = Path(folder).resolve()
    for parent in (place, place.parent, place.parent.parent):
        if (parent / "participants.tsv").is_file():
            return parent / "participants.tsv"
    raise FileError(
        f"{folder}: no participants.tsv in it or above it. Give that table with traits=..."
    )


def _found_beside(files: StudyFiles, needs_traits: bool) -> StudyFiles:
    """Fill in the motion and the traits that were not named, where they can be found."""
    if not files.motion and find_motion_files(list(files.connectomes)):
        files = replace(files, motion=files.connectomes)
    if needs_traits and not files.traits:
        files = replace(files, traits=(str(find_participants(files.connectomes[0])),))
    return files


def _latents_of(subject: str) -> str:
    return f"dwi/sub-{subject}_desc-stillome_latents.tsv"


def _only(data: ConnectomeData, i: int) -> ConnectomeData:
    """Return the record of one subject."""
    files = data.source.files
    return replace(
        data,
        subject_ids=data.subject_ids[i : i + 1],
        connectomes=data.connectomes[i : i + 1],
        source=replace(data.source, files=files[i : i + 1] if len(files) > 1 else files),
    )


def _write(
    folder: Path,
    data: ConnectomeData,
    adjusted: NDArray[Any],
    tables: dict[str, pd.DataFrame],
    inferred: pd.DataFrame,
    replaces: bool,
) -> None:
    (subject,) = data.subject_ids
    folder.parent.mkdir(parents=True, exist_ok=True)
    with written_aside(folder, overwrite=replaces, marker=_latents_of(subject)) as aside:
        dataset = aside.parent / "dataset"
        write_connectomes(dataset, data, adjusted, form="relmat")
        (dataset / bids_folder(subject)).rename(aside)
        for name, table in tables.items():
            write_described_table(
                aside / _latents_of(subject).replace("latents", name),
                table,
                description=f"{name} by the model of the group",
                inputs=data.source.files,
            )
        if len(inferred):
            write_table(aside / "dwi" / f"sub-{subject}_desc-inferred_motion.tsv", inferred)
