"""Finding motion files in a folder: what each file is, and whose."""

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from stillome.cohort.motion_names import measure_of
from stillome.exceptions import FileError, StillomeError
from stillome.io.find_subjects import session_of, subjects_of
from stillome.io.guarded_files import existing_path, open_item, refuse_locked_folder
from stillome.io.motion.abcd import MOTION_COLUMNS
from stillome.io.motion.itk_transforms import mat_kind
from stillome.io.sidecars import parse_object
from stillome.io.subject_ids import ID_COLUMNS

# Kinds of which a subject has one file per frame; of all others there is one file.
FRAME_KINDS = ("flirt", "mcflirt_matrices", "itk")
# Kinds that hold many subjects.
TABLE_KINDS = ("image_qc", "abcd", "table")

_SUFFIXES = {
    "eddy_movement_rms": "eddy_movement_rms",
    "eddy_restricted_movement_rms": "eddy_restricted_movement_rms",
    "eddy_parameters": "eddy_parameters",
    "eddy_outlier_map": "eddy_outlier_map",
    "eddy_outlier_report": "eddy_outlier_report",
    "_rel.rms": "mcflirt_rms",
    "_abs.rms": "mcflirt_absolute_rms",
    ".par": "mcflirt_parameters",
}
# Registrations to another image (diff2str.mat, dwi_to_T1w.mat) do not measure motion.
_EDDY_QUAD = "qc.json"
_REGISTRATION = re.compile(
    r"(2|_?to[-_]?|from-)(t1|std|standard|mni|str|struct|diff|dwi|anat|nodif|acpc)", re.IGNORECASE
)


@dataclass(frozen=True)
class MotionFile:
    """A recognised file: its kind, the subject and session in its path, the folder searched.

    Tables have no subject here: their rows name them.
    """

    path: Path
    kind: str
    subject: str
    session: str | None
    root: Path


def find_motion_files(
    paths: Sequence[str | os.PathLike[str]], *, frames: str | None = None
) -> list[MotionFile]:
    """Find the files about motion in folders, and recognise what they are.

    Parameters
    ----------
    paths : sequence of path-like
        Folders, searched to any depth (without hidden ones), or single files.
    frames : str, optional
        A pattern such as ``*b0*.mat``: the transforms that are frames. By default all, except those
        whose name says that they lead to another image.

    Raises
    ------
    FileError
        If a path is not there, or a file named by itself is not recognised.
    """
    found: list[MotionFile] = []
    for given in paths:
        root = existing_path(given)
        single = not root.is_dir()
        kinds = {path: recognise(path) for path in ([root] if single else _walk(root))}
        if single and kinds[root] is None:
            if not _is_table(root):
                raise FileError(
                    f"{root}: not recognised as a file about motion. Give a file or folder of "
                    "eddy, QSIPrep, FLIRT or MCFLIRT, or a table with participant_id and a column "
                    "such as mean_fd."
                )
            kinds[root] = "table"  # whatever its columns are called
        root = root.parent if single else root
        found += _with_subjects(kinds, root, frames)
    return found


def _with_subjects(
    kinds: dict[Path, str | None], root: Path, frames: str | None
) -> list[MotionFile]:
    """Find the subjects of the recognised files; tables name theirs in their rows."""
    of_frames = [
        p for p, kind in kinds.items() if kind in FRAME_KINDS and _is_frame(p, root, frames)
    ]
    single = [p for p, kind in kinds.items() if kind not in (None, *FRAME_KINDS, *TABLE_KINDS)]
    subjects = dict(zip(single, subjects_of(single, root), strict=True))
    subjects |= dict(zip(of_frames, subjects_of(of_frames, root, frames=True), strict=True))
    return [
        MotionFile(path, kind, subjects.get(path, ""), session_of(path), root)
        for path, kind in kinds.items()
        if kind is not None and (path in subjects or kind in TABLE_KINDS)
    ]


def recognise(path: Path) -> str | None:
    """Return the kind of a motion file, from its name and first bytes, or None."""
    name = path.name.removesuffix(".gz")
    for suffix, kind in _SUFFIXES.items():
        if name.endswith(suffix):
            return kind
    if re.fullmatch(r"MAT_\d+", name):
        return "mcflirt_matrices"
    try:
        if name.endswith((".mat", ".tfm")) or name.endswith("Affine.txt"):
            kind = mat_kind(path)
            return kind if kind in FRAME_KINDS else None
        if name.endswith(".json"):
            return "eddy_quad" if _is_eddy_quad(path) else None
        if name.endswith((".tsv", ".csv", ".txt")):
            return _recognise_text(path)
    except StillomeError:
        # Not every file in a folder is about motion, so one that cannot be opened is skipped.
        return None
    return None


def _is_eddy_quad(path: Path) -> bool:
    """Whether a JSON file is eddy_quad's, or a damaged one of its name, which reading refuses."""
    if b'"qc_mot_abs"' in open_item(path).head():
        return True
    if path.name != _EDDY_QUAD:
        return False
    try:
        return "qc_mot_abs" in parse_object(open_item(path).data(), str(path))
    except StillomeError:
        return True


def _walk(root: Path) -> Iterator[Path]:
    for folder, subfolders, files in os.walk(root, onerror=refuse_locked_folder):
        subfolders[:] = sorted(name for name in subfolders if not name.startswith("."))
        for name in sorted(files):
            path = Path(folder, name)
            if not name.startswith(".") and path.is_file():
                yield path


def _is_frame(path: Path, root: Path, frames: str | None) -> bool:
    if frames is not None:
        return path.match(frames)
    return not any(
        _REGISTRATION.search(part) or part == "xfms" for part in path.relative_to(root).parts
    )


def _recognise_text(path: Path) -> str | None:
    head = open_item(path).head()
    if head.startswith(b"#Insight Transform File"):
        return "itk"
    columns = _cells_of(head)
    has_ids = _has_ids(columns)
    # fMRI has confounds of the same name, which are not those of the diffusion scan.
    if "framewise_displacement" in columns and "task-" not in path.name and not has_ids:
        return "qsiprep_confounds"
    if "mean_fd" in columns and columns & {"raw_num_directions", "max_rel_rotation", "file_name"}:
        return "image_qc"
    if any(names[0] in columns for names in MOTION_COLUMNS.values()):
        return "abcd"
    return "table" if has_ids and any(map(measure_of, columns)) else None


def header_of(path: Path) -> set[str]:
    """Return the cells of the first line of a text file."""
    return _cells_of(open_item(path).head())


def _cells_of(head: bytes) -> set[str]:
    first = head.split(b"\n", 1)[0].decode("utf-8-sig", errors="replace").strip()
    return {cell.strip().strip('"') for cell in re.split(r"[\t,;]", first)}


def _has_ids(columns: set[str]) -> bool:
    return any(column.lower() in ID_COLUMNS for column in columns)


def _is_table(path: Path) -> bool:
    """Whether a file that was named by itself is a table of subjects."""
    try:
        columns = header_of(path)
    except StillomeError:
        return False
    return path.name.removesuffix(".gz").endswith((".tsv", ".csv", ".txt")) and _has_ids(columns)
