"""Head motion in the tables of the ABCD study, whose columns change names between releases."""

import os
import warnings

import numpy as np
import pandas as pd

from stillome.exceptions import FileError, InputError, StillomeWarning
from stillome.io.motion.rotation_units import rotations_to_radians
from stillome.io.tables.delimited import read_cells
from stillome.io.tables.phenotypes import read_table

# What the tables call mean framewise displacement, translation and rotation.
MOTION_COLUMNS = {
    "4": ("dmri_dti_meanmotion", "dmri_dti_meantrans", "dmri_dti_meanrot"),
    "5": ("dmri_meanmotion", "dmri_meantrans", "dmri_meanrot"),
    "6": (
        "mr_y_qc__mot__dmri__mot_mean",
        "mr_y_qc__mot__dmri__trans_mean",
        "mr_y_qc__mot__dmri__rot_mean",
    ),
}


def abcd_release(columns: "pd.Index[str] | list[str]") -> str | None:
    """Return the release ("4", "5" or "6") whose motion columns are there, or None.

    Examples
    --------
    >>> abcd_release(["src_subject_id", "eventname", "dmri_meanmotion"])
    '5'
    """
    for release, names in MOTION_COLUMNS.items():
        if names[0] in columns:
            return release
    return None


def read_abcd_motion(
    path: str | os.PathLike[str],
    *,
    session: str | None = None,
    rotation_unit: str | None = None,
) -> pd.DataFrame:
    """Read head motion of the diffusion scan from an ABCD table of release 4, 5 or 6.

    Parameters
    ----------
    path : path-like
    session : str, optional
        The event, such as ``baseline_year_1_arm_1``; needed where subjects have several.
    rotation_unit : {"rad", "deg"}, optional
        By default what the table's description says; the study's pipeline reports degrees, which
        are taken where it says nothing.

    Returns
    -------
    pandas.DataFrame
        Index ``participant_id``; ``fd_mm``, and ``translation_mm``, ``rotation_rad`` where they
        are there. ``attrs["release"]`` is the release.

    Raises
    ------
    FileError, InputError
        If there are no motion columns, or a subject has several rows (E9).

    Warns
    -----
    StillomeWarning
        If rotations were taken as degrees although nothing in the table says so.
    """
    release = abcd_release(read_cells(path)[0].columns)
    if release is None:
        known = [names[0] for names in MOTION_COLUMNS.values()]
        raise FileError(f"{path}: none of ABCD's motion columns {known}. Give the table with them.")
    table = read_table(path, session=session)
    motion, translation, rotation = MOTION_COLUMNS[release]
    answer = pd.DataFrame({"fd_mm": _lengths(table, motion, path)}, index=table.index)
    if translation in table:
        answer["translation_mm"] = _lengths(table, translation, path)
    if rotation in table:
        unit = rotation_unit or _unit_in(table.attrs["descriptions"].get(rotation, ""))
        if unit is None:
            unit = "deg"
            warnings.warn(
                f"{path}: {rotation} taken as degrees, as the study's pipeline reports it; "
                "pass rotation_unit=... to override.",
                StillomeWarning,
                stacklevel=2,
            )
        angles = _lengths(table, rotation, path)
        answer["rotation_rad"] = rotations_to_radians(angles, unit=unit, name=str(path))
    answer.attrs = {"release": release, "source": str(path)}
    return answer


def _lengths(table: pd.DataFrame, name: str, path: str | os.PathLike[str]) -> "pd.Series[float]":
    values = table[name]
    if not pd.api.types.is_numeric_dtype(values):
        raise InputError(f"{path}: {name} holds something that is not a number. Correct it.")
    bad = (values < 0) | np.isinf(values)
    if bad.any():
        raise InputError(
            f"{path}: {name} is {values[bad].iloc[0]:g} for subject {values.index[bad][0]!r}; "
            "motion must be ≥ 0. Make it n/a if it is missing."
        )
    return values


def _unit_in(description: str) -> str | None:
    text = description.lower()
    if "deg" in text:
        return "deg"
    return "rad" if "radian" in text else None
