"""Tables about subjects: BIDS participants and phenotypes, ABCD of every release, HCP.

Ids are text and stay text. Other columns become numbers where every cell is one.
"""

import difflib
import functools
import os
import re
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from stillome.exceptions import FileError, InputError, StillomeWarning
from stillome.io.subject_ids import ID_COLUMNS, ids_in_common, normalise_ids
from stillome.io.tables.delimited import read_cells
from stillome.io.tables.events import (
    ALL_SESSIONS,
    SESSION_COLUMNS,
    check_one_row_each,
    choose_session,
    ids_of_scans,
)

SENTINELS = (-999.0, 777.0, 888.0)

_ABCD_ADMINISTRATION = ("collection_id", "collection_title", "dataset_id", "interview_date")
_ALWAYS_MISSING = frozenset({"", "n/a", "N/A"})
_MISSING_AMONG_NUMBERS = frozenset({"NA", "NaN", "nan", "NAN"})
_MOST_COLUMNS = 20_000
_LEADING_ZERO = re.compile(r"^0\d")


def read_table(
    path: str | os.PathLike[str],
    *,
    columns: Sequence[str] | None = None,
    session: str | None = None,
    id_column: str | None = None,
    missing_values: Iterable[float] = (),
) -> pd.DataFrame:
    r"""Read a table with one row per subject (and event).

    Parameters
    ----------
    path : path-like
        BIDS ``participants.tsv`` or ``phenotype/*.tsv``, an ABCD ``.txt`` (with its row of
        descriptions) or ``.csv``, an HCP ``.csv``; comma, tab or semicolon; may be gzipped.
    columns : sequence of str, optional
        The columns wanted; by default all but ids, sessions and ABCD's administration.
    session : str, optional
        The session or event whose rows are wanted (``ses-01`` or ``01``,
        ``baseline_year_1_arm_1`` or, of any release, ``00A``). Needed where subjects have
        several. "all" reads every session as a row of its own, with ids ``A01_ses-01``.
    id_column : str, optional
        The column that holds the ids, where it is none of the usual ones.
    missing_values : iterable of float, optional
        Codes that mean missing, such as -999. They are never set to missing by default: -999,
        777 and 888 are kept and a warning names their columns.

    Returns
    -------
    pandas.DataFrame
        Index ``participant_id``: normalised ids, text. Numbers as float64, ``n/a`` as NaN.
        ``attrs`` holds ``source``, ``id_column``, ``session`` and ABCD's ``descriptions``.

    Raises
    ------
    FileError, InputError
        If the file is not such a table, rows repeat a subject (E8, E9), or a column is not there.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "participants.tsv")
    >>> _ = path.write_text("participant_id\tage\nsub-001\t10\nsub-NA\tn/a\n")
    >>> read_table(path)
                     age
    participant_id
    001             10.0
    NA               NaN
    """
    path = Path(path)
    table, descriptions = read_cells(path)
    ids = _id_column(table, id_column, path)
    table = choose_session(table, session, path)
    if session == ALL_SESSIONS:
        table = ids_of_scans(table, ids)
    check_one_row_each(table, ids, path)
    try:
        normal = normalise_ids(table[ids], name=str(path))
    except InputError as error:
        raise FileError(str(error)) from error
    administration = {name.lower() for name in (*ID_COLUMNS, *SESSION_COLUMNS)}
    administration |= {ids.lower(), *_ABCD_ADMINISTRATION}
    table = table.set_axis(pd.Index(normal, name="participant_id", dtype=object), axis=0)
    kept = [name for name in table.columns if name.lower() not in administration]
    if columns is None and len(kept) > _MOST_COLUMNS:
        raise FileError(
            f"{path}: {len(kept)} columns; at most {_MOST_COLUMNS} are read at once. Keep those "
            "you need in a table of their own."
        )
    table = _select(table, kept if columns is None else columns, path)
    table = pd.DataFrame({name: _typed(table[name]) for name in table}, index=table.index)
    table = _without_codes(table, [float(code) for code in missing_values], path)
    table.attrs = {
        "source": str(path),
        "id_column": ids,
        "session": session,
        "descriptions": {name: descriptions.get(name, "") for name in table},
    }
    return table


def read_traits(
    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    columns: Sequence[str] | None = None,
    session: str | None = None,
    missing_values: Iterable[float] = (),
) -> pd.DataFrame:
    r"""Read and join tables about the subjects, one row each.

    Parameters
    ----------
    paths : path-like or sequence of path-like
        Tables as in `read_table`, or a BIDS folder: its ``participants.tsv`` and
        ``phenotype/*.tsv``. Subjects of all tables are kept; what a table lacks is missing.
    columns, session, missing_values
        As in `read_table`; each column must be found in one of the tables.

    Raises
    ------
    FileError, InputError
        As `read_table`; also if two tables contradict each other or have no common id (E10).

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> (folder / "phenotype").mkdir()
    >>> _ = (folder / "participants.tsv").write_text("participant_id\tage\nsub-01\t9\nsub-02\t10\n")
    >>> table = "participant_id\treading\nsub-02\t101\nsub-01\tn/a\n"
    >>> _ = (folder / "phenotype" / "reading.tsv").write_text(table)
    >>> read_traits(folder).loc["02"].to_dict()
    {'age': 10.0, 'reading': 101.0}
    """
    given = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    files = [file for path in given for file in _tables_of(Path(path))]
    if not files:
        raise InputError("traits: no table given.")
    if len(files) == 1:
        return read_table(files[0], columns=columns, session=session, missing_values=missing_values)
    codes = tuple(missing_values)
    parts = []
    for file in files:
        there = read_cells(file)[0].columns
        wanted = None if columns is None else [name for name in columns if name in there]
        parts.append(read_table(file, columns=wanted, session=session, missing_values=codes))
    joined = functools.reduce(_join, parts)
    joined = _select(joined, list(joined.columns) if columns is None else columns, files[0].parent)
    joined.attrs = {"source": [str(file) for file in files], "session": session}
    return joined


def trait_columns(paths: Sequence[str | os.PathLike[str]]) -> set[str]:
    """Return the names of all columns of tables, or of the tables of a BIDS folder."""
    files = [file for path in paths for file in _tables_of(Path(path))]
    return {str(name) for file in files for name in read_cells(file)[0].columns}


def _tables_of(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    found = [path / "participants.tsv"] if (path / "participants.tsv").is_file() else []
    found += sorted((path / "phenotype").glob("*.tsv"))
    if not found:
        raise FileError(
            f"{path}: neither participants.tsv nor phenotype/*.tsv in this folder. "
            "Give the table itself."
        )
    return found


def _join(left: pd.DataFrame, right: pd.DataFrame) -> pd.DataFrame:
    common = ids_in_common(
        list(left.index),
        list(right.index),
        left_name=str(left.attrs.get("source", "tables so far")),
        right_name=right.attrs["source"],
    )
    for name in left.columns.intersection(right.columns):
        ours, theirs = left.loc[common, name], right.loc[common, name]
        if not ((ours == theirs) | ours.isna() | theirs.isna()).all():
            raise InputError(
                f"{right.attrs['source']}: column {name!r} contradicts another table. "
                "Rename one of them or choose columns=...."
            )
    rows = left.index.append(right.index.difference(left.index, sort=False))
    aligned = left.reindex(rows).combine_first(right.reindex(rows)).loc[rows]
    names = [*left.columns, *(name for name in right.columns if name not in left)]
    return aligned[names]


def _id_column(table: pd.DataFrame, wanted: str | None, path: Path) -> str:
    by_name = {name.lower(): name for name in reversed(table.columns)}
    found = next((by_name[name] for name in ID_COLUMNS if name in by_name), None)
    if wanted is not None:
        found = wanted if wanted in table else None
    if found is None:
        raise FileError(
            f"{path}: no column of subject ids ({wanted or 'participant_id'!r} or the like) among "
            f"{list(table.columns)[:8]}. Name it participant_id."
        )
    for number, subject in enumerate(table[found], start=1):
        if subject in _ALWAYS_MISSING:
            raise FileError(f"{path}: subject {number} has no id in {found!r}. Fill it in.")
    return found


def _select(table: pd.DataFrame, columns: Sequence[str], path: Path) -> pd.DataFrame:
    for name in columns:
        if name not in table:
            close = difflib.get_close_matches(name, [str(c) for c in table.columns], n=3)
            raise InputError(
                f"{path}: no column {name!r}; "
                f"it has {close or [str(c) for c in table.columns[:8]]}. Choose one of them."
            )
    return table[list(columns)]


def to_numbers(column: "pd.Series[str]", path: str | os.PathLike[str]) -> "pd.Series[float]":
    """Return a column of cells as numbers, with NaN for ``n/a``.

    Raises
    ------
    FileError
        If a cell is neither a finite number nor missing.
    """
    numbers = _typed(column)
    if not pd.api.types.is_numeric_dtype(numbers) or np.isinf(numbers).any():
        raise FileError(
            f"{path}: column {column.name!r} has a cell that is not a number. Correct it."
        )
    return numbers


def _typed(column: "pd.Series[str]") -> "pd.Series[float]":
    """Make a column of text numeric where all of it is, with NaN where it is missing."""
    text = column.mask(column.isin(_ALWAYS_MISSING))
    known = text[~text.isna() & ~text.isin(_MISSING_AMONG_NUMBERS)]
    # A site '007' is a name, not seven.
    if any(_LEADING_ZERO.match(value) for value in known):
        return text
    try:
        numbers = [float(value) for value in known]
    except ValueError:
        return text
    # Python reads 1_000 as a number; no table means that.
    if any("_" in value for value in known):
        return text
    return pd.Series(numbers, known.index, dtype=np.float64, name=column.name).reindex(column.index)


def _without_codes(table: pd.DataFrame, codes: Sequence[float], path: Path) -> pd.DataFrame:
    numeric = table.select_dtypes("number").columns
    if codes:
        table = table.assign(
            **{name: table[name].mask(table[name].isin(codes)) for name in numeric}
        )
    suspects = [
        f"{code:g} in {name!r} ({int((table[name] == code).sum())}×)"
        for name in numeric
        for code in SENTINELS
        if (table[name] == code).any()
    ]
    if suspects:
        shown = ", ".join(suspects[:6]) + (", …" if len(suspects) > 6 else "")
        warnings.warn(
            f"{path}: {shown} may be codes for missing; they were left as they are. "
            "Pass missing_values=... to make them missing.",
            StillomeWarning,
            stacklevel=3,
        )
    return table
