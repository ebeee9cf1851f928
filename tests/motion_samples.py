"""Small files true to what the tools write, made here so that the tests need nothing else."""

import json
import struct
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

ANGLES = np.array([0.011, -0.004, 0.02])
TRANSLATION = np.array([0.4, -1.2, 0.75])
CENTRE_LPS = np.array([1.5, -20.0, 18.0])
FLIP = np.diag([-1.0, -1.0, 1.0])
OUTLIER = (
    "Slice {} in scan {} is an outlier with mean -4.8 standard deviations off, "
    "and mean squared 2.9 standard deviations off."
)


def rigid_transform(angles=ANGLES, translation=TRANSLATION):
    transform = np.eye(4)
    transform[:3, :3] = Rotation.from_euler("xyz", angles).as_matrix().T
    transform[:3, 3] = translation
    return transform


def itk_numbers(transform):
    """Return ITK's twelve parameters of a RAS transform, about `CENTRE_LPS`."""
    matrix = FLIP @ transform[:3, :3] @ FLIP
    translation = FLIP @ transform[:3, 3] - CENTRE_LPS + matrix @ CENTRE_LPS
    return np.concatenate([matrix.ravel(), translation])


def lines(rows):
    """Write numbers as FSL does: two blanks after each."""
    return "".join("".join(f"{value:.10g}  " for value in row) + "\n" for row in rows)


def write(path, content):
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def movement_rms(rng, n_volumes=8):
    rms = np.abs(rng.normal(0.1, 0.05, size=(n_volumes, 2)))
    rms[0] = 0
    return rms


def movement_parameters(rng, n_volumes=8):
    parameters = rng.normal(size=(n_volumes, 6)) * [0.1, 0.1, 0.1, 0.003, 0.003, 0.003]
    parameters[0] = 0
    return parameters


def flirt(path, transform=None):
    return write(path, lines(rigid_transform() if transform is None else transform))


def itk_text(path, transform=None):
    numbers = itk_numbers(rigid_transform() if transform is None else transform)
    return write(
        path,
        "#Insight Transform File V1.0\n#Transform 0\nTransform: AffineTransform_double_3_3\n"
        f"Parameters: {' '.join(map(repr, numbers.tolist()))}\n"
        f"FixedParameters: {' '.join(map(repr, CENTRE_LPS.tolist()))}\n",
    )


def mat4_variable(name, values, order="<"):
    code = (0 if order == "<" else 1000) + (10 if values.dtype == np.float32 else 0)
    title = name.encode() + b"\0"
    header = struct.pack(f"{order}5i", code, len(values), 1, 0, len(title))
    return header + title + values.astype(values.dtype.newbyteorder(order)).tobytes()


def ants_affine(path, transform=None, *, dtype=np.float64, order="<"):
    numbers = itk_numbers(rigid_transform() if transform is None else transform).astype(dtype)
    kind = f"AffineTransform_{'double' if dtype == np.float64 else 'float'}_3_3"
    return write(
        path,
        mat4_variable(kind, numbers, order)
        + mat4_variable("fixed", CENTRE_LPS.astype(dtype), order),
    )


def eddy_parameters(path, parameters):
    currents = np.full((len(parameters), 10), 0.01)
    return write(path, lines(np.hstack([parameters, currents])))


def outlier_map(path, marked, *, text="One row per scan, one column per slice."):
    return write(path, text + "\n" + "".join(" ".join(map(str, r)) + " \n" for r in marked))


def outlier_report(path, outliers):
    return write(path, "".join(OUTLIER.format(*outlier) + "\n" for outlier in outliers))


def quad_json(path, **values):
    content = {"data_no_b0_vols": 1, "qc_mot_abs": 0.05, "qc_mot_rel": 0.11}
    content |= {"qc_outliers_tot": 5.5, "qc_params_avg": [0.1, 0.0]} | values
    return write(path, json.dumps(content, indent=4))


def qsiprep_confounds(path, parameters, displacements):
    names = ["framewise_displacement", *(f"{k}_{a}" for k in ("trans", "rot") for a in "xyz")]
    rows = ["\t".join([*names, "original_file", "bval"])]
    for displacement, row in zip(displacements, parameters, strict=True):
        first = "n/a" if np.isnan(displacement) else repr(float(displacement))
        rows.append("\t".join([first, *(repr(float(v)) for v in row), "sub-A01_dwi.nii.gz", "0"]))
    return write(path, "\n".join(rows) + "\n")


def image_qc(path, subjects, *, delimiter="\t", session=""):
    names = ["raw_num_directions", "mean_fd", "max_fd", "max_rel_rotation", "file_name"]
    rows = [delimiter.join([*names, "subject_id", "session_id"])]
    for subject, mean_fd in subjects.items():
        cells = ["7.0", repr(mean_fd), "0.5", "0.01", f"{subject}_dwi.nii.gz", subject, session]
        rows.append(delimiter.join(cells))
    return write(path, "\n".join(rows) + "\n")


def abcd4(path, rows, columns, descriptions=None):
    """Write NDA's text file: quoted, tab-separated, every column explained in row 2."""
    names = ["collection_id", "subjectkey", "src_subject_id", "sex", "eventname", *columns]
    explained = ["collection_id", "The NDAR Global Unique Identifier (GUID) for research subject"]
    explained += ["Subject ID how it's defined in lab/project", "Sex of subject at birth"]
    explained += ["The event name for which the data was collected"]
    explained += descriptions or [f"What {name} is" for name in columns]
    body = [["9999", subject, subject, "F", event, *values] for subject, event, *values in rows]
    return write(
        path,
        "\n".join("\t".join(f'"{c}"' for c in row) for row in [names, explained, *body]) + "\n",
    )
