"""Motion files of FSL: eddy, eddy_quad, FLIRT and MCFLIRT."""

import json
import os
import re
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from stillome.arrays import Floats
from stillome.exceptions import FileError, InputError
from stillome.io.guarded_files import open_item
from stillome.io.motion.rigid import check_rigid
from stillome.io.motion.rotation_units import rotations_to_radians
from stillome.io.text_files import parse_numbers, read_text

PathLike = str | os.PathLike[str]

_LIMIT = 64 * 2**20
_OUTLIER = re.compile(
    r"^Slice (\d+) in scan (\d+) is an outlier with mean (\S+) standard deviations off"
)
_MCFLIRT_FRAME = re.compile(r"^MAT_(\d+)$")


class EddyQuad(NamedTuple):
    """eddy_quad of one subject: motion in mm, outliers in percent, NaN if absent."""

    absolute_mm: float
    relative_mm: float
    outliers_percent: float


def read_eddy_movement_rms(path: PathLike) -> Floats:
    """Read ``*.eddy_movement_rms`` (or ``*.eddy_restricted_movement_rms``).

    Returns
    -------
    numpy.ndarray of shape (N, 2)
        Mean displacement in mm of each volume, relative to the reference and to the previous
        volume. The restricted file leaves out translation along the phase-encode direction.

    Raises
    ------
    FileError
        If the file is something else.
    """
    values = _numbers(path)
    if values.shape[1] != 2:
        raise FileError(
            f"{path}: {values.shape[1]} columns; eddy_movement_rms has 2 (to the reference, to the "
            "previous volume)."
        )
    if (values < 0).any():
        raise FileError(f"{path}: a negative displacement; this is not eddy_movement_rms.")
    return values


def read_eddy_parameters(path: PathLike, *, rotation_unit: str | None = None) -> Floats:
    """Read the movement in ``*.eddy_parameters``; eddy-current terms are left out.

    Parameters
    ----------
    path : path-like
    rotation_unit : {"rad", "deg"}, optional
        Radians by default, refused when too large for a head (E11).

    Returns
    -------
    numpy.ndarray of shape (N, 6)
        Translations in mm, then rotations in rad, relative to the reference.
    """
    values = _numbers(path)
    if values.shape[1] < 6:
        raise FileError(f"{path}: {values.shape[1]} columns; eddy_parameters has 6 or more.")
    return _with_radians(values[:, :6], path, rotation_unit)


def read_eddy_outlier_map(path: PathLike) -> Floats:
    """Read ``*.eddy_outlier_map``, ``*_n_stdev_map`` or ``*_n_sqr_stdev_map``.

    Returns
    -------
    numpy.ndarray of shape (N, slices)
        In the first, 1 where a slice is an outlier; in the others, standard deviations.
    """
    first, _, rest = read_text(path, limit=_LIMIT).partition("\n")
    if not re.match(r"\s*[A-Za-z]", first):
        raise FileError(f"{path}: line 1 is not text; an eddy outlier map starts with a sentence.")
    return parse_numbers(rest.splitlines(), str(path))


def read_eddy_outlier_report(path: PathLike) -> pd.DataFrame:
    """Read ``*.eddy_outlier_report``: one row per outlier slice, none if the file is empty.

    Returns
    -------
    pandas.DataFrame
        ``slice`` and ``scan`` (counted from 0), ``stdev`` (standard deviations of the mean).
    """
    item = open_item(path)
    rows = []
    lines = read_text(path, limit=_LIMIT).splitlines() if item.path.stat().st_size else []
    for number, line in enumerate(lines, start=1):
        found = _OUTLIER.match(line.strip())
        if line.strip() and not found:
            raise FileError(f"{path}: line {number} is not a sentence of an eddy outlier report.")
        if found:
            try:
                rows.append((int(found[1]), int(found[2]), float(found[3])))
            except ValueError as error:
                raise FileError(f"{path}: line {number} is damaged ({error}).") from error
    return pd.DataFrame(rows, columns=["slice", "scan", "stdev"])


def read_eddy_quad(path: PathLike) -> EddyQuad:
    """Read eddy_quad's ``qc.json``. Its motion is rounded to 2 decimals: prefer the rms files."""
    try:
        content = json.loads(read_text(path, limit=_LIMIT))
    except (ValueError, RecursionError) as error:
        raise FileError(f"{path}: cannot be read as JSON ({error}).") from error
    names = ("qc_mot_abs", "qc_mot_rel", "qc_outliers_tot")
    if not isinstance(content, dict) or not any(name in content for name in names):
        raise FileError(f"{path}: no qc_mot_abs or the like; this is not eddy_quad's qc.json.")
    values = [content.get(name) for name in names]
    for name, value in zip(names, values, strict=True):
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if value is not None and not (number and 0 <= value < 1e9):
            raise FileError(f"{path}: {name} is {str(value)[:40]!r}, expected a number ≥ 0.")
    return EddyQuad(*(float("nan") if value is None else float(value) for value in values))


def read_flirt_matrix(path: PathLike, *, rigid: bool = True) -> Floats:
    """Read a 4×4 matrix that FLIRT or MCFLIRT wrote.

    Parameters
    ----------
    path : path-like
        Text; a MATLAB or ITK file of the same suffix is refused.
    rigid : bool, default=True
        Whether to refuse transforms that scale or shear (E12). A matrix of NaN is a frame that
        could not be registered and passes.

    Returns
    -------
    numpy.ndarray of shape (4, 4)
        Rotation and translation (mm) in FSL's coordinates.
    """
    values = _numbers(path)
    if values.shape != (4, 4):
        raise FileError(f"{path}: {values.shape[0]}×{values.shape[1]} numbers; FLIRT writes 4×4.")
    return checked_rigid(values, path) if rigid else values


def read_mcflirt_matrices(folder: PathLike) -> Floats:
    """Read all ``MAT_NNNN`` of an MCFLIRT ``.mat`` folder, shape (N, 4, 4), in order."""
    try:
        found = {
            int(m[1]): p for p in Path(folder).iterdir() if (m := _MCFLIRT_FRAME.match(p.name))
        }
    except OSError as error:
        raise FileError(f"{folder}: cannot be read ({error.strerror or error}).") from error
    if not found:
        raise FileError(f"{folder}: no MAT_0000 or the like in this folder.")
    return np.stack([read_flirt_matrix(found[frame]) for frame in sorted(found)])


def read_mcflirt_parameters(path: PathLike, *, rotation_unit: str | None = None) -> Floats:
    """Read MCFLIRT's ``.par``, in which rotations come first.

    Returns
    -------
    numpy.ndarray of shape (N, 6)
        Translations in mm, then rotations in rad: the order of `read_eddy_parameters`.
    """
    values = _numbers(path)
    if values.shape[1] != 6:
        raise FileError(f"{path}: {values.shape[1]} columns; MCFLIRT's .par has 6.")
    return _with_radians(values[:, [3, 4, 5, 0, 1, 2]], path, rotation_unit)


def read_mcflirt_rms(path: PathLike) -> Floats:
    """Read MCFLIRT's ``*_rel.rms`` (N-1 values) or ``*_abs.rms`` (N values) in mm, shape (n,)."""
    values = _numbers(path)
    if values.shape[1] != 1 or (values < 0).any():
        raise FileError(f"{path}: expected one column of displacements ≥ 0 mm.")
    return values[:, 0]


def checked_rigid(transform: Floats, path: PathLike) -> Floats:
    """Return the transform of a file; raise an error if it is not rigid (E12)."""
    try:
        return check_rigid(transform, name=str(path))
    except InputError as error:
        raise FileError(str(error)) from error


def _numbers(path: PathLike) -> Floats:
    return parse_numbers(read_text(path, limit=_LIMIT).splitlines(), str(path))


def _with_radians(values: Floats, path: PathLike, unit: str | None) -> Floats:
    radians = rotations_to_radians(values[:, 3:], unit=unit, name=str(path))
    return np.hstack([values[:, :3], radians])
