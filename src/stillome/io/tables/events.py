"""Sessions and events of a table: the user chooses one by name, or reads all as rows."""

from pathlib import Path

import numpy as np
import pandas as pd

from stillome.cohort.scan_ids import scan_id, session_key
from stillome.exceptions import InputError
from stillome.io.subject_ids import bare_session

ALL_SESSIONS = "all"
SESSION_COLUMNS = ("session_id", "eventname", "session", "event", "visit", "ses")


class SeveralEventsError(InputError):
    """A table has several rows per subject (E9); `facts` says how many of what."""

    def __init__(self, sentence: str, facts: dict[str, str]) -> None:
        super().__init__(sentence)
        self.facts = facts


def choose_session(table: pd.DataFrame, session: str | None, path: Path) -> pd.DataFrame:
    """Keep the rows of one session; all rows if none is asked for, or the table has no sessions.

    Raises
    ------
    InputError
        If no row is of that session.
    """
    columns = [name for name in table.columns if name.lower() in SESSION_COLUMNS]
    if session in (None, ALL_SESSIONS) or not columns:
        return table
    wanted = session_key(str(session))
    rows = np.logical_or.reduce([table[name].map(session_key) == wanted for name in columns])
    if not rows.any():
        there = sorted(set(table[columns[0]]))
        raise InputError(f"{path}: no session {session!r}; it has {there[:6]}. Choose one of them.")
    return table[rows].reset_index(drop=True)


def ids_of_scans(table: pd.DataFrame, ids: str) -> pd.DataFrame:
    """Return the table with ids of scans in the column `ids`, where it has sessions."""
    columns = [name for name in table.columns if name.lower() in SESSION_COLUMNS]
    if not columns:
        return table
    pairs = zip(table[ids], table[columns[0]], strict=True)
    scans = [scan_id(person, bare_session(session) or None) for person, session in pairs]
    return table.assign(**{ids: scans})


def check_one_row_each(table: pd.DataFrame, ids: str, path: Path) -> None:
    """Refuse a table in which a subject has several rows; `ids` is the column of subjects.

    Raises
    ------
    SeveralEventsError, InputError
        If the rows are of several events (E9), or a subject is repeated within one event.
    """
    repeated = table[ids][table[ids].duplicated()]
    if repeated.empty:
        return
    columns = [name for name in table.columns if name.lower() in SESSION_COLUMNS]
    events = sorted(set(table[columns[0]])) if columns else []
    if len(events) > 1:
        counts = {"rows": str(len(table)), "subjects": str(table[ids].nunique())}
        raise SeveralEventsError(
            f"{path}: {len(table)} rows for {table[ids].nunique()} subjects (several events). "
            f"Choose session=..., one of {events[:6]}, or 'all' for a row each.",
            {**counts, "events": ", ".join(events), "columns": ", ".join(table.columns[:12])},
        )
    raise InputError(
        f"{path}: {len(table)} rows for {table[ids].nunique()} subjects; {repeated.iloc[0]!r} "
        "occurs more than once. Keep one row of each."
    )
