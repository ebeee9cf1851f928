"""Whose file is it: the one rule for subject ids and sessions in paths.

Connectomes, motion files and tables without a column of ids all ask here, so that
``siteA/100307/T1w/…`` is subject 100307 for each of them. In this order:

1. ``sub-<id>`` in the file's name or the nearest folder below the folder that was searched;
2. the folder of a UK Biobank release, ``1234567_31020_2_0``;
3. the nearest folder that names a person, and not a processing step (``dwi``) or a site;
4. the part of the file's name in which the files differ;
5. the nearest such folder above the one that was searched.

A folder of which no file has a counterpart in another folder is a site if it holds several files:
then the file names decide.
"""

import os
import re
from collections.abc import Sequence
from pathlib import Path

from stillome.exceptions import FileError

_BIDS = re.compile(r"(?<![A-Za-z0-9])sub-(?:NDAR_INV)?[A-Za-z0-9]+")
_SESSION = re.compile(r"(?<![A-Za-z0-9])ses-([A-Za-z0-9]+)")
# Folders of both visits of a retest, as those of the HCP: the same subjects in each.
_RETEST = re.compile(r"(?<=/)(?:hcp[-_])?(test|retest)(?=/)", re.IGNORECASE)
_UK_BIOBANK = re.compile(r"^(\d{7})_\d{5}_\d+_\d+")
# Folders and words of file names that name a step of the processing, a measure or a site.
_NO_PERSON = re.compile(
    r"^(t1w?|diffusion|dmri|dwi|dti|func|anat|data|derivatives|out|outputs?|results?|logs?|quad|qc"
    r"|mat|mats|xfms?|transforms?|motion|confounds|timeseries|images?|imageqc|preproc\w*|unprocessed|qsi\w+"
    r"|(ses|run|desc|atlas|seg|space|acq|dir|meas|parc|task)-.*|run\d*|b0\w*|rel|abs"
    r"|.*(eddy|flirt|mcf|topup).*|.*\.(mat|qc|feat)"
    r"|compute|connectivity|compute_connectivity|connectomes?|tractogra\w+|matri(x|ces)|networks?"
    r"|conndata|network_connectivity|mrtrix\w*|micapipe\w*|cmp|connectogram|sc|fc|cm|raw|processed"
    r"|n?counts?\d*|streamlines?|fibers?|fibres?|weights?|sift\d?|len|lengths?|meanlength|mean"
    r"|normalized|edge|relmat|dense|sparse|full-connectome|shape"
    r"|(hcp[-_])?(test|retest)|sites?[-_]?.*|cent(er|re)s?[-_]?.*|scanners?[-_]?.*|batch[-_]?.*|waves?[-_]?\d*)$",
    re.IGNORECASE,
)


def session_of(path: Path) -> str | None:
    """Return the session in a path, without ``ses-``; the last one if there are several.

    Examples
    --------
    >>> session_of(Path("sub-01/ses-baseline/dwi/sub-01_connectivity.mat"))
    'baseline'
    >>> session_of(Path("HCP_Retest/100307/connectome.csv"))
    'Retest'
    """
    found = _SESSION.findall(str(path)) or _RETEST.findall(f"/{path}")
    return str(found[-1]) if found else None


def without_session(text: str) -> str:
    """Put ``ses-*`` in place of every session, so that files of several sessions look alike."""
    return _RETEST.sub("ses-*", f"/{_SESSION.sub('ses-*', text)}")[1:]


def subjects_of(
    paths: Sequence[Path], root: Path | None = None, *, frames: bool = False
) -> list[str]:
    """Return the subject of each file, as written.

    Parameters
    ----------
    paths : sequence of pathlib.Path
        Files that were found together. They are compared with each other where a path alone does
        not name its subject.
    root : pathlib.Path, optional
        The folder that was searched; by default the folder that all files have in common.
    frames : bool, default=False
        Whether the files are frames of a scan (``b0_03.mat``), whose names never are those of
        subjects.

    Raises
    ------
    FileError
        If neither the name of a file nor a folder names a subject.

    Examples
    --------
    >>> root = Path("/study")
    >>> subjects_of([root / "siteA/100307/T1w/Diffusion/eddy.eddy_movement_rms"], root)
    ['100307']
    >>> subjects_of([root / "100307_count.csv", root / "100408_count.csv"], root)
    ['100307', '100408']
    >>> subjects_of([root / "sub-A01/dwi/b0_03.mat"], root, frames=True)
    ['sub-A01']
    """
    if not paths:
        return []
    if root is None:
        root = Path(os.path.commonpath([path.parent for path in paths]))
    marked = [_marked(path, root) for path in paths]
    folders = [_person_folder(path, root) for path in paths]
    open_paths = [path for path, mark in zip(paths, marked, strict=True) if mark is None]
    if not frames and _are_sites(open_paths, root):
        folders = [None] * len(paths)
    named = [mark or folder for mark, folder in zip(marked, folders, strict=True)]
    rest = [path for path, name in zip(paths, named, strict=True) if name is None]
    by_name = dict(zip(rest, _by_file_name(rest, root, frames), strict=True))
    return [name or by_name[path] for path, name in zip(paths, named, strict=True)]


def _marked(path: Path, root: Path) -> str | None:
    """Return an id that is marked as one: ``sub-<id>``, or a folder of UK Biobank."""
    parts = _below(path, root)
    for part in reversed(parts):
        if found := _BIDS.findall(part):
            return str(found[-1])
    for part in reversed((*root.parts, *parts)):
        if released := _UK_BIOBANK.match(part):
            return released.group(1)
    return None


def _person_folder(path: Path, root: Path) -> str | None:
    folders = reversed(_below(path, root)[:-1])
    return next((part for part in folders if not _NO_PERSON.match(part)), None)


def _are_sites(paths: Sequence[Path], root: Path) -> bool:
    """Whether folders hold several files each, none of which is found in another folder too."""
    names: dict[str, list[str]] = {}
    for path in paths:
        folder = _person_folder(path, root)
        if folder is not None:
            names.setdefault(folder, []).append(path.name.replace(folder, "*"))
    counts = [len(found) for found in names.values()]
    distinct = {name for found in names.values() for name in found}
    return len(counts) > 1 and max(counts) > 1 and len(distinct) == sum(counts)


def _by_file_name(paths: Sequence[Path], root: Path, frames: bool) -> list[str]:
    """Take the ids from what differs in the names; where nothing does, from above the root."""
    above = _person_above(root)
    in_subjects_folder = above is not None and _BIDS.match(above)
    words = [_words(path) for path in paths]
    chosen = _differing(words) if _differ_in_a_folder(paths, words) else None
    found = []
    for path, own in zip(paths, words, strict=True):
        subject = "_".join(own[chosen] if chosen is not None else _up_to_a_number(own))
        alone = path.parent == root and path.name.startswith(subject)
        told = chosen is not None or alone or any(c.isdigit() for c in subject)
        if frames or in_subjects_folder or not (subject and told):
            subject = above or ""
        if not subject:
            raise FileError(f"{path}: neither its name nor a folder names a subject. Use sub-<id>.")
        found.append(subject)
    return found


def _differ_in_a_folder(paths: Sequence[Path], words: Sequence[list[str]]) -> bool:
    """Whether a folder holds files of different names; otherwise they may be one subject's."""
    names: dict[Path, set[str]] = {}
    for path, own in zip(paths, words, strict=True):
        names.setdefault(path.parent, set()).add("_".join(own))
    return any(len(found) > 1 for found in names.values())


def _differing(words: Sequence[list[str]]) -> slice | None:
    """Return the place in the names where files differ most; None if they do not differ.

    Neighbours that differ too belong to the id (``HC_001``, ``PT_002``), unless they tell apart
    files of the same id, as a measure or an atlas does.
    """
    width = min((len(own) for own in words), default=0)

    def distinct(start: int, stop: int) -> int:
        return len({tuple(own[start:stop]) for own in words})

    single = [distinct(i, i + 1) for i in range(width)]
    most = max(single, default=0)
    if most < 2:
        return None
    start = single.index(most)
    stop = start + 1
    while start > 0 and single[start - 1] > 1 and distinct(start - 1, stop) == most:
        start -= 1
    while stop < width and single[stop] > 1 and distinct(start, stop + 1) == most:
        stop += 1
    return slice(start, stop)


def _up_to_a_number(words: list[str]) -> list[str]:
    """Keep the words up to the first one with a digit, where an id usually ends."""
    last = next((i for i, word in enumerate(words) if any(c.isdigit() for c in word)), len(words))
    return words[: last + 1]


def _words(path: Path) -> list[str]:
    """Split a file's name into words, without those for steps and measures."""
    name = path.name
    for suffix in (".gz", ".nii", ".gii"):
        name = name.removesuffix(suffix)
    stem = name.rsplit(".", 1)[0] if "." in name else name
    words = re.split(r"[_.]", stem.replace("NDAR_INV", "NDARINV"))
    return [word for word in words if word and not _NO_PERSON.match(word)]


def _person_above(root: Path) -> str | None:
    for folder in (root.absolute(), *root.absolute().parents):
        if found := _BIDS.findall(folder.name):
            return str(found[-1])
        if folder.name and not _NO_PERSON.match(folder.name):
            return folder.name
    return None


def _below(path: Path, root: Path) -> tuple[str, ...]:
    return path.relative_to(root).parts if path.is_relative_to(root) else (path.name,)
