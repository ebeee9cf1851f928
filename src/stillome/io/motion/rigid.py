"""Head motion and residual misalignment: rotations, rigid transforms and summaries per subject.

The paper's two measures live here. Head motion is the mean of the displacement relative to the
previous volume (`mean_relative_rms`). Residual misalignment (its Appendices G and I) is the mean
over b=0 frames of the translation's length and of the rotation's angle, the length of its
logarithm on SO(3) (`residual_misalignment`).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stillome.exceptions import InputError

# Matrices are written with six or more decimals; a scanner drifts by less than this.
_RIGID_TOLERANCE = 1e-3
_RADIUS_MM = 50.0


class Misalignment(NamedTuple):
    """Mean translation (mm) and rotation (rad) of the frames that are known; NaN if none is."""

    translation_mm: float
    rotation_rad: float
    n_frames: int


def so3_exp(vectors: ArrayLike) -> NDArray[np.float64]:
    """Return the rotation matrices of rotation vectors: the exponential map of SO(3).

    Parameters
    ----------
    vectors : array-like of shape (..., 3)
        Axis times angle in radians, (x, y, z). The paper's Appendix I lists the same three numbers
        as (z, y, x); the angle, their length, is the same.

    Returns
    -------
    numpy.ndarray of shape (..., 3, 3)

    Examples
    --------
    >>> so3_exp([0, 0, np.pi / 2]).round(12) @ [1, 0, 0]
    array([0., 1., 0.])
    """
    v = _as_floats(vectors, (3,), "vectors")
    angle = np.linalg.norm(v, axis=-1)[..., None, None]
    hat = np.zeros((*v.shape, 3))
    hat[..., 2, 1], hat[..., 0, 2], hat[..., 1, 0] = v[..., 0], v[..., 1], v[..., 2]
    hat -= np.swapaxes(hat, -1, -2)
    # numpy's sinc(x) is sin(πx)/(πx), finite at 0; (1-cos α)/α² is half the square of sinc(α/2).
    first = np.sinc(angle / np.pi)
    second = 0.5 * np.sinc(angle / (2 * np.pi)) ** 2
    return np.asarray(np.eye(3) + first * hat + second * (hat @ hat), dtype=np.float64)


def so3_log(rotations: ArrayLike) -> NDArray[np.float64]:
    """Return the rotation vectors of rotation matrices: the logarithm map of SO(3).

    Parameters
    ----------
    rotations : array-like of shape (..., 3, 3)
        Rotations; see `check_rigid`. NaN gives NaN.

    Returns
    -------
    numpy.ndarray of shape (..., 3)
        Axis times angle, the angle in [0, π] radians. At π both signs are the same rotation.

    Notes
    -----
    The paper's formula α/(2 sin α)(X − Xᵀ) loses its digits near 0 (through arccos) and has none
    at π. The way over the unit quaternion, from its largest part, keeps them everywhere.

    Examples
    --------
    >>> so3_log(so3_exp([0.0, 0.3, 0.0])).round(12)
    array([0. , 0.3, 0. ])
    """
    r = _as_floats(rotations, (3, 3), "rotations")
    diagonal = np.diagonal(r, axis1=-2, axis2=-1)
    trace = diagonal.sum(axis=-1)
    # Row k of q is the quaternion (x, y, z, w) times four times its part k.
    q = np.empty((*r.shape[:-2], 4, 4))
    q[..., :3, :3] = r + np.swapaxes(r, -1, -2)
    vee = (r - np.swapaxes(r, -1, -2))[..., [2, 0, 1], [1, 2, 0]]
    q[..., :3, 3] = q[..., 3, :3] = vee
    q[..., range(3), range(3)] = 1 + 2 * diagonal - trace[..., None]
    q[..., 3, 3] = 1 + trace
    largest = np.argmax(q[..., range(4), range(4)], axis=-1)
    quaternion = np.take_along_axis(q, largest[..., None, None], axis=-2)[..., 0, :]
    quaternion = quaternion / np.linalg.norm(quaternion, axis=-1, keepdims=True)
    quaternion = np.where(quaternion[..., 3:] < 0, -quaternion, quaternion)
    sine = np.linalg.norm(quaternion[..., :3], axis=-1, keepdims=True)
    angle = 2 * np.arctan2(sine, quaternion[..., 3:])
    scale = np.divide(angle, sine, out=np.full_like(sine, 2.0), where=sine != 0)
    return np.asarray(scale * quaternion[..., :3], dtype=np.float64)


def check_rigid(transforms: ArrayLike, *, name: str = "transform") -> NDArray[np.float64]:
    """Judge rigid transforms and give them back as floats.

    Parameters
    ----------
    transforms : array-like of shape (4, 4) or (n, 4, 4)
        Rotation and translation (mm). A frame that holds NaN is a missing frame and passes.
    name : str, default="transform"
        The file, for the message.

    Raises
    ------
    InputError
        If one of them scales, shears, reflects (E12), or is no transform at all.

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
                f"{name}: last row is {frame[3].tolist()}, expected 0 0 0 1; no affine transform."
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


def rigid_displacements(
    transforms: ArrayLike, *, name: str = "transform"
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return ‖t‖ (mm) and the angle ‖log R‖ (rad) of each frame, shapes (n,) and (n,).

    Parameters
    ----------
    transforms : array-like of shape (n, 4, 4)
        Rigid transforms; a frame that holds NaN is missing and gives NaN in both.
    name : str, default="transform"
        The file, for the message.

    Examples
    --------
    >>> rigid_displacements(np.eye(4)[None])
    (array([0.]), array([0.]))
    """
    frames = check_rigid(transforms, name=name).reshape(-1, 4, 4)
    missing = np.isnan(frames).any(axis=(1, 2))
    translation = np.linalg.norm(frames[:, :3, 3], axis=-1)
    rotation = np.linalg.norm(so3_log(frames[:, :3, :3]), axis=-1)
    return np.where(missing, np.nan, translation), np.where(missing, np.nan, rotation)


def residual_misalignment(transforms: ArrayLike, *, name: str = "transform") -> Misalignment:
    """Average translation and rotation of the b=0 frames of one subject (Appendices G, I).

    Parameters
    ----------
    transforms : array-like of shape (n, 4, 4)
        Rigid transforms of the other b=0 frames to the first one. Missing frames (NaN) are left
        out; without any frame the answer is NaN, not 0.
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


def parameters_to_transforms(parameters: ArrayLike) -> NDArray[np.float64]:
    """Return rigid transforms (n, 4, 4) of rows (x, y, z in mm; three angles in rad).

    The angles turn about x, y and z in FSL's sense and order, R = Rx Ry Rz.

    Examples
    --------
    >>> parameters_to_transforms([[1, 2, 3, 0, 0, 0]])[0, :3, 3]
    array([1., 2., 3.])
    """
    values = _as_floats(parameters, (6,), "parameters").reshape(-1, 6)
    transforms = np.tile(np.eye(4), (len(values), 1, 1))
    about = [so3_exp(-values[:, 3 + k, None] * np.eye(3)[k]) for k in range(3)]
    transforms[:, :3, :3] = about[0] @ about[1] @ about[2]
    transforms[:, :3, 3] = values[:, :3]
    return transforms


def framewise_displacement(
    parameters: ArrayLike, *, radius_mm: float = _RADIUS_MM
) -> NDArray[np.float64]:
    """Return Power's framewise displacement in mm, shape (n,); the first is NaN.

    Parameters
    ----------
    parameters : array-like of shape (n, 6)
        Translations in mm, then rotations in rad.
    radius_mm : float, default=50
        The sphere on which rotations are turned into mm.

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
        previous one: its zero is no measurement and is left out. Missing volumes (NaN) are left
        out; if none is known the answer is NaN.

    Examples
    --------
    >>> mean_relative_rms([[0, 0], [0.3, 0.2], [0.5, 0.4]])
    0.30000000000000004
    """
    return mean_of_known(_as_floats(rms, (2,), "rms").reshape(-1, 2)[1:, 1])


def mean_of_known(values: ArrayLike) -> float:
    """Return the mean of the values that are not NaN; NaN (missing, not 0) if there is none."""
    array = np.asarray(values, dtype=np.float64)
    known = array[~np.isnan(array)]
    return float(known.mean()) if known.size else float("nan")


def _as_floats(values: ArrayLike, tail: tuple[int, ...], name: str) -> NDArray[np.float64]:
    try:
        array = np.asarray(values, dtype=np.float64)
    except (ValueError, TypeError) as error:
        raise InputError(f"{name}: cannot be read as numbers ({error}).") from error
    if array.ndim < len(tail) or array.shape[-len(tail) :] != tail:
        expected = ", ".join(["...", *map(str, tail)])
        raise InputError(f"{name}: shape {array.shape}; expected ({expected}).")
    return array
