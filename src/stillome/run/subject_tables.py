"""Motion and traits by subject, and who has everything that was named."""

import os
import warnings
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import pandas as pd

from stillome.cohort.scan_ids import rows_of_scans
from stillome.exceptions import InputError, StillomeWarning
from stillome.io.cohorts import MotionNeeded, join_subjects
from stillome.persistence import write_table, written_aside

PathLike = str | os.PathLike[str]


@dataclass(frozen=True, eq=False)
class SubjectTables:
    """Motion and traits by subject id.

    Attributes
    ----------
    motion, traits : pandas.DataFrame or None
        One row per subject; None if no file was named.
    files : tuple of str
        What they were read from.
    """

    motion: pd.DataFrame | None
    traits: pd.DataFrame | None
    files: tuple[str, ...] = ()

    def of_scans(self, scans: Sequence[str]) -> "SubjectTables":
        """Return the rows of people for each of their scans; see `rows_of_scans`."""
        motion, traits = (
            None if table is None else rows_of_scans(table, scans)
            for table in (self.motion, self.traits)
        )
        return replace(self, motion=motion, traits=traits)

    def of(self, subject_ids: Sequence[str]) -> "SubjectTables":
        """Return the rows of some subjects: whoever was not asked for does not count as missing."""
        wanted = set(subject_ids)

        def rows(table: pd.DataFrame | None) -> pd.DataFrame | None:
            known = None if table is None else table[table.index.isin(wanted)]
            # Without any of them, the whole table shows best which ids it has.
            return table if known is None or known.empty else known

        return replace(self, motion=rows(self.motion), traits=rows(self.traits))


def join_or_say(
    subject_ids: Sequence[str],
    tables: SubjectTables,
    *,
    empty: Collection[str] = (),
    motion_needed: MotionNeeded = "value",
    dropped: PathLike | None = None,
    listed: PathLike | None = None,
    overwrite: bool = False,
) -> tuple[list[str], pd.DataFrame]:
    """Return who has everything and the table of the others, and say how many these are.

    Parameters
    ----------
    subject_ids : sequence of str
        Those with connectomes or features.
    tables : SubjectTables
    empty : collection of str
        Those whose connectome has no fibre.
    motion_needed, dropped, listed, overwrite
        As for `read_study`.

    Raises
    ------
    InputError
        If nobody has everything.

    Warns
    -----
    StillomeWarning
        If somebody was left out.
    """
    kept, left_out = join_subjects(
        subject_ids, tables.motion, tables.traits, empty=empty, motion_needed=motion_needed
    )
    if dropped is not None:
        with written_aside(dropped, overwrite=overwrite) as aside:
            write_table(aside, left_out)
    if len(left_out):
        counts = left_out["reason"].value_counts().items()
        reasons = ", ".join(f"{count} with {reason}" for reason, count in counts)
        n, one = len(left_out), left_out["participant_id"].iloc[0]
        said = (
            f"{n} {'subject was' if n == 1 else 'subjects were'} left out ({reasons}), e.g. {one!r}"
        )
        if not kept:
            raise InputError(f"{said}; nobody is left. Give files of the same subjects.")
        place = dropped if listed is None else listed
        where = "" if place is None else f" {place} lists them."
        warnings.warn(f"{said}; {len(kept)} are kept.{where}", StillomeWarning, stacklevel=3)
    return kept, left_out
