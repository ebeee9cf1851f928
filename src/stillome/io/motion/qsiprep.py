"""Motion files of QSIPrep: confounds per volume, and one row of image quality."""

import os
from pathlib import Path

import numpy as np
import pandas as pd

from stillome.arrays import Floats
from stillome.exceptions import FileError, InputError
from stillome.io.find_subjects import subjects_of
from stillome.io.motion.rotation_units import rotations_to_radians
from stillome.io.subject_ids import normalise_id
from stillome.io.tables.delimited import read_cells
from stillome.io.tables.phenotypes import read_table, to_numbers

PARAMETERS = ("trans_x", "trans_y", "trans_z", "rot_x", "rot_y", "rot_z")
FRAMEWISE = "framewise_displacement"


def read_qsiprep_confounds(
    path: str | os.PathLike[str], *, rotation_unit: str | None = None
) -> pd.DataFrame:
    """Read ``*_desc-confounds_timeseries.tsv`` or ``*_confounds.tsv``.

    Parameters
    ----------
    path : path-like
    rotation_unit : {"rad", "deg"}, optional
        As in `stillome.io.motion.fsl.read_eddy_parameters`.

    Returns
    -------
    pandas.DataFrame
        One row per volume: ``framewise_displacement`` (mm; NaN in the first) and, where they are
        there, ``trans_x`` … ``trans_z`` (mm) and ``rot_x`` … ``rot_z`` (rad).

    Raises
    ------
    FileError, InputError
        If the file has no framewise displacement, or a cell is not a number.
    """
    cells, _ = read_cells(path)
    if FRAMEWISE not in cells:
        raise FileError(
            f"{path}: no column {FRAMEWISE!r} among {list(cells.columns)[:8]}; "
            "these are not QSIPrep's confounds."
        )
    names = [FRAMEWISE, *(name for name in PARAMETERS if name in cells)]
    table = pd.DataFrame({name: to_numbers(cells[name], path) for name in names})
    if (table[FRAMEWISE] < 0).any():
        raise FileError(f"{path}: a negative framewise displacement.")
    for name in names[1:]:
        if name.startswith("rot_"):
            table[name] = rotations_to_radians(table[name], unit=rotation_unit, name=str(path))
    return table


def confound_parameters(confounds: pd.DataFrame) -> Floats | None:
    """Return the six parameters (N, 6) of QSIPrep's confounds (mm, rad), or None without them."""
    if not all(name in confounds for name in PARAMETERS):
        return None
    return confounds[list(PARAMETERS)].to_numpy(dtype=np.float64)


def read_image_qc(
    path: str | os.PathLike[str], *, session: str | None = None, root: Path | None = None
) -> pd.DataFrame:
    """Read ``*_desc-ImageQC_dwi.csv`` or ``*_desc-image_qc.tsv``, or several rows of them.

    Parameters
    ----------
    path : path-like
    session : str, optional
        The session whose rows are wanted.
    root : pathlib.Path, optional
        The folder that was searched. Where the table has one row and no ids, the path below this
        folder names the subject.

    Returns
    -------
    pandas.DataFrame
        One row per subject; ``mean_fd`` and ``max_fd`` in mm, everything else as QSIPrep names it.

    Raises
    ------
    FileError, InputError
        If there is no ``mean_fd``, or a subject has several rows (E9).
    """
    cells, _ = read_cells(path)
    if "mean_fd" not in cells:
        raise FileError(f"{path}: no column 'mean_fd'; this is not QSIPrep's image quality.")
    if any(name in cells for name in ("subject_id", "participant_id")):
        table = read_table(path, session=session)
    elif len(cells) == 1:
        subject = normalise_id(subjects_of([Path(path)], root)[0])
        index = pd.Index([subject], name="participant_id", dtype=object)
        table = to_numbers(cells["mean_fd"], path).to_frame().set_axis(index, axis=0)
    else:
        raise FileError(f"{path}: several rows without subject_id. Name the subjects.")
    values = table["mean_fd"]
    if not pd.api.types.is_numeric_dtype(values) or (values < 0).any() or np.isinf(values).any():
        raise InputError(f"{path}: mean_fd has a value that is not a displacement in mm.")
    return table
