"""Remarks on connectomes after cleaning."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from stillome.io.clean import Tally, blocks_of

SAMPLE = 16  # subjects in whom whole numbers are looked for
_LISTED = 5
_STORED = {
    "upper": "as upper triangles",
    "lower": "as lower triangles",
    "symmetrised": "neither symmetric nor triangular, and symmetrised",
}


def remarks(tally: Tally, sample: Any, *, is_length: bool = False) -> tuple[str, ...]:
    """Report diagonals set to 0, triangles mirrored, and counts that are not integers.

    Parameters
    ----------
    tally : Tally
    sample : array or LazyStack of shape (k, V, V)
        Matrices of a few subjects, cleaned.
    is_length : bool
    """
    notes = []
    if tally.diagonal_fraction > 0 and not is_length:
        notes.append(f"diagonals set to 0 ({tally.diagonal_fraction:.1%} of all fibres).")
    stored = {form: n for form, n in tally.triangles.items() if form != "symmetric"}
    notes.extend(f"{n} matrices were stored {_STORED[form]}." for form, n in stored.items())
    if not is_length and sample.dtype.kind == "f" and not _whole(sample):
        notes.append("not integer: SIFT2-weighted? Kept as they are.")
    return tuple(notes)


def _whole(sample: Any) -> bool:
    # Row by row of the largest matrices, since numbers rounded take as much memory again.
    blocks = (part for matrix in sample for _, part in blocks_of(matrix))
    return all(bool((part == np.rint(part)).all()) for part in blocks)


def empty_regions(
    tally: Tally, subject_ids: Sequence[str], regions: Sequence[str]
) -> tuple[str, ...]:
    """Name the subjects without any fibre, and the regions without in other subjects."""
    found = []
    empty = empty_subjects(tally, len(regions))
    if empty:
        who = _listed([subject_ids[i] for i in empty])
        found.append(f"no fibre at all in {who}; such a connectome cannot be used.")
    for region, everybody in sorted(tally.empty_regions.items()):
        positions = [i for i in everybody if i not in empty]
        if not positions:
            continue
        who = _listed([subject_ids[i] for i in positions])
        found.append(f"region {regions[region]!r} has no fibre in {who}.")
    return tuple(found)


def empty_subjects(tally: Tally, n_regions: int) -> list[int]:
    """Return the positions of subjects of whom no region has a fibre, in order."""
    counts = Counter(i for positions in tally.empty_regions.values() for i in positions)
    return sorted(i for i, count in counts.items() if count == n_regions)


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return ", ".join(names[:_LISTED]) + more
