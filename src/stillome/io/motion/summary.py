"""One table with the motion of every subject, from all motion files of a folder."""

import logging
import os
import warnings
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from stillome.arrays import Floats
from stillome.cohort.motion_names import MOTION_NAMES, measure_of
from stillome.cohort.scan_ids import scan_id, session_key
from stillome.exceptions import FileError, InputError, StillomeWarning
from stillome.io.motion import fsl
from stillome.io.motion.abcd import read_abcd_motion
from stillome.io.motion.columns import MEASURES
from stillome.io.motion.itk_transforms import read_itk_transform
from stillome.io.motion.motion_files import (
    FRAME_KINDS,
    TABLE_KINDS,
    MotionFile,
    find_motion_files,
)
from stillome.io.motion.qsiprep import confound_parameters, read_image_qc, read_qsiprep_confounds
from stillome.io.motion.rigid import (
    framewise_displacement,
    mean_of_known,
    mean_relative_rms,
    parameters_to_transforms,
    residual_misalignment,
)
from stillome.io.subject_ids import normalise_id
from stillome.io.tables.delimited import read_cells
from stillome.io.tables.events import ALL_SESSIONS
from stillome.io.tables.phenotypes import read_table

logger = logging.getLogger(__name__)

Summary = dict[str, float]


def read_motion(
    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    session: str | None = None,
    rotation_unit: str | None = None,
    frames: str | None = None,
    confounds: Sequence[str] = (),
) -> pd.DataFrame:
    r"""Summarise every motion file in folders into one row per subject.

    Parameters
    ----------
    paths : path-like or sequence of path-like
        Folders of eddy, eddy_quad, FLIRT, MCFLIRT, ANTs, QSIPrep or HCP, searched to any depth;
        ABCD tables; or tables of subjects with motion under one of the names in `MOTION_NAMES`
        (``mean_fd``, ``rel_rms`` …).
    session : str, optional
        The session or event; needed where a subject has several. "all" gives every session a row
        of its own, with ids ``A01_ses-01``.
    rotation_unit : {"rad", "deg"}, optional
        The unit of rotations in parameter files, where they look like degrees (E11).
    frames : str, optional
        A pattern such as ``*b0*.mat``: which transforms are frames of the diffusion scan.
    confounds : sequence of str
        Further columns of numbers to take from tables, whatever their names; those that no table
        has are left out.

    Returns
    -------
    pandas.DataFrame
        Index ``participant_id`` (normalised ids, sorted). Of the columns ``rms_mm``,
        ``rms_absolute_mm``, ``rms_restricted_mm``, ``translation_mm``, ``rotation_rad``, ``fd_mm``,
        ``n_outlier_slices``, ``outliers_percent`` those that could be found; columns of tables
        keep their names. A column has one
        source for everybody: measures of different tools are not mixed, and a subject without
        this source has NaN. ``attrs["sources"]`` and ``attrs["measures"]`` say what each column is,
        ``attrs["files"]`` lists the files used.

    Raises
    ------
    FileError, InputError
        If nothing is found, a file is damaged, or a subject has several of a kind.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> place = Path(tempfile.mkdtemp(), "sub-01.eddy_movement_rms")
    >>> _ = place.write_text("0 0\n0.3 0.3\n0.4 0.1\n")
    >>> read_motion(place)["rms_mm"].round(2).to_dict()
    {'01': 0.2}
    """
    given = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    files = find_motion_files(given, frames=frames)
    if session not in (None, ALL_SESSIONS):
        wanted = session_key(str(session))
        files = [f for f in files if f.session is None or session_key(f.session) == wanted]
    if not files:
        places = ", ".join(map(str, given)) or "nothing"
        raise FileError(
            f"{places}: no file about motion found"
            + (f" for session {session!r}" if session else "")
            + ". Give the folder with eddy's, QSIPrep's or FLIRT's output."
        )
    summaries = _summaries(files, session, rotation_unit, confounds)
    table = _one_source_each(summaries)
    table.attrs["files"] = [str(file.path) for file in files]
    return table


def _summaries(
    files: list[MotionFile],
    session: str | None,
    rotation_unit: str | None,
    confounds: Sequence[str],
) -> dict[str, dict[str, Summary]]:
    """Read every file: kind → subject → column → value."""
    grouped: dict[str, dict[str, list[MotionFile]]] = defaultdict(lambda: defaultdict(list))
    answer: dict[str, dict[str, Summary]] = defaultdict(dict)
    for file in files:
        if file.kind in TABLE_KINDS:
            rows = _from_table(file, session, rotation_unit, confounds)
            for subject, summary in rows.items():
                if subject in answer[file.kind]:
                    raise InputError(
                        f"{file.path}: subject {subject!r} was in another file of the same kind "
                        "(several sessions?). Choose session=..., or give one of them."
                    )
                answer[file.kind][subject] = summary
        else:
            scan = scan_id(file.subject, file.session if session == ALL_SESSIONS else None)
            grouped[file.kind][normalise_id(scan)].append(file)
    for kind, subjects in grouped.items():
        for subject, group in subjects.items():
            _check_group(kind, subject, group)
            answer[kind][subject] = _summary(kind, group, rotation_unit)
    return answer


def _check_group(kind: str, subject: str, group: list[MotionFile]) -> None:
    written = sorted({file.subject for file in group})
    if len(written) > 1:
        raise InputError(
            f"ids {written[0]!r} and {written[1]!r} are the same subject after normalisation. "
            "Keep one of them."
        )
    sessions = sorted({str(file.session) for file in group})
    if len(sessions) > 1:
        raise InputError(
            f"{group[0].path.parent}: subject {subject!r} has several sessions {sessions}. "
            "Choose session=..., or 'all' for a row each."
        )
    if kind not in FRAME_KINDS and len(group) > 1:
        raise InputError(
            f"{group[0].path} and {group[1].path} both hold {kind} of subject {subject!r}. "
            "Keep one of them."
        )


def _from_table(
    file: MotionFile, session: str | None, rotation_unit: str | None, confounds: Sequence[str]
) -> dict[str, Summary]:
    path = file.path
    there = read_cells(path)[0].columns
    asked = [name for name in dict.fromkeys(confounds) if name in there]
    whole = read_table(path, columns=asked, session=session) if asked else None
    if file.kind == "abcd":
        table = read_abcd_motion(path, session=session, rotation_unit=rotation_unit)
    elif file.kind == "image_qc":
        table = read_image_qc(path, session=session, root=file.root)[["mean_fd"]]
        table = table.rename(columns={"mean_fd": "fd_mm"})
    else:
        usual = [name for name in there if measure_of(name)]
        table = read_table(path, columns=usual, session=session)
        if not usual and not asked:
            raise InputError(
                f"{path}: none of its columns ({', '.join(there[:8])}) has a usual name of a "
                "measure of motion. Name the one to remove with confounds=..."
            )
    for name in table:
        if not pd.api.types.is_numeric_dtype(table[name]) or (table[name] < 0).any():
            raise InputError(f"{path}: column {name!r} must hold numbers ≥ 0.")
    if whole is not None:
        # Text, such as a site, is no measure; it may be wanted as a column of traits.
        further = [n for n in whole.select_dtypes("number") if n not in table]
        table = table.join(whole[further])
    return {str(subject): dict(row) for subject, row in table.to_dict("index").items()}


def _summary(kind: str, group: list[MotionFile], rotation_unit: str | None) -> Summary:
    path = group[0].path
    if kind in FRAME_KINDS:
        read: Callable[..., Any] = read_itk_transform if kind == "itk" else fsl.read_flirt_matrix
        return _misalignment(np.stack([read(file.path) for file in group]))
    match kind:
        case "eddy_movement_rms":
            rms = fsl.read_eddy_movement_rms(path)
            return {"rms_mm": mean_relative_rms(rms), "rms_absolute_mm": _mean_absolute(rms[:, 0])}
        case "eddy_restricted_movement_rms":
            return {"rms_restricted_mm": mean_relative_rms(fsl.read_eddy_movement_rms(path))}
        case "mcflirt_rms":
            return {"rms_mm": mean_of_known(fsl.read_mcflirt_rms(path))}
        case "mcflirt_absolute_rms":
            return {"rms_absolute_mm": _mean_absolute(fsl.read_mcflirt_rms(path))}
        case "eddy_outlier_report":
            return {"n_outlier_slices": float(len(fsl.read_eddy_outlier_report(path)))}
        case "eddy_outlier_map":
            marked = np.nansum(fsl.read_eddy_outlier_map(path) == 1)
            return {"n_outlier_slices": float(marked)}
        case "eddy_quad":
            quad = fsl.read_eddy_quad(path)
            return dict(zip(("rms_absolute_mm", "rms_mm", "outliers_percent"), quad, strict=True))
        case "qsiprep_confounds":
            return _from_confounds(read_qsiprep_confounds(path, rotation_unit=rotation_unit))
    from_eddy = kind == "eddy_parameters"
    read = fsl.read_eddy_parameters if from_eddy else fsl.read_mcflirt_parameters
    parameters = read(path, rotation_unit=rotation_unit)
    fd = mean_of_known(framewise_displacement(parameters))
    return {"fd_mm": fd, **_misalignment(parameters_to_transforms(parameters))}


def _from_confounds(confounds: pd.DataFrame) -> Summary:
    summary = {"fd_mm": mean_of_known(confounds["framewise_displacement"])}
    parameters = confound_parameters(confounds)
    if parameters is not None:
        summary |= _misalignment(parameters_to_transforms(parameters))
    return summary


def _misalignment(transforms: Floats) -> Summary:
    translation, rotation, _ = residual_misalignment(transforms)
    if _only_reference_known(transforms):
        translation = rotation = float("nan")
    return {"translation_mm": translation, "rotation_rad": rotation}


def _mean_absolute(displacements: Floats) -> float:
    return float("nan") if _only_reference_known(displacements) else mean_of_known(displacements)


def _only_reference_known(frames: Floats) -> bool:
    """Whether all frames are missing but the first, which is the reference itself."""
    return len(frames) > 1 and bool(
        np.isnan(frames[1:]).any(axis=tuple(range(1, frames.ndim))).all()
    )


def _one_source_each(summaries: dict[str, dict[str, Summary]]) -> pd.DataFrame:
    subjects = sorted({subject for found in summaries.values() for subject in found})
    table = pd.DataFrame(index=pd.Index(subjects, name="participant_id", dtype=object))
    sources: dict[str, str] = {}
    left_out: list[str] = []
    for column, meanings in MEASURES.items():
        covered = {
            kind: [s for s in subjects if column in summaries.get(kind, {}).get(s, {})]
            for kind in meanings
        }
        most = max(map(len, covered.values()))
        if not most:
            continue
        # A better source that half as many have is still better; one that few have is not.
        kind = next(kind for kind in meanings if 2 * len(covered[kind]) >= most)
        found = summaries[kind]
        table[column] = [found.get(s, {}).get(column, float("nan")) for s in subjects]
        sources[column] = kind
        logger.info("%s: %s, %d subjects", column, meanings[kind], len(covered[kind]))
        others = {s for which in covered.values() for s in which} - set(covered[kind])
        if others:
            left_out.append(f"{column} ({len(others)} subjects, e.g. {min(others)!r}, not {kind})")
    for kind in TABLE_KINDS:
        found = summaries.get(kind, {})
        for column in dict.fromkeys(name for row in found.values() for name in row):
            if column not in table and column not in MEASURES:
                table[column] = [found.get(s, {}).get(column, float("nan")) for s in subjects]
                sources[column] = kind
    if left_out:
        warnings.warn(
            "Measures of different tools are not mixed in one column; missing where subjects have "
            f"another source only: {', '.join(left_out)}.",
            StillomeWarning,
            stacklevel=3,
        )
    table.attrs["sources"] = sources
    table.attrs["measures"] = {name: _meaning(name, kind) for name, kind in sources.items()}
    return table


def _meaning(column: str, kind: str) -> str:
    if column in MEASURES:
        return MEASURES[column][kind]
    measure = measure_of(column)
    return "as given in the table" + (f": {MOTION_NAMES[measure].meaning}" if measure else "")
