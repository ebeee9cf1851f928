"""From a folder, a pattern or an archive to one connectome file per subject."""

import glob
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from stillome.cohort.scan_ids import scan_id, session_key
from stillome.exceptions import FileError, InputError
from stillome.io.connectome_measures import ACCEPTED, SeveralMatricesError, kind_of
from stillome.io.find_subjects import session_of, subjects_of, without_session
from stillome.io.formats.mrtrix import atlas_of
from stillome.io.formats.zarr_store import is_store
from stillome.io.guarded_files import (
    ZIP_MAGIC,
    Item,
    archive_members,
    existing_path,
    open_item,
    refuse_locked_folder,
)
from stillome.io.recognise import read_contents, recognise
from stillome.io.tables.events import ALL_SESSIONS

PathLike = str | os.PathLike[str]
_SUFFIXES = (
    *(".csv", ".tsv", ".txt", ".dat", ".mat", ".npy", ".npz", ".h5", ".hdf5", ".nc"),
    *(".gii", ".pconn.nii", ".graphml", ".zip", ".gpickle"),
)
_PREFERENCE = (".mat", ".tsv", ".csv", ".graphml", ".txt", ".npy", ".gpickle")
_MAX_FILES = 2_000_000


@dataclass(frozen=True)
class Group:
    """Files of the same name pattern: one per subject, all of the same thing."""

    pattern: str
    members: tuple[tuple[str, Item], ...]

    @property
    def kind(self) -> str:
        """What the pattern says was measured."""
        return kind_of(self.pattern)


@dataclass(frozen=True)
class Selection:
    """The files to be read, those with fibre lengths, and remarks on files left out."""

    counts: Group
    lengths: Group | None
    notes: tuple[str, ...]


def find_items(path: PathLike | Sequence[PathLike]) -> tuple[list[Item], Path | None]:
    """List the files of a path, a folder, a pattern or a list of paths.

    Returns
    -------
    items : list of Item
        In the order of their names.
    root : pathlib.Path or None
        The folder, if one was searched.

    Raises
    ------
    FileError
        If there is none.
    """
    if not isinstance(path, str | os.PathLike | Sequence) or isinstance(path, bytes):
        raise InputError(f"path: a {type(path).__name__}; expected a path or a list of paths.")
    if not isinstance(path, str | os.PathLike):
        if not path:
            raise InputError("path: an empty list; name at least one file.")
        return [item for single in path for item in find_items(single)[0]], None
    text = os.fspath(path)
    if glob.has_magic(text) and not os.path.lexists(text):
        matches = sorted(glob.glob(text, recursive=True))  # noqa: PTH207 - absolute patterns too
        if not matches:
            raise FileError(f"{text}: no file fits this pattern. Check it in the shell.")
        return [item for match in matches for item in find_items(match)[0]], None
    checked = existing_path(path)
    if not checked.is_dir():
        return _unpacked(open_item(checked)), None
    if is_store(checked):
        return [Item(str(checked), checked)], None
    items = [item for found in _walk(checked) for item in _unpacked(found)]
    if not items:
        raise FileError(
            f"{checked}: no connectome files in this folder. Name the files, e.g. with a pattern."
        )
    return items, checked


def select_files(
    items: Sequence[Item],
    root: Path | None,
    *,
    atlas: str | None,
    measure: str | None,
    session: str | None,
) -> Selection:
    """Choose one connectome file per subject, or per session where somebody has several.

    Raises
    ------
    FileError
        If several kinds of files fit (E6), none is a connectome, or a subject has two.
    """
    if session not in (None, ALL_SESSIONS):
        wanted = session_key(str(session))
        items = [item for item in items if session_key(session_of(item.path) or "") == wanted]
        if not items:
            raise FileError(f"session {session!r}: no file of it among the connectomes.")
    groups = _grouped(items, root)
    place = str(root) if root else items[0].label
    groups, set_aside = _without_truth(groups)
    chosen = _of_measure(_of_atlas(groups, atlas), measure)
    usable, notes = _usable(chosen)
    notes = (*set_aside, *notes)
    usable = _one_suffix(usable)
    if len(usable) > 1:
        raise SeveralMatricesError(place, [group.pattern for group in usable])
    counts = _with_sessions(usable[0])
    lengths = [g for g in _of_atlas(groups, atlas) if g.kind == "length" and g is not usable[0]]
    lengths = _one_suffix(lengths)
    found = lengths[0] if len(lengths) == 1 and counts.kind != "length" else None
    return Selection(counts, None if found is None else _with_sessions(found), notes)


def _without_truth(groups: list[Group]) -> tuple[list[Group], tuple[str, ...]]:
    """Leave out the motion-free scans that a simulation has beside its connectomes."""
    others = [group for group in groups if not group.pattern.startswith("truth/")]
    if not others or len(others) == len(groups):
        return groups, ()
    return others, ("truth/: passed over, motion-free scans of a simulation.",)


def _walk(folder: Path) -> Iterable[Item]:
    count = 0
    for parent, names, files in os.walk(folder, onerror=refuse_locked_folder):
        names.sort()
        stores = [name for name in names if is_store(Path(parent, name))]
        names[:] = [n for n in names if not n.startswith(".") and n not in stores]
        for name in sorted([*files, *stores]):
            count += 1
            if count > _MAX_FILES:
                raise FileError(f"{folder}: more than {_MAX_FILES} files. Name a folder inside.")
            plain = name.lower().removesuffix(".gz")
            companion = name.startswith(".") or plain.endswith("_nodeindices.tsv")
            if name in stores or (plain.endswith(_SUFFIXES) and not companion):
                yield Item(str(Path(parent, name)), Path(parent, name))


def _unpacked(item: Item) -> list[Item]:
    """List the files of a zip archive; formats that are archives themselves stay whole."""
    if item.path.is_dir() or not item.head().startswith(ZIP_MAGIC) or recognise(item) is not None:
        return [item]
    plain = [m for m in archive_members(item) if m.name.endswith(_SUFFIXES)]
    members = [m for m in plain if not m.name.endswith(".zip")]
    if not members:
        raise FileError(f"{item.label}: no connectome files in this archive. Check its content.")
    return members


def _grouped(items: Sequence[Item], root: Path | None) -> list[Group]:
    """Sort files by their pattern: the path with ``*`` in place of subject and session.

    Folders above the subject are part of the pattern only if they share subjects, as two pipelines
    do; sites do not.
    """
    subjects = subjects_of([item.path for item in items], root)
    whole: dict[str, list[tuple[str, Item]]] = {}
    for subject, item in zip(subjects, items, strict=True):
        whole.setdefault(_pattern(item.path, root, subject), []).append((subject, item))
    tails: dict[str, list[str]] = {}
    for pattern in whole:
        tails.setdefault(_from_subject(pattern), []).append(pattern)
    groups = []
    for tail, patterns in tails.items():
        members = [member for pattern in patterns for member in whole[pattern]]
        owners = [{subject for subject, _ in whole[pattern]} for pattern in patterns]
        if len(set().union(*owners)) == sum(map(len, owners)):
            groups.append(Group(tail, tuple(members)))
        else:
            groups += [Group(pattern, tuple(whole[pattern])) for pattern in patterns]
    return groups


def _pattern(path: Path, root: Path | None, subject: str) -> str:
    inside = root is not None and path.is_relative_to(root)
    shown = str(path.relative_to(root)) if root is not None and inside else path.name
    return without_session(shown.replace(subject, "*"))


def _from_subject(pattern: str) -> str:
    """Leave out the folders above that of the subject."""
    parts = pattern.split("/")
    first = next((i for i, part in enumerate(parts) if "*" in part.replace("ses-*", "")), 0)
    return "/".join(parts[first:])


def _of_atlas(groups: list[Group], atlas: str | None) -> list[Group]:
    """Keep the groups with the atlas in their names; all if only the files name it."""
    if atlas is None:
        return groups
    wanted = atlas.casefold()
    exact = [g for g in groups if (atlas_of(Path(g.pattern).name) or "").casefold() == wanted]
    return exact or [g for g in groups if wanted in g.pattern.casefold()] or groups


def _of_measure(groups: list[Group], measure: str | None) -> list[Group]:
    if measure is not None:
        wanted = measure.casefold()
        named = [g for g in groups if wanted in g.pattern.casefold()]
        return named or [g for g in groups if g.kind == kind_of(measure)] or groups
    for kind in ("count", "weight"):
        found = [g for g in groups if g.kind == kind]
        if any(_is_usable(g) for g in found):
            return found
    return [g for g in groups if g.kind in ACCEPTED] or groups


def _is_usable(group: Group) -> bool:
    try:
        return bool(read_contents(group.members[0][1]).holdings)
    except FileError:
        return False


def _usable(groups: list[Group]) -> tuple[list[Group], tuple[str, ...]]:
    """Leave out files that are not connectomes; if no others are there, raise the reason."""
    if len(groups) == 1:
        return groups, ()
    usable, notes = [], []
    for group in groups:
        if _is_usable(group):
            usable.append(group)
        else:
            alone = len(group.members) == 1
            name = group.members[0][1].path.name if alone else group.pattern
            notes.append(f"{name}: passed over, not recognised as connectomes.")
    if not usable:
        read_contents(groups[0].members[0][1])
    return usable or groups[:1], tuple(notes)


def _one_suffix(groups: list[Group]) -> list[Group]:
    """Of the same name with several suffixes, keep the format with most information."""
    by_stem: dict[str, list[Group]] = {}
    for group in groups:
        name = group.pattern.removesuffix(".gz")
        by_stem.setdefault(name[: -len(Path(name).suffix) or None], []).append(group)
    return [min(same, key=_preference) for same in by_stem.values()]


def _preference(group: Group) -> int:
    suffix = Path(group.pattern.removesuffix(".gz")).suffix
    return _PREFERENCE.index(suffix) if suffix in _PREFERENCE else len(_PREFERENCE)


def _with_sessions(group: Group) -> Group:
    """Give scans ids with their session, where somebody has several; see `scan_ids`."""
    sessions: dict[str, set[str | None]] = {}
    for subject, item in group.members:
        sessions.setdefault(subject, set()).add(session_of(item.path))
    if all(len(found) == 1 for found in sessions.values()):
        return group
    members = [(scan_id(one, session_of(item.path)), item) for one, item in group.members]
    return replace(group, members=tuple(members))
