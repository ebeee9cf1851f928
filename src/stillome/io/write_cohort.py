"""Writing a whole cohort as files that `read_cohort` and other tools read."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from numpy.typing import NDArray

from stillome.cohort.cohort import Cohort
from stillome.cohort.scan_ids import with_session_column
from stillome.exceptions import InputError
from stillome.io.connectome_data import Holding
from stillome.io.formats import hdf5, matfiles, mrtrix, numpy_stacks
from stillome.io.formats.bids_relmat import write as write_relmat
from stillome.io.formats.text_matrix import write_text_matrix
from stillome.io.recognise import WRITERS
from stillome.io.subject_ids import normalise_id
from stillome.io.write import (
    DESCRIPTION,
    bids_folder,
    write_dataset_description,
    write_described_table,
)
from stillome.persistence import write_table, written_aside

# The name of a form to who writes such files, and what a stack is called.
_STACKS = {
    "npz": (numpy_stacks.NPZ, "connectomes.npz"),
    "hdf5": (hdf5.PRODUCER, "connectomes.h5"),
    "mat": (matfiles.PRODUCER, "connectomes.mat"),
}
FORMS = ("mrtrix", "relmat", *_STACKS)


class CohortFiles(NamedTuple):
    """Paths of the parts of a cohort; None for what it does not have."""

    connectomes: Path
    regions: Path
    motion: Path | None
    participants: Path | None
    lengths: Path | None
    truth: Path | None


def write_cohort(
    folder: str | os.PathLike[str],
    cohort: Cohort,
    *,
    form: str = "mrtrix",
    motion_free: NDArray[Any] | None = None,
    description: str = "connectomes",
    random_state: int | None = None,
    overwrite: bool = False,
) -> CohortFiles:
    """Write a cohort to a folder, as files of a study.

    Parameters
    ----------
    folder : path-like
        Gets ``connectomes/``, ``motion.tsv``, ``participants.tsv`` (traits), ``regions.tsv``,
        ``lengths.csv`` and ``truth/``, each only if it is known, and
        ``dataset_description.json``. It appears whole or not at all.
    cohort : Cohort
    form : {"mrtrix", "relmat", "npz", "hdf5", "mat"}, default="mrtrix"
        One plain matrix per subject, one BIDS relationship matrix per subject, or one stack.
    motion_free : array of shape (n, V, V), optional
        The same scans without motion, for ``truth/``.
    description : str
        What the connectomes are.
    random_state : int, optional
        The seed they were drawn with, for the sidecars.
    overwrite : bool, default=False
        Whether an earlier result may be replaced.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> import pandas as pd
    >>> from stillome.io import read_cohort
    >>> counts = np.array([[[0, 5], [5, 0]], [[0, 3], [3, 0]]])
    >>> cohort = Cohort(["A", "B"], counts, motion=pd.DataFrame({"rms_mm": [0.2, 0.9]}))
    >>> files = write_cohort(Path(tempfile.mkdtemp()) / "study", cohort)
    >>> read_cohort(files.connectomes, motion=files.motion).motion["rms_mm"].tolist()
    [0.2, 0.9]
    """
    if form not in FORMS:
        raise InputError(f"form={form!r}; choose among {', '.join(FORMS)}.")
    with written_aside(folder, overwrite=overwrite, marker=DESCRIPTION) as aside:
        aside.mkdir()
        write_dataset_description(aside, f"stillome: {description}")
        names = tuple(cohort.regions["name"])
        _write_matrices(aside / "connectomes", form, cohort.subject_ids, cohort.connectomes, names)
        if motion_free is not None:
            _write_matrices(aside / "truth", form, cohort.subject_ids, motion_free, names)
        write_table(aside / "regions.tsv", cohort.regions)
        if cohort.lengths is not None:
            write_text_matrix(aside / "lengths.csv", cohort.lengths)
        tables = {"motion": cohort.motion, "participants": cohort.traits}
        for name, table in tables.items():
            if len(table.columns):
                write_described_table(
                    aside / f"{name}.tsv",
                    with_session_column(
                        table.set_axis([f"sub-{normalise_id(i)}" for i in table.index], axis=0)
                    ),
                    description=f"{name} of {description}",
                    random_state=random_state,
                )
    return _places(Path(folder))


def _write_matrices(
    folder: Path,
    form: str,
    subject_ids: Sequence[str],
    matrices: NDArray[Any],
    regions: tuple[str, ...],
) -> None:
    folder.mkdir()
    ids = [normalise_id(subject) for subject in subject_ids]
    if form in _STACKS:
        producer, name = _STACKS[form]
        WRITERS[producer](folder / name, Holding(matrices, regions=regions, subject_ids=tuple(ids)))
        return
    for subject, matrix in zip(ids, matrices, strict=True):
        if form == "mrtrix":
            mrtrix.write(folder / f"sub-{subject}_connectome.csv", Holding(matrix))
            continue
        place = folder / bids_folder(subject) / "dwi"
        place.mkdir(parents=True)
        name = f"sub-{subject}_meas-count_relmat.dense.tsv"
        write_relmat(place / name, Holding(matrix, regions=regions))


def _places(folder: Path) -> CohortFiles:
    def known(name: str) -> Path | None:
        return folder / name if (folder / name).exists() else None

    return CohortFiles(
        folder / "connectomes",
        folder / "regions.tsv",
        known("motion.tsv"),
        known("participants.tsv"),
        known("lengths.csv"),
        known("truth"),
    )
