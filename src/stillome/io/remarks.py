"""Remarks on connectomes after cleaning."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stillome.io.clean import Tally

_LISTED = 5
_STORED = {
    "upper": "as upper triangles",
    "lower": "as lower triangles",
    "symmetrised": "neither symmetric nor triangular, and symmetrised",
}


def remarks(tally: Tally, sample: NDArray[Any], *, is_length: bool = False) -> tuple[str, ...]:
    """Report diagonals set to 0, triangles mirrored, and counts that are not integers."""
    notes = []
    if tally.diagonal_fraction > 0 and not is_length:
        notes.append(f"diagonals set to 0 ({tally.diagonal_fraction:.1%} of all fibres).")
    stored = {form: n for form, n in tally.triangles.items() if form != "symmetric"}
    notes.extend(f"{n} matrices were stored {_STORED[form]}." for form, n in stored.items())
    if not is_length and sample.dtype.kind == "f" and (sample != np.rint(sample)).any():
        notes.append("not integer: SIFT2-weighted? Kept as they are.")
    return tuple(notes)


def empty_regions(
    tally: Tally, subject_ids: Sequence[str], regions: Sequence[str]
) -> tuple[str, ...]:
    """Name the regions without any fibre, with the subjects."""
    found = []
    for region, positions in sorted(tally.empty_regions.items()):
        who = ", ".join(subject_ids[i] for i in positions[:_LISTED])
        more = f" and {len(positions) - _LISTED} more" if len(positions) > _LISTED else ""
        found.append(f"region {regions[region]!r} has no fibre in {who}{more}.")
    return tuple(found)
