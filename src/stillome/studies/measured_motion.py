"""Motion measured on the images of HCP or ABCD: eddy's head motion, FLIRT's residual misalignment.

Whose file it is, the ids of the connectomes say: the subject is the id that stands in the path,
nearest to the file. No other folder is taken for a subject, whatever its name.

Residual misalignment is what FLIRT finds between b = 0 frames *after* eddy. The parameters that
eddy estimates are head motion; they are never read here as translation and rotation.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from stillome.exceptions import InputError
from stillome.io.find_subjects import session_of
from stillome.io.motion import fsl
from stillome.io.motion.motion_files import recognise
from stillome.io.motion.rigid import mean_relative_rms, residual_misalignment

FLIRT = "flirt"
_ENDS = (
    "eddy_movement_rms",
    "eddy_outlier_map",
    "eddy_outlier_report",
    ".mat",
    "qc.json",
)
_KINDS = ("eddy_movement_rms", "eddy_outlier_map", "eddy_outlier_report", "eddy_quad", FLIRT)
BASELINE_SESSIONS = ("baselineYear1Arm1", "baseline", "00A")
# Registrations to another image (diff2str.mat, EPItoT1w.mat) and HCP's own folder of them.
_ELSEWHERE = re.compile(r"(2|to[-_]?)(t1|std|standard|mni|str|struct|diff|dwi|anat|acpc)", re.I)


def measured_motion(folder: Path, subjects: Iterable[str], *, skip: Path) -> pd.DataFrame:
    """Read what was measured on the images of these subjects, anywhere in a folder.

    Parameters
    ----------
    folder : pathlib.Path
    subjects : iterable of str
        Normalised ids, as the connectomes have them.
    skip : pathlib.Path
        The connectomes.

    Returns
    -------
    pandas.DataFrame
        Index ``participant_id``; ``rms_mm``, ``n_outlier_slices``, ``outliers_percent``,
        ``translation_mm`` and ``rotation_rad`` as far as they are there, NaN where a subject has
        none. Of several sessions the baseline is taken.

    Raises
    ------
    InputError
        If a subject has two files of a kind, or several sessions without a baseline.
    """
    known = {_short(subject): subject for subject in subjects}
    found: dict[str, dict[str, list[Path]]] = defaultdict(lambda: defaultdict(list))
    for path in sorted(folder.rglob("*")):
        if not path.name.endswith(_ENDS) or skip in path.parents or "xfms" in path.parts:
            continue
        owner = _owner(path, folder, known)
        kind = recognise(path) if owner is not None and path.is_file() else None
        if owner is None or kind not in _KINDS or (kind == FLIRT and _ELSEWHERE.search(path.stem)):
            continue
        found[owner][str(kind)].append(path)
    rows = {subject: _row(subject, files) for subject, files in found.items()}
    table = pd.DataFrame.from_dict(rows, orient="index")
    return table.rename_axis("participant_id").sort_index()


def _short(subject: str) -> str:
    """Return an id as it stands in paths of any release: ABCD's with and without its prefix."""
    return subject.replace("NDAR_INV", "").replace("NDARINV", "")


def _owner(path: Path, folder: Path, known: Mapping[str, str]) -> str | None:
    for part in reversed(path.relative_to(folder).parts):
        for word in re.split(r"[^A-Za-z0-9]+", part.replace("NDAR_INV", "NDARINV")):
            if _short(word) in known:
                return known[_short(word)]
    return None


def _row(subject: str, files: Mapping[str, list[Path]]) -> dict[str, float]:
    row: dict[str, float] = {}
    for kind, paths in files.items():
        chosen = _of_one_session(subject, paths)
        if kind == FLIRT:
            frames = np.stack([fsl.read_flirt_matrix(path) for path in chosen])
            moved = residual_misalignment(frames, name=str(chosen[0].parent))
            row |= {"translation_mm": moved.translation_mm, "rotation_rad": moved.rotation_rad}
        elif len(chosen) > 1:
            raise InputError(
                f"{chosen[0]} and {chosen[1]} both hold {kind} of subject {subject!r}. "
                "Keep one of them."
            )
        else:
            row = _of_eddy(kind, chosen[0]) | row
    return row


def _of_eddy(kind: str, path: Path) -> dict[str, float]:
    if kind == "eddy_movement_rms":
        return {"rms_mm": mean_relative_rms(fsl.read_eddy_movement_rms(path))}
    if kind == "eddy_quad":
        quad = fsl.read_eddy_quad(path)
        return {"rms_mm": float(quad[1]), "outliers_percent": float(quad[2])}
    if kind == "eddy_outlier_map":
        return {"n_outlier_slices": float(np.nansum(fsl.read_eddy_outlier_map(path) == 1))}
    return {"n_outlier_slices": float(len(fsl.read_eddy_outlier_report(path)))}


def _of_one_session(subject: str, paths: list[Path]) -> list[Path]:
    sessions = {path: session_of(path) for path in paths}
    if len(set(sessions.values())) == 1:
        return paths
    for baseline in BASELINE_SESSIONS:
        of_baseline = [path for path, session in sessions.items() if session == baseline]
        if of_baseline:
            return of_baseline
    raise InputError(
        f"{paths[0].parent}: subject {subject!r} has sessions "
        f"{sorted(map(str, set(sessions.values())))}, none of which is the baseline. Keep one."
    )
