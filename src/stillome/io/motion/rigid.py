"""Head motion and residual misalignment of one subject, from rigid transforms and parameters.

The two measures of the paper are here. Head motion is the mean displacement relative to the
previous volume (`mean_relative_rms`). Residual misalignment (Appendices G and I of the paper) is
the mean over b=0 frames of the length of the translation and of the rotation angle, which is the
norm of the logarithm on SO(3) (`residual_misalignment`). The angle comes from
`scipy.spatial.transform.Rotation`: the formula of the paper, α/(2 sin α)(X − Xᵀ), loses precision
near 0 and is undefined at π.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.transform import Rotation

from stillome.arrays import Floats
from stillome.exceptions import InputError

# Files have six or more decimals, so rounding changes RᵀR and the determinant by less than this.
_RIGID_TOLERANCE = 1e-3
_RADIUS_MM = 50.0


class Misalignment(NamedTuple):
    """Mean translation (mm) and rotation (rad) of the frames that are known; NaN if none is."""

    translation_mm: float
    rotation_rad: float
    n_frames: int


def check_rigid(transforms: ArrayLike, *, name: str = "transform") -> Floats:
    """Check that transforms are rigid and return them as floats.

    `Rotation.from_matrix` replaces a matrix that scales or shears by the nearest rotation without
    a warning, so this check must come first.

    Parameters
    ----------
    transforms : array-like of shape (4, 4) or (n, 4, 4)
        Rotation and translation (mm). A frame with NaN is a missing frame and is not checked.
    name : str, default="transform"
        The file, for the message.

    Raises
    ------
    InputError
        If one of them scales, shears or reflects (E12), or is not an affine transform.

    Examples
    --------
    >>> check_rigid(np.diag([1.08, 1.08, 1.08, 1.0]), name="flirt.mat")
    Traceback (most recent call last):
    ...
    stillome.exceptions.InputError: flirt.mat: transform is not rigid (det 1.26); rotation
    undefined. Register with 6 degrees of freedom.
    """
    array = _as_floats(transforms, (4, 4), name)
    frames = array.reshape(-1, 4, 4)
    if np.isinf(frames).any():
        raise InputError(f"{name}: transform holds an infinite number. Register this frame again.")
    for frame in frames[~np.isnan(frames).any(axis=(1, 2))]:
        if not np.allclose(frame[3], [0, 0, 0, 1], atol=1e-6):
            raise InputError(
                f"{name}: last row is {frame[3].tolist()}; an affine transform has 0 0 0 1 there."
            )
        rotation = frame[:3, :3]
        with np.errstate(over="ignore", invalid="ignore"):
            determinant = np.linalg.det(rotation)
            shear = np.abs(rotation.T @ rotation - np.eye(3)).max()
        if not (abs(determinant - 1) <= _RIGID_TOLERANCE and shear <= _RIGID_TOLERANCE):
            why = f"det {determinant:.3g}"
            if abs(determinant - 1) <= 0.005:
                why += f", RᵀR differs from 1 by {shear:.2g}"
            raise InputError(
                f"{name}: transform is not rigid ({why}); rotation undefined. "
                "Register with 6 degrees of freedom."
            )
    return array


def rigid_displacements(transforms: ArrayLike, *, name: str = "transform") -> tuple[Floats, Floats]:
    """Return ‖t‖ (mm) and the angle ‖log R‖ (rad) of each frame, shapes (n,) and (n,).

    Parameters
    ----------
    transforms : array-like of shape (n, 4, 4)
        Rigid transforms. A frame with NaN is missing and gives NaN in both.
    name : str, default="transform"
        The file, for the message.

    Examples
    --------
    >>> rigid_displacements(np.eye(4)[None])
    (array([0.]), array([0.]))
    """
    frames = check_rigid(transforms, name=name).reshape(-1, 4, 4)
    known = ~np.isnan(frames).any(axis=(1, 2))
    translation, rotation = np.full((2, len(frames)), np.nan)
    translation[known] = np.linalg.norm(frames[known, :3, 3], axis=-1)
    if known.any():
        rotation[known] = Rotation.from_matrix(frames[known, :3, :3]).magnitude()
    return translation, rotation


def residual_misalignment(transforms: ArrayLike, *, name: str = "transform") -> Misalignment:
    """Average translation and rotation of the b=0 frames of one subject (Appendices G, I).

    Parameters
    ----------
    transforms : array-like of shape (n, 4, 4)
        Rigid transforms of the other b=0 frames to the first one. Missing frames (NaN) are left
        out. Without any frame the result is NaN, not 0.
    name : str, default="transform"
        The file, for the message.

    Examples
    --------
    >>> frame = np.eye(4)
    >>> frame[:3, 3] = [3.0, 4.0, 0.0]
    >>> residual_misalignment([frame])
    Misalignment(translation_mm=5.0, rotation_rad=0.0, n_frames=1)
    """
    translation, rotation = rigid_displacements(transforms, name=name)
    return Misalignment(
        mean_of_known(translation), mean_of_known(rotation), int(np.isfinite(translation).sum())
    )


def parameters_to_transforms(parameters: ArrayLike) -> Floats:
    """Return rigid transforms (n, 4, 4) of rows (x, y, z in mm; three angles in rad).

    The angles are rotations about x, y and z with FSL's sign and order, R = Rx Ry Rz. A missing
    angle (NaN) gives a rotation of NaN.

    Examples
    --------
    >>> parameters_to_transforms([[1, 2, 3, 0, 0, 0]])[0, :3, 3]
    array([1., 2., 3.])
    """
    values = _as_floats(parameters, (6,), "parameters").reshape(-1, 6)
    transforms = np.tile(np.eye(4), (len(values), 1, 1))
    known = ~np.isnan(values[:, 3:]).any(axis=1)
    transforms[~known, :3, :3] = np.nan
    if known.any():
        # FSL turns the coordinates, SciPy the vectors: one is the inverse of the other.
        turned = Rotation.from_euler("xyz", values[known, 3:]).inv()
        transforms[known, :3, :3] = turned.as_matrix()
    transforms[:, :3, 3] = values[:, :3]
    return transforms


def framewise_displacement(parameters: ArrayLike, *, radius_mm: float = _RADIUS_MM) -> Floats:
    """Return Power's framewise displacement in mm, shape (n,); the first is NaN.

    Parameters
    ----------
    parameters : array-like of shape (n, 6)
        Translations in mm, then rotations in rad.
    radius_mm : float, default=50
        Radius of the sphere that converts rotations to mm.

    Examples
    --------
    >>> framewise_displacement([[0, 0, 0, 0, 0, 0], [0.1, 0, -0.2, 0, 0.002, 0]])
    array([nan, 0.4])
    """
    values = _as_floats(parameters, (6,), "parameters").reshape(-1, 6)
    steps = np.abs(np.diff(values, axis=0)) @ np.array([1, 1, 1, radius_mm, radius_mm, radius_mm])
    return np.concatenate([np.full(min(1, len(values)), np.nan), steps])


def mean_relative_rms(rms: ArrayLike) -> float:
    """Return the paper's head motion in mm: the mean of column 2, over volumes 2 to N.

    Parameters
    ----------
    rms : array-like of shape (N, 2)
        Displacement relative to the reference and to the previous volume. The first volume has no
        previous one, so its zero is not a measurement and is left out. Missing volumes (NaN) are
        left out. If all are missing the result is NaN.

    Examples
    --------
    >>> mean_relative_rms([[0, 0], [0.3, 0.2], [0.5, 0.4]])
    0.30000000000000004
    """
    return mean_of_known(_as_floats(rms, (2,), "rms").reshape(-1, 2)[1:, 1])


def mean_of_known(values: ArrayLike) -> float:
    """Return the mean of the values that are not NaN, or NaN if there is none."""
    array = np.asarray(values, dtype=np.float64)
    known = array[~np.isnan(array)]
    return float(known.mean()) if known.size else float("nan")


def _as_floats(values: ArrayLike, tail: tuple[int, ...], name: str) -> Floats:
    try:
        array = np.asarray(values, dtype=np.float64)
    except (ValueError, TypeError) as error:
        raise InputError(f"{name}: cannot be read as numbers ({error}).") from error
    if array.ndim < len(tail) or array.shape[-len(tail) :] != tail:
        expected = ", ".join(["...", *map(str, tail)])
        raise InputError(f"{name}: shape {array.shape}; expected ({expected}).")
    return array
