"""`read_cohort`: connectomes, motion and traits of the same subjects, joined by id."""

import os
import warnings
from collections.abc import Collection, Iterable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from stillome.arrays import Floats
from stillome.cohort.cohort import Cohort
from stillome.cohort.scan_ids import has_sessions, rows_of_scans
from stillome.exceptions import ConfoundsError, FileError, InputError, StillomeWarning
from stillome.io.connectome_data import ConnectomeData
from stillome.io.connectomes import read_connectomes, select_subjects
from stillome.io.fibre_lengths import mean_lengths
from stillome.io.find import PathLike
from stillome.io.motion.summary import read_motion
from stillome.io.subject_ids import ids_in_common, normalise_ids
from stillome.io.tables.events import ALL_SESSIONS, SeveralEventsError
from stillome.io.tables.phenotypes import read_traits
from stillome.persistence import write_table, written_aside

Paths = PathLike | Sequence[PathLike]


MotionNeeded = Literal["value", "row", "nothing"]


class Join(NamedTuple):
    """Who is kept, in the order of the connectomes, and who is not and why."""

    kept: list[str]
    dropped: pd.DataFrame


def read_cohort(
    connectomes: Paths | ConnectomeData,
    *,
    motion: Paths | pd.DataFrame | None = None,
    traits: Paths | pd.DataFrame | None = None,
    labels: PathLike | Sequence[str] | None = None,
    lengths: PathLike | ArrayLike | None = None,
    dropped: PathLike | None = None,
    session: str | None = None,
    event: str | None = None,
    trait_columns: Sequence[str] | None = None,
    missing_values: Iterable[float] = (),
    rotation_unit: str | None = None,
    confounds: Sequence[str] = (),
    motion_needed: MotionNeeded = "value",
    overwrite: bool = False,
    **reading: Any,
) -> Cohort:
    r"""Read everything that belongs to the same subjects, joined by id.

    Parameters
    ----------
    connectomes : path-like, sequence of path-like, or ConnectomeData
        As for `read_connectomes`.
    motion : path-like, sequence of path-like, or pandas.DataFrame, optional
        Folders as for `read_motion`, or a table indexed by subject id with units in its names.
    traits : path-like, sequence of path-like, or pandas.DataFrame, optional
        Tables as for `read_traits`, or one indexed by subject id.
    labels : path-like, sequence of str, or "dk68", optional
        Names of the regions.
    lengths : path-like or array of shape (V, V), optional
        Fibre lengths in mm; by default those found with the connectomes.
    dropped : path-like, optional
        A file (``dropped.tsv``) that lists who was left out, and why.
    session, event : str, optional
        The session of the connectome and motion files; that of the tables of traits. Without,
        every session is a row of the cohort, if somebody has several; rows of tables without
        sessions (sex, family) hold for all scans of a person.
    trait_columns, missing_values
        As `columns` and `missing_values` of `read_traits`.
    rotation_unit : {"rad", "deg"}, optional
        As for `read_motion`.
    confounds : sequence of str
        Further columns of numbers to take from tables of motion, as for `read_motion`.
    motion_needed : {"value", "row", "nothing"}, default="value"
        What a subject must have in `motion`: a value, a row (of which all values may be missing),
        or neither. `InvFA` infers motion that is missing.
    overwrite : bool, default=False
        Whether `dropped` may be replaced.
    **reading
        Further arguments of `read_connectomes`.

    Returns
    -------
    Cohort
        The subjects that have all of what was given; a trait may still be missing (NaN).

    Raises
    ------
    FileError, InputError
        If something cannot be read, no ids are in common (E10), or no subject is left (E13).

    Warns
    -----
    StillomeWarning
        If subjects were left out: those that lack something (E13), and those of the tables that
        have no connectome. `dropped` lists all of them with the reason.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> folder = Path(tempfile.mkdtemp())
    >>> for subject, count in (("A", 5), ("B", 3)):
    ...     _ = (folder / f"sub-{subject}_connectome.csv").write_text(f"0,{count}\n{count},0\n")
    >>> motion = pd.DataFrame({"rms_mm": [0.9, 0.2]}, index=["B", "A"])
    >>> read_cohort(folder, motion=motion).motion["rms_mm"].tolist()
    [0.2, 0.9]
    """
    data = connectomes
    if not isinstance(data, ConnectomeData):
        data = read_connectomes(data, labels=labels, session=session, **reading)
    if has_sessions(data.subject_ids):
        session, event = session or ALL_SESSIONS, event or ALL_SESSIONS
    moved = _motion_table(motion, session, rotation_unit, confounds)
    known = _trait_table(traits, event, trait_columns, missing_values)
    moved, known = (_of_scans(table, data.subject_ids) for table in (moved, known))
    empty = without_fibres(data)
    join = join_subjects(data.subject_ids, moved, known, empty=empty, motion_needed=motion_needed)
    if dropped is not None:
        with written_aside(dropped, overwrite=overwrite) as aside:
            write_table(aside, join.dropped)
    _report(join, dropped)
    kept = select_subjects(data, join.kept)
    return Cohort(
        subject_ids=kept.subject_ids,
        connectomes=kept.connectomes,
        motion=pd.DataFrame() if moved is None else moved.reindex(join.kept),
        traits=pd.DataFrame() if known is None else known.loc[join.kept],
        regions=kept.regions,
        lengths=kept.lengths if lengths is None else _read_lengths(lengths, labels),
    )


def join_subjects(
    subject_ids: Sequence[str],
    motion: pd.DataFrame | None,
    traits: pd.DataFrame | None,
    *,
    empty: Collection[str] = (),
    motion_needed: MotionNeeded = "value",
) -> Join:
    """Find the subjects that have everything, and what each of the others lacks.

    Parameters
    ----------
    subject_ids : sequence of str
        Those with connectomes, normalised.
    motion, traits : pandas.DataFrame or None
        Indexed by normalised id.
    empty : collection of str
        Those whose connectome has no fibre at all; they are left out.
    motion_needed : {"value", "row", "nothing"}
        What a subject must have in `motion`: a value, a row (of which all values may be missing),
        or neither. A method that infers motion needs no value.

    Raises
    ------
    InputError
        If connectomes and a table have no id in common (E10).
    """
    lacking: dict[str, list[str]] = {
        subject: ["no fibre"] if subject in empty else [] for subject in subject_ids
    }
    scanned = frozenset(subject_ids)
    for name, table in (("motion", motion), ("traits", traits)):
        if table is None:
            continue
        try:
            ids_in_common(list(subject_ids), list(table.index), right_name=name)
        except InputError as error:
            if (name, motion_needed) != ("motion", "nothing"):
                raise
            sentence = f"{error} Or leave out motion=...: it is then inferred."
            raise InputError(sentence) from error
        known = set(table.index)
        if name == "motion" and motion_needed == "value":
            known = set(table.index[table.notna().any(axis=1)])
            if known.isdisjoint(scanned):
                raise ConfoundsError(
                    f"motion: {', '.join(table.columns)} is missing for all "
                    f"{len(scanned.intersection(table.index))} subjects. Measure it, or name "
                    "another with confounds=..."
                )
        for subject in subject_ids:
            if subject not in known and (name, motion_needed) != ("motion", "nothing"):
                lacking[subject].append(f"no {name}")
        for subject in table.index:
            if subject not in scanned:
                lacking.setdefault(subject, ["no connectome"])
    kept = [subject for subject in subject_ids if not lacking[subject]]
    rows = [(subject, ", ".join(reasons)) for subject, reasons in lacking.items() if reasons]
    return Join(kept, pd.DataFrame(rows, columns=["participant_id", "reason"]))


def without_fibres(data: ConnectomeData) -> set[str]:
    """Return the subjects whose connectome is empty."""
    return {
        subject
        for subject, one in zip(data.subject_ids, data.connectomes, strict=True)
        if not np.any(one)
    }


def _of_scans(table: pd.DataFrame | None, scans: Sequence[str]) -> pd.DataFrame | None:
    return None if table is None else rows_of_scans(table, scans)


def _report(join: Join, dropped: PathLike | None) -> None:
    """Say who was left out: subjects that lack something (E13), and rows without a connectome."""
    reasons = join.dropped["reason"]
    n_motion = int(reasons.str.contains("no motion").sum())
    n_traits = int(reasons.str.contains("no traits").sum())
    place = os.fspath(dropped) if dropped is not None else None
    where = f"Listed in {place}" if place else "Pass dropped='dropped.tsv' to list them"
    unseen = join.dropped.loc[reasons == "no connectome", "participant_id"]
    kept = f"kept {len(join.kept)}. {where}"
    n_empty = int(reasons.str.contains("no fibre").sum())
    if n_empty:
        kept = f"{n_empty} have an empty connectome; {kept}"
    sentence = f"{n_motion} subjects lack motion, {n_traits} lack traits; {kept}"
    if len(unseen):
        absent = f"{len(unseen)} subjects of the tables have no connectome, e.g. {unseen.iloc[0]!r}"
        sentence = f"{sentence}; {absent}." if n_motion or n_traits else f"{absent}; {kept}"
    if not join.kept:
        raise InputError(sentence)
    if len(reasons):
        warnings.warn(sentence, StillomeWarning, stacklevel=3)


def _motion_table(
    motion: Paths | pd.DataFrame | None,
    session: str | None,
    rotation_unit: str | None,
    confounds: Sequence[str],
) -> pd.DataFrame | None:
    if motion is None or isinstance(motion, pd.DataFrame):
        return _with_normal_ids(motion, "motion")
    return read_motion(motion, session=session, rotation_unit=rotation_unit, confounds=confounds)


def _trait_table(
    traits: Paths | pd.DataFrame | None,
    event: str | None,
    columns: Sequence[str] | None,
    missing_values: Iterable[float],
) -> pd.DataFrame | None:
    if traits is None or isinstance(traits, pd.DataFrame):
        return _with_normal_ids(traits, "traits")
    try:
        return read_traits(traits, columns=columns, session=event, missing_values=missing_values)
    except SeveralEventsError as error:
        # Here `session` is that of the connectomes and motion files.
        sentence = str(error).replace("session=", "event=")
        raise SeveralEventsError(sentence, error.facts) from error


def _with_normal_ids(table: pd.DataFrame | None, name: str) -> pd.DataFrame | None:
    if table is None:
        return None
    normal = normalise_ids(list(table.index), name=name)
    return table.set_axis(pd.Index(normal, name="participant_id", dtype=object), axis=0)


def _read_lengths(lengths: PathLike | ArrayLike, labels: PathLike | Sequence[str] | None) -> Floats:
    """Read lengths from files (the mean over subjects), or take them as given."""
    if not isinstance(lengths, str | os.PathLike):
        try:
            return np.asarray(lengths, dtype=np.float64)
        except (ValueError, TypeError) as error:
            raise InputError(f"lengths: not an array of numbers ({error}).") from error
    data = read_connectomes(lengths, measure="length", labels=labels, symmetrize="max")
    if data.n_subjects > 100_000:
        raise FileError(f"{lengths}: {data.n_subjects} matrices of lengths; give their mean.")
    return mean_lengths(np.asarray(data.connectomes))
