"""The one reader of a study's files: connectomes, motion and traits of the same subjects.

Every verb reads through here, so that all of them find the same subjects, leave out the same ones,
and say so in the same words.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from stillome.cohort.cohort import Cohort
from stillome.cohort.confound_choice import not_motion
from stillome.cohort.motion_names import measure_of
from stillome.cohort.scan_ids import has_sessions
from stillome.cohort.validation.subject_twins import identical_subjects, twins_divided
from stillome.exceptions import InputError
from stillome.io.cohorts import MotionNeeded, read_cohort, without_fibres
from stillome.io.connectome_data import ConnectomeData
from stillome.io.connectomes import read_connectomes, select_subjects
from stillome.io.motion.summary import read_motion
from stillome.io.tables.events import ALL_SESSIONS
from stillome.io.tables.phenotypes import read_traits, trait_columns
from stillome.run.subject_tables import PathLike, SubjectTables, join_or_say


@dataclass(frozen=True, kw_only=True)
class StudyFiles:
    """Which files to read, and how.

    Parameters
    ----------
    connectomes, motion : tuple of str
        Files, folders or patterns, as for `read_connectomes` and `read_motion`.
    traits : tuple of str
        Tables of subjects, as for `read_traits`.
    labels, lengths, atlas, measure, symmetrize, session : str, optional
        As for `read_cohort`.
    subjects : tuple of str
        Ids of those wanted; by default everybody.

    Examples
    --------
    >>> StudyFiles(connectomes=["counts"], motion=["motion.tsv"]).motion
    ('motion.tsv',)
    """

    connectomes: tuple[str, ...] = ()
    motion: tuple[str, ...] = ()
    traits: tuple[str, ...] = ()
    labels: str | None = None
    lengths: str | None = None
    atlas: str | None = None
    measure: str | None = None
    symmetrize: str | None = None
    session: str | None = None
    subjects: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for field in fields(self):
            # By type, so that the fields of a subclass are made alike.
            if field.type == tuple[str, ...]:
                values = tuple(os.fspath(value) for value in getattr(self, field.name))
                object.__setattr__(self, field.name, tuple(dict.fromkeys(values)))

    def for_scans(self, subject_ids: Sequence[str]) -> Self:
        """Return the files with all sessions read where these ids are those of scans."""
        wanted = has_sessions(subject_ids) and self.session is None
        return replace(self, session=ALL_SESSIONS) if wanted else self


@dataclass(frozen=True, eq=False)
class StudyData:
    """What was read, of the subjects that have all of it.

    Attributes
    ----------
    data : ConnectomeData
        The connectomes with where they came from, for writers that keep the format.
    cohort : Cohort
    motion : pandas.DataFrame or None
        Of everybody, also of those without a connectome.
    dropped : pandas.DataFrame
        ``participant_id`` and ``reason`` of those who were left out.
    files : tuple of str
        Everything that was read.
    """

    data: ConnectomeData
    cohort: Cohort
    motion: pd.DataFrame | None
    dropped: pd.DataFrame
    files: tuple[str, ...]

    @property
    def index(self) -> "pd.Index[str]":
        """The ids, as the index of a table."""
        return pd.Index(self.cohort.subject_ids, name="participant_id", dtype=object)


def read_study(
    files: StudyFiles,
    columns: Sequence[str] | None = None,
    confounds: Sequence[str] = (),
    *,
    measures: Sequence[str] = (),
    motion_needed: MotionNeeded = "value",
    distinct: bool = False,
    group: str | None = None,
    dropped: PathLike | None = None,
    listed: PathLike | None = None,
    overwrite: bool = False,
) -> StudyData:
    """Read the subjects that have a connectome and a row in every table that was named.

    Parameters
    ----------
    files : StudyFiles
    columns : sequence of str, optional
        Columns of the traits that are needed; by default all.
    confounds : sequence of str
        Confounds asked for; those that motion does not have are looked for in the traits.
    measures : sequence of str
        Columns of motion that a model needs.
    motion_needed : {"value", "row", "nothing"}
        What a subject must have in a table of motion, as for `join_subjects`.
    distinct : bool, default=False
        Whether subjects with the same connectome are refused, as where a model is fitted to some
        of them and tested on others.
    group : str, optional
        A column of the traits; subjects of one group may have the same connectome.
    dropped : path-like, optional
        A table (``dropped.tsv``) to write with those who were left out, and why.
    listed : path-like, optional
        Where the caller writes that table itself, for the message.
    overwrite : bool, default=False
        Whether `dropped` may be replaced.

    Raises
    ------
    FileError, InputError
        One sentence that says what is wrong, where, and what to do.

    Warns
    -----
    StillomeWarning
        How many subjects were left out, and why.
    """
    data = read_matrices(files, files.connectomes)
    tables = read_tables(
        files.for_scans(data.subject_ids), columns, confounds, measures=measures
    ).of_scans(data.subject_ids)
    if files.subjects:
        tables = tables.of(data.subject_ids)
    kept, left_out = join_or_say(
        data.subject_ids,
        tables,
        empty=without_fibres(data),
        motion_needed=motion_needed,
        dropped=dropped,
        listed=listed,
        overwrite=overwrite,
    )
    data_kept = select_subjects(data, kept)
    cohort = read_cohort(
        data_kept,
        motion=None if tables.motion is None else tables.motion.reindex(kept),
        traits=None if tables.traits is None else tables.traits.loc[kept],
        labels=files.labels,
        lengths=files.lengths,
        motion_needed=motion_needed,
    )
    if distinct:
        _refuse_twins(cohort, group)
    read = tuple(dict.fromkeys([*data_kept.source.files, *tables.files]))
    return StudyData(data_kept, cohort, tables.motion, left_out, read)


def _refuse_twins(cohort: Cohort, group: str | None) -> None:
    """Refuse subjects with the same connectome, unless their group keeps them together."""
    groups = cohort.traits[group].tolist() if group in cohort.traits else cohort.people
    for first, second, *_ in twins_divided(identical_subjects(cohort.connectomes), groups):
        one, other = cohort.subject_ids[first], cohort.subject_ids[second]
        raise InputError(
            f"connectomes: {one!r} and {other!r} have the same connectome, edge for edge: a person "
            "or a file is there twice. Leave one of them out, or give both the same group=..."
        )


def read_matrices(files: StudyFiles, paths: Sequence[str]) -> ConnectomeData:
    """Read connectomes as the study's are read: same atlas, measure, labels and subjects."""
    return read_connectomes(
        # One folder is searched; several paths are taken as they are.
        paths[0] if len(paths) == 1 else list(paths),
        atlas=files.atlas,
        measure=files.measure,
        labels=files.labels,
        symmetrize=files.symmetrize,
        session=files.session,
        subjects=files.subjects or None,
    )


def read_truth(
    paths: Sequence[str], cohort: Cohort, labels: str | None = None
) -> NDArray[Any] | None:
    """Read motion-free connectomes (n, V, V) of the same subjects; None if no path is given.

    Only `labels` is shared with the study: the truth of a simulation may be kept in another format.

    Raises
    ------
    FileError, InputError
        If a subject is missing, or the regions are others.
    """
    if not paths:
        return None
    truth = read_matrices(StudyFiles(labels=labels, subjects=tuple(cohort.subject_ids)), paths)
    if truth.n_regions != cohort.n_regions:
        raise InputError(
            f"truth: {truth.n_regions} regions; the connectomes have {cohort.n_regions}."
        )
    return np.asarray(truth.connectomes)


def read_tables(
    files: StudyFiles,
    columns: Sequence[str] | None = None,
    confounds: Sequence[str] = (),
    *,
    measures: Sequence[str] = (),
) -> SubjectTables:
    """Read motion and traits of everybody who is in them.

    Parameters
    ----------
    files, columns, confounds
        As for `read_study`.
    measures : sequence of str
        Columns of motion that a model needs; they are not looked for in the traits.
    """
    there = trait_columns(files.traits) if files.traits else set()
    # Of a column that both have, motion's is meant only if its name says so: age is no motion.
    own = [name for name in confounds if measure_of(name) or name not in there]
    motion = None
    if files.motion:
        wanted_of_motion = (*own, *measures)
        motion = read_motion(list(files.motion), session=files.session, confounds=wanted_of_motion)
    wanted = None
    if columns is not None:
        wanted = list(dict.fromkeys([*columns, *not_motion(motion, confounds)]))
    if columns and not files.traits:
        raise InputError(f"{columns[0]!r} is in no table. Name the table with traits=...")
    traits = None
    if files.traits and wanted != []:
        traits = read_traits(list(files.traits), columns=wanted, session=files.session)
    read: list[str] = [] if motion is None else list(motion.attrs["files"])
    if traits is not None:
        source = traits.attrs["source"]  # of one table its name, of several a list
        read += [source] if isinstance(source, str) else list(source)
    return SubjectTables(motion, traits, tuple(read))
