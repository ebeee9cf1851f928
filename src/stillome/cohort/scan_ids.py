"""Ids of scans: of a person who was scanned once, or of one session of a person.

The id of a scan is that of the person where nobody was scanned twice. Else it is the id of the
person, ``_ses-`` and the label of the session, as in the names of BIDS files: ``A01_ses-2``.
"""

import re
from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from stillome.exceptions import InputError

_MARK = "_ses-"
_NOT_IN_LABELS = re.compile(r"[^A-Za-z0-9]")
# The ABCD study calls the same visits baseline_year_1_arm_1 (tables until release 5),
# baselineYear1Arm1 (BIDS folders) and 00A (release 6); further visits follow one rule.
_ABCD_YEAR = re.compile(r"^(\d+)(?:yearfollowupyarm1)$")


def scan_id(person: str, session: str | None) -> str:
    """Return the id of a scan; that of the person where there is no session.

    Examples
    --------
    >>> scan_id("A01", "2"), scan_id("A01", "baseline_year_1_arm_1"), scan_id("A01", None)
    ('A01_ses-2', 'A01_ses-baselineyear1arm1', 'A01')
    """
    if session is None:
        return person
    label = _NOT_IN_LABELS.sub("", session)
    if not label:
        raise InputError(f"session {session!r} of subject {person!r}: use letters or digits.")
    return f"{person}{_MARK}{label}"


def person_of(scan: str) -> str:
    """Return the person of a scan.

    Examples
    --------
    >>> person_of("A01_ses-2"), person_of("A01")
    ('A01', 'A01')
    """
    return scan.rpartition(_MARK)[0] or scan


def session_in(scan: str) -> str | None:
    """Return the session of a scan; None where its id has none.

    Examples
    --------
    >>> session_in("A01_ses-2"), session_in("A01")
    ('2', None)
    """
    before, mark, session = scan.rpartition(_MARK)
    return session if before and mark else None


def has_sessions(scans: Iterable[str]) -> bool:
    """Say whether any id is that of a session.

    Examples
    --------
    >>> has_sessions(["A01", "A02"]), has_sessions(["A01_ses-1", "A01_ses-2"])
    (False, True)
    """
    return any(session_in(scan) is not None for scan in scans)


def session_key(session: str) -> str:
    """Return a session in the form in which files and tables are matched.

    Examples
    --------
    >>> [session_key(s) for s in ("baseline_year_1_arm_1", "baselineYear1Arm1", "00A")]
    ['00a', '00a', '00a']
    >>> session_key("4_year_follow_up_y_arm_1"), session_key("ses-04A"), session_key("01")
    ('04a', '04a', '01')
    """
    plain = _NOT_IN_LABELS.sub("", session.strip().removeprefix("ses-")).lower()
    if plain in ("baselineyear1arm1", "baseline"):
        return "00a"
    year = _ABCD_YEAR.match(plain)
    return f"{int(year.group(1)):02d}a" if year else plain


def people_and_visits(scans: Sequence[str]) -> NDArray[np.object_] | None:
    """Return the person, twice, and the visit of every scan, as groups for `fit`.

    None where nobody has several scans. Visits are in the order of their names; those of ABCD in
    the order of years.

    Examples
    --------
    >>> people_and_visits(["A_ses-2", "A_ses-1", "B_ses-1"]).tolist()
    [['A', 'A', 1], ['A', 'A', 0], ['B', 'B', 0]]
    >>> people_and_visits(["A", "B"]) is None
    True
    """
    people = [person_of(scan) for scan in scans]
    if len(set(people)) == len(people):
        return None
    keys = [session_key(session_in(scan) or "") for scan in scans]
    ranks = {key: rank for rank, key in enumerate(sorted(set(keys)))}
    rows = [(person, person, ranks[key]) for person, key in zip(people, keys, strict=True)]
    return np.array(rows, dtype=object)


def nested_groups(
    groups: NDArray[np.object_] | None, scans: Sequence[str]
) -> NDArray[np.object_] | None:
    """Return groups (families) with the people in them; see `group_levels`.

    Parameters
    ----------
    groups : array of shape (n,), or None
        Families of the scans, if there are any.
    scans : sequence of str

    Examples
    --------
    >>> nested_groups(np.array(["Smith", "Smith", "Smith"]), ["A_ses-1", "A_ses-2", "B_ses-1"])
    array([['Smith', 'A', 0],
           ['Smith', 'A', 1],
           ['Smith', 'B', 0]], dtype=object)
    """
    people = people_and_visits(scans)
    if people is None or groups is None:
        return groups if people is None else people
    people[:, 0] = groups
    return people


def rows_of_scans(table: pd.DataFrame, scans: Iterable[str]) -> pd.DataFrame:
    """Return a table of people, or of scans, indexed by the ids of scans.

    A row of a person is repeated for each of the scans. A row of a session is that of the scan of
    this session, however the table writes the session. Rows of nobody in `scans` stay as they are.

    Examples
    --------
    >>> scans = ["A_ses-00A", "A_ses-02A"]
    >>> rows_of_scans(pd.DataFrame({"sex": ["F"]}, index=["A"]), scans)["sex"].tolist()
    ['F', 'F']
    >>> ages = pd.DataFrame({"age": [9, 11]}, index=["A_ses-baseline", "A_ses-2yearfollowupyarm1"])
    >>> rows_of_scans(ages, scans).index.tolist()
    ['A_ses-00A', 'A_ses-02A']
    """
    written = list(scans)
    if not has_sessions(written):
        return table
    keys = {(person_of(scan), session_key(session_in(scan) or "")): scan for scan in written}
    of_person: dict[str, list[str]] = {}
    for scan in written:
        of_person.setdefault(person_of(scan), []).append(scan)
    rows: list[int] = []
    index: list[str] = []
    for row, name in enumerate(table.index):
        session = session_in(name)
        same = keys.get((person_of(name), session_key(session or "")))
        found = of_person.get(name, [name]) if session is None else [same or name]
        rows += [row] * len(found)
        index += found
    answer = table.iloc[rows].set_axis(pd.Index(index, name=table.index.name, dtype=object), axis=0)
    answer.attrs = table.attrs
    return answer


def with_session_column(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table of scans for a file of BIDS: indexed by person, with ``session_id``.

    Unchanged where no id has a session.

    Examples
    --------
    >>> table = pd.DataFrame({"age": [9.0]}, index=["A_ses-2"])
    >>> with_session_column(table).reset_index().to_numpy().tolist()
    [['A', 'ses-2', 9.0]]
    """
    scans = [str(name) for name in table.index]
    if not has_sessions(scans):
        return table
    answer = table.set_axis(pd.Index([person_of(s) for s in scans], dtype=object), axis=0)
    sessions = [f"ses-{session_in(scan)}" if session_in(scan) else "n/a" for scan in scans]
    answer.insert(0, "session_id", sessions)
    answer.attrs = table.attrs
    return answer
