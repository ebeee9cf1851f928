"""A simulated cohort as the files a study would have, with the truth beside them."""

import os
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from stillome.io import mrtrix
from stillome.io.record import Holding
from stillome.persistence import write_table, written_aside
from stillome.pipeline.settings import RunSettings
from stillome.simulate.record import SimulatedCohort

_PARTICIPANTS = "participants.tsv"


def write_simulated(
    simulated: SimulatedCohort, folder: str | os.PathLike[str], *, overwrite: bool = False
) -> RunSettings:
    """Write a simulated cohort as MRtrix3 would, with tables of motion and traits.

    Parameters
    ----------
    simulated : SimulatedCohort
    folder : path-like
        Gets ``connectomes/`` and ``motion_free/`` (one CSV per subject), ``lengths.csv`` (mm),
        ``regions.tsv``, ``motion.tsv`` and ``participants.tsv``.
    overwrite : bool, default=False
        Whether an earlier one may be replaced.

    Returns
    -------
    RunSettings
        What to ask of `run_pipeline` to analyse it.

    Raises
    ------
    FileError
        If something stands there that may not be replaced.

    Examples
    --------
    >>> import tempfile
    >>> from stillome.simulate import simulate_cohort
    >>> settings = write_simulated(simulate_cohort(3), Path(tempfile.mkdtemp(), "input"))
    >>> len(list(Path(settings.connectomes[0]).iterdir())), settings.confounds
    (3, ('rms_mm',))
    """
    cohort, place = simulated.cohort, Path(folder)
    with written_aside(place, overwrite=overwrite, marker=_PARTICIPANTS) as aside:
        aside.mkdir()
        _write_matrices(aside / "connectomes", list(cohort.subject_ids), cohort.connectomes)
        _write_matrices(aside / "motion_free", list(cohort.subject_ids), simulated.motion_free)
        if cohort.lengths is not None:
            mrtrix.write(aside / "lengths.csv", Holding(cohort.lengths))
        write_table(aside / "regions.tsv", cohort.regions)
        for name, table in (("motion.tsv", cohort.motion), (_PARTICIPANTS, cohort.traits)):
            write_table(aside / name, table.rename_axis("participant_id"), index=True)
    return RunSettings(
        connectomes=(str(place / "connectomes"),),
        motion=(str(place / "motion.tsv"),),
        traits=(str(place / _PARTICIPANTS),),
        trait=tuple(cohort.traits.columns),
        confounds=simulated.confound_columns,
        labels=str(place / "regions.tsv"),
        lengths=None if cohort.lengths is None else str(place / "lengths.csv"),
        truth=(str(place / "motion_free"),),
    )


def _write_matrices(folder: Path, subject_ids: list[str], matrices: NDArray[Any]) -> None:
    folder.mkdir()
    for subject, matrix in zip(subject_ids, matrices, strict=True):
        mrtrix.write(folder / f"{subject}_connectome.csv", Holding(matrix))
