"""Transforms of ITK and ANTs, and telling the three kinds of ``.mat`` apart by content.

ITK stores a matrix A, a translation t and a centre of rotation c, in LPS coordinates:
y = A(x − c) + t + c. They are answered as 4×4 matrices in RAS, as FSL and nibabel have them.
"""

import os
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from stillome.exceptions import FileError
from stillome.io.formats.mat4 import is_mat4, load_mat4
from stillome.io.guarded_files import decoded, open_item, read_bytes
from stillome.io.motion.fsl import checked_rigid
from stillome.io.motion.rigid import so3_exp
from stillome.io.text_files import parse_numbers

_LIMIT = 2**20
_TEXT_MAGIC = b"#Insight Transform File"
# A MAT v4 file starts with 20 bytes of sizes and the name of its first variable.
_MAT4_NAME_END = 20 + 64
_FLIP = np.diag([-1.0, -1.0, 1.0])
_MATRIX_KINDS = ("AffineTransform", "MatrixOffsetTransformBase", "Rigid3DTransform")


def mat_kind(path: str | os.PathLike[str]) -> Literal["flirt", "itk", "matlab", "unknown"]:
    """Say what a ``.mat`` file is, from its content: FLIRT text, an ITK transform, or MATLAB.

    Only the first bytes are read.
    """
    head = open_item(path).head()
    if head.startswith((b"MATLAB", b"\x89HDF")):
        return "matlab"
    if head.startswith(_TEXT_MAGIC):
        return "itk"
    if is_mat4(head):
        return "itk" if b"Transform_" in head[:_MAT4_NAME_END] else "matlab"
    try:
        values = parse_numbers(head.decode("ascii").splitlines(), str(path))
    except (UnicodeDecodeError, FileError):
        return "unknown"
    return "flirt" if values.shape == (4, 4) else "unknown"


def read_itk_transform(path: str | os.PathLike[str], *, rigid: bool = True) -> NDArray[np.float64]:
    """Read an ITK text transform or an ANTs ``*GenericAffine.mat``.

    Parameters
    ----------
    path : path-like
        One affine or rigid transform of three dimensions.
    rigid : bool, default=True
        Whether to refuse transforms that scale or shear (E12).

    Returns
    -------
    numpy.ndarray of shape (4, 4)
        RAS, mm, the centre of rotation worked in: the last column is the translation of the
        origin, as in a FLIRT matrix.

    Raises
    ------
    FileError
        If the file is no such transform.
    """
    item = open_item(path)
    data = read_bytes(item.path, limit=_LIMIT)
    if data.startswith(_TEXT_MAGIC):
        kind, parameters, centre = _parse_text(decoded(data, str(path)), str(path))
    else:
        kind, parameters, centre = _parse_mat4(data, str(path))
    if not (np.isfinite(parameters).all() and np.isfinite(centre).all()):
        raise FileError(f"{path}: transform holds a number that is not finite.")
    matrix, translation = _matrix_and_translation(kind, parameters, str(path))
    if centre.shape != (3,) or max(np.abs(centre).max(), np.abs(parameters).max()) > 1e9:
        raise FileError(f"{path}: centre of rotation {centre.tolist()[:4]}, expected three mm.")
    transform = np.eye(4)
    transform[:3, :3] = _FLIP @ matrix @ _FLIP
    transform[:3, 3] = _FLIP @ (translation + centre - matrix @ centre)
    return checked_rigid(transform, path) if rigid else transform


def _matrix_and_translation(
    kind: str, parameters: NDArray[np.float64], name: str
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    base, _, rest = kind.partition("_")
    if rest not in ("double_3_3", "float_3_3"):
        raise FileError(f"{name}: {kind[:60]!r}; expected a transform of three dimensions.")
    if base in _MATRIX_KINDS and len(parameters) == 12:
        return parameters[:9].reshape(3, 3), parameters[9:]
    if base == "Euler3DTransform" and len(parameters) == 6:
        x, y, z = (
            so3_exp(angle * axis) for angle, axis in zip(parameters, np.eye(3), strict=False)
        )
        return z @ x @ y, parameters[3:]
    if base == "VersorRigid3DTransform" and len(parameters) == 6:
        sine = float(np.linalg.norm(parameters[:3]))
        if sine > 1:
            raise FileError(f"{name}: versor of length {sine:.3g}, expected at most 1.")
        angle = 2 * np.arcsin(sine)
        axis = parameters[:3] / sine if sine else parameters[:3]
        return so3_exp(angle * axis), parameters[3:]
    raise FileError(
        f"{name}: {kind[:60]} with {len(parameters)} parameters cannot be read. "
        "Give one affine or rigid transform per file."
    )


def _parse_text(text: str, name: str) -> tuple[str, NDArray[np.float64], NDArray[np.float64]]:
    fields: dict[str, str] = {}
    for line in text.splitlines():
        key, colon, value = line.partition(":")
        if line.startswith("#") or not colon:
            continue
        if key in fields:
            raise FileError(f"{name}: several transforms in one file. Give one per file.")
        fields[key] = value.strip()
    missing = {"Transform", "Parameters", "FixedParameters"} - fields.keys()
    if missing:
        raise FileError(f"{name}: no {sorted(missing)[0]!r} in this ITK transform.")
    numbers = [parse_numbers([fields[k]], name)[0] for k in ("Parameters", "FixedParameters")]
    return fields["Transform"], numbers[0], numbers[1]


def _parse_mat4(data: bytes, name: str) -> tuple[str, NDArray[np.float64], NDArray[np.float64]]:
    if not is_mat4(data):
        raise FileError(f"{name}: neither an ITK text transform nor an ANTs .mat.")
    variables = load_mat4(data, name)
    kind = next((variable for variable in variables if "Transform_" in variable), None)
    if kind is None or variables.keys() != {kind, "fixed"}:
        raise FileError(f"{name}: expected a transform and 'fixed', as ANTs writes them.")
    values = [variables[kind], variables["fixed"]]
    if not all(isinstance(value, np.ndarray) for value in values):
        raise FileError(f"{name}: text where the numbers of a transform were expected.")
    parameters, centre = (np.asarray(value, dtype=np.float64).ravel() for value in values)
    return kind, parameters, centre
