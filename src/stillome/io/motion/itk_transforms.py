"""Transforms of ITK and ANTs, and how the three kinds of ``.mat`` are distinguished by content.

ITK stores a matrix A, a translation t and a centre of rotation c, in LPS coordinates:
y = A(x − c) + t + c. The readers return 4×4 matrices in RAS coordinates, as nibabel does.
"""

import os
from typing import Literal

import numpy as np
from scipy.spatial.transform import Rotation

from stillome.arrays import Floats
from stillome.exceptions import FileError
from stillome.io.formats.mat4 import is_mat4, load_mat4
from stillome.io.guarded_files import decoded, open_item, read_bytes
from stillome.io.motion.fsl import checked_rigid
from stillome.io.text_files import parse_numbers

_LIMIT = 2**20
_TEXT_MAGIC = b"#Insight Transform File"
# A MAT v4 file starts with 20 bytes of sizes and the name of its first variable.
_MAT4_NAME_END = 20 + 64
_FLIP = np.diag([-1.0, -1.0, 1.0])
_MATRIX_KINDS = ("AffineTransform", "MatrixOffsetTransformBase", "Rigid3DTransform")


def mat_kind(path: str | os.PathLike[str]) -> Literal["flirt", "itk", "matlab", "unknown"]:
    """Return what a ``.mat`` file is, from its content: FLIRT text, an ITK transform, or MATLAB.

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


def read_itk_transform(path: str | os.PathLike[str], *, rigid: bool = True) -> Floats:
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
        RAS, mm. The centre of rotation is included: the last column is the translation of the
        origin, as in a FLIRT matrix.

    Raises
    ------
    FileError
        If the file is not such a transform.
    """
    item = open_item(path)
    data = read_bytes(item.path, limit=_LIMIT)
    if data.startswith(_TEXT_MAGIC):
        kind, parameters, centre = _parse_text(decoded(data, str(path)), str(path))
    else:
        kind, parameters, centre = _parse_mat4(data, str(path))
    if not (np.isfinite(parameters).all() and np.isfinite(centre).all()):
        raise FileError(f"{path}: the transform has a number that is not finite.")
    matrix, translation = _matrix_and_translation(kind, parameters, str(path))
    if centre.shape != (3,) or max(np.abs(centre).max(), np.abs(parameters).max()) > 1e9:
        raise FileError(f"{path}: centre of rotation {centre.tolist()[:4]}, expected three mm.")
    transform = np.eye(4)
    transform[:3, :3] = _FLIP @ matrix @ _FLIP
    transform[:3, 3] = _FLIP @ (translation + centre - matrix @ centre)
    return checked_rigid(transform, path) if rigid else transform


def _matrix_and_translation(kind: str, parameters: Floats, name: str) -> tuple[Floats, Floats]:
    base, _, rest = kind.partition("_")
    if rest not in ("double_3_3", "float_3_3"):
        raise FileError(f"{name}: {kind[:60]!r}; expected a transform of three dimensions.")
    if base in _MATRIX_KINDS and len(parameters) == 12:
        return parameters[:9].reshape(3, 3), parameters[9:]
    if base == "Euler3DTransform" and len(parameters) == 6:
        # ITK's default order: R = Rz Rx Ry.
        return Rotation.from_euler("ZXY", parameters[[2, 0, 1]]).as_matrix(), parameters[3:]
    if base == "VersorRigid3DTransform" and len(parameters) == 6:
        sine = float(np.linalg.norm(parameters[:3]))
        if sine > 1:
            raise FileError(f"{name}: versor of length {sine:.3g}, expected at most 1.")
        versor = Rotation.from_quat([*parameters[:3], np.sqrt(1 - sine**2)])
        return versor.as_matrix(), parameters[3:]
    raise FileError(
        f"{name}: {kind[:60]} with {len(parameters)} parameters cannot be read. "
        "Give one affine or rigid transform per file."
    )


def _parse_text(text: str, name: str) -> tuple[str, Floats, Floats]:
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


def _parse_mat4(data: bytes, name: str) -> tuple[str, Floats, Floats]:
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
