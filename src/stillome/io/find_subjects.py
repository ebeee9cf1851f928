"""Whose file is it: subject ids from paths, as BIDS, HCP, UK Biobank and others name things."""

import re
from collections.abc import Sequence
from pathlib import Path

from stillome.io.guarded_files import Item

_BIDS = re.compile(r"(?<![A-Za-z0-9])sub-([A-Za-z0-9]+(?:_INV[A-Za-z0-9]+)?)")
_SESSION = re.compile(r"(?<![A-Za-z0-9])ses-([A-Za-z0-9]+)")
_UK_BIOBANK = re.compile(r"^(\d{7})_\d{5}_\d+_\d+")
_TOKENS = re.compile(r"[_.]")


def session_of(path: Path) -> str | None:
    """Return the session that a path speaks of.

    Examples
    --------
    >>> session_of(Path("sub-01/ses-baseline/dwi/sub-01_connectivity.mat"))
    'baseline'
    """
    found = _SESSION.findall(str(path))
    return found[-1] if found else None


def subjects_of(items: Sequence[Item], root: Path | None = None) -> list[tuple[str, str]]:
    """Find each file's subject, and the pattern that is left without it.

    Parameters
    ----------
    items : sequence of Item
    root : pathlib.Path, optional
        The folder that was searched; ids are not sought above it unless nothing else helps.

    Returns
    -------
    list of (subject, pattern)
        The id as written, and the path with ``*`` in its place: files of the same pattern are
        the same thing for different subjects.

    Examples
    --------
    >>> files = [Item(name, Path(name)) for name in ("100307_count.csv", "100408_count.csv")]
    >>> subjects_of(files)
    [('100307', '*_count.csv'), ('100408', '*_count.csv')]
    """
    varying = _varying_token([item for item in items if _explicit(item, root) is None])
    found = []
    for item in items:
        explicit = _explicit(item, root)
        relative = _relative(item.path, root)
        if explicit is not None:
            subject, written = explicit
            pattern = relative.replace(written, "*")
        else:
            tokens = _tokens(item.path)
            subject = tokens[varying] if varying < len(tokens) else tokens[0]
            pattern = relative.replace(subject, "*")
        found.append((subject, _SESSION.sub("ses-*", pattern)))
    return found


def _explicit(item: Item, root: Path | None) -> tuple[str, str] | None:
    """Return an id that the path states by itself: (id, as written there)."""
    path = item.path
    found = _BIDS.findall(path.name) or _BIDS.findall(str(path.parent))
    if found:
        return f"sub-{found[-1]}", f"sub-{found[-1]}"
    if path.parent.name == "Compute_Connectivity":
        return path.parent.parent.name, path.parent.parent.name
    for part in reversed(path.parts):
        released = _UK_BIOBANK.match(part)
        if released:
            return released.group(1), released.group(1)
    inside = path.relative_to(root).parts if root and path.is_relative_to(root) else ()
    if len(inside) > 1:
        return inside[0], inside[0]
    return None


def _relative(path: Path, root: Path | None) -> str:
    return str(path.relative_to(root)) if root and path.is_relative_to(root) else path.name


def _tokens(path: Path) -> list[str]:
    name = path.name
    for suffix in (".gz", ".nii", ".gii", ".shape"):
        name = name.removesuffix(suffix)
    stem = name.rsplit(".", 1)[0] if "." in name else name
    return [token for token in _TOKENS.split(stem.replace("NDAR_INV", "NDARINV")) if token] or [
        stem
    ]


def _varying_token(items: Sequence[Item]) -> int:
    """Return the place in the names where files differ most: there the id stands."""
    tokens = [_tokens(item.path) for item in items]
    if len(tokens) < 2:
        return 0
    width = min(len(row) for row in tokens)
    differing = [len({row[i] for row in tokens}) for i in range(width)]
    return differing.index(max(differing))
