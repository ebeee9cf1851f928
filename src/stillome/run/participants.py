"""Apply the model of a group run to participants, seen or not; each gets a folder of its own."""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from stillome.cohort.reference import reference_of_run
from stillome.exceptions import FileError
from stillome.io.connectome_data import ConnectomeData
from stillome.io.connectomes import read_connectomes
from stillome.io.motion.motion_files import find_motion_files
from stillome.io.motion.summary import read_motion
from stillome.io.tables.phenotypes import read_traits
from stillome.io.write import write_connectomes, write_described_table
from stillome.methods.fitted import FittedModel, load_fitted
from stillome.persistence import check_replaceable, written_aside
from stillome.progress import Progress, say_nothing


class Applied(NamedTuple):
    """What a fitted model says of subjects, in their order."""

    latents: NDArray[np.float64]  # (n, K)
    adjusted: NDArray[Any]  # (n, V, V), regions as they were read
    predicted: NDArray[np.float64] | None  # (n, T)


def apply_to_participants(
    out: str | os.PathLike[str],
    connectomes: str | os.PathLike[str],
    *,
    motion: Sequence[str] | None = None,
    traits: str | os.PathLike[str] | None = None,
    participants: Sequence[str] = (),
    reference: Sequence[float | str] = (0.0,),
    overwrite: bool = False,
    progress: Progress = say_nothing,
    **reading: Any,
) -> list[Path]:
    """Adjust participants with the model that a group run left in `out`.

    Parameters
    ----------
    out : path-like
        A run folder; gets ``sub-<id>/dwi`` with the adjusted connectome, the latents and, if the
        model knows traits, their predictions.
    connectomes : path-like
        As for `read_connectomes`.
    motion : sequence of path-like, optional
        By default what is found beside the connectomes. Of whom nothing is found, motion is
        inferred if the method can.
    traits : path-like, optional
        The table with sites and the like, if the model removes them; by default participants.tsv
        in or above `connectomes`.
    participants : sequence of str
        Ids of those wanted; by default everybody.
    reference : sequence of float or str
        What to adjust to, as for `RunSettings`.
    overwrite : bool, default=False
        Whether earlier results of the same participants may be replaced.
    progress : callable
        Called with (participants written, participants in all).
    **reading
        Further arguments of `read_connectomes`.

    Returns
    -------
    list of pathlib.Path
        The folders, one for each participant.
    """
    out = Path(out)
    if not (out / "model").is_dir():
        raise FileError(f"{out}: no fitted model in it. Run the level group first.")
    fitted = load_fitted(out / "model")
    data = read_connectomes(connectomes, subjects=list(participants) or None, **reading)
    fitted.warn_of_other_measure(data.measure)
    folders = [out / f"sub-{subject}" for subject in data.subject_ids]
    for folder, subject in zip(folders, data.subject_ids, strict=True):
        check_replaceable(folder, overwrite=overwrite, marker=_latents_of(subject))
    session = reading.get("session")
    known = _motion_of(data, motion or [os.fspath(connectomes)], session)
    others = None
    if fitted.coding.others:
        place = traits or find_participants(connectomes)
        others = read_traits(place, columns=fitted.coding.others, session=session)
        others = others.reindex(list(data.subject_ids))
    confounds = fitted.confounds_of(known, others)
    with fitted.coding.naming(data.subject_ids):
        applied = _apply(fitted, data, confounds, reference)
    for i, folder in enumerate(folders):
        _write(folder, fitted, data, applied, i, overwrite)
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
        f"{folder}: no participants.tsv in it or above it. Name it with --participants."
    )


def _motion_of(
    data: ConnectomeData, places: Sequence[str], session: str | None
) -> pd.DataFrame | None:
    if not find_motion_files(list(places)):
        return None
    return read_motion(places, session=session).reindex(list(data.subject_ids))


def _apply(
    fitted: FittedModel,
    data: ConnectomeData,
    confounds: NDArray[np.float64] | None,
    reference: Sequence[float | str],
) -> Applied:
    order = fitted.order_of(list(data.regions["name"]))
    X = np.asarray(data.connectomes)[:, order][:, :, order]
    level = reference_of_run(fitted.coding, reference)
    adjusted = fitted.model.adjust(X, confounds=confounds, reference=level)
    back = np.argsort(order)
    predicted = None
    if fitted.traits:
        predicted = fitted.model.predict(X, confounds=confounds).reshape(len(X), -1)
    return Applied(
        fitted.model.transform(X, confounds=confounds), adjusted[:, back][:, :, back], predicted
    )


def _latents_of(subject: str) -> str:
    return f"dwi/sub-{subject}_desc-stillome_latents.tsv"


def _write(
    folder: Path,
    fitted: FittedModel,
    data: ConnectomeData,
    applied: Applied,
    i: int,
    replaces: bool,
) -> None:
    subject = data.subject_ids[i]
    files = data.source.files
    own = replace(
        data,
        subject_ids=(subject,),
        connectomes=data.connectomes[i : i + 1],
        source=replace(data.source, files=files[i : i + 1] if len(files) > 1 else files),
    )
    with written_aside(folder, overwrite=replaces, marker=_latents_of(subject)) as aside:
        dataset = aside.parent / "dataset"
        write_connectomes(dataset, own, applied.adjusted[i : i + 1], form="relmat")
        (dataset / f"sub-{subject}").rename(aside)
        names = [f"z_{k + 1}" for k in range(applied.latents.shape[1])]
        tables = {"latents": pd.DataFrame(applied.latents[i : i + 1], columns=names)}
        if applied.predicted is not None:
            predicted = pd.DataFrame(applied.predicted[i : i + 1], columns=list(fitted.traits))
            tables["predictions"] = predicted
        for name, table in tables.items():
            write_described_table(
                aside / _latents_of(subject).replace("latents", name),
                table.set_axis([subject], axis=0),
                description=f"{name} by the model of the group",
                inputs=own.source.files,
            )
