"""Subject ids: one spelling for all tools, so that their tables can be joined.

An id is text. BIDS writes ``sub-A01`` where a table says ``A01``; ABCD writes ``NDAR_INVX`` in its
tables and ``sub-NDARINVX`` in its folders. All of these become the same id. Case and
leading zeros are kept.
"""

import re
from collections.abc import Iterable, Sequence

from stillome.cohort.validation.subject_checks import leads_elsewhere
from stillome.exceptions import InputError
from stillome.spreadsheets import is_formula

# What tables call the column of ids, in lower case, the most specific name first.
ID_COLUMNS = (
    "participant_id",
    "src_subject_id",
    "subjectkey",
    "subject_id",
    "subject",
    "subjectid",
    "participant",
    "sub",
    "eid",
    "id",
)
_NDAR = re.compile(r"^NDAR_INV")


def normalise_id(subject: str) -> str:
    """Return a subject id in the form in which tables are joined.

    Strips blanks and a leading ``sub-``, and drops the underscore of ``NDAR_INV``. Case and leading
    zeros stay.

    Raises
    ------
    InputError
        If the id is not text, or nothing of it is left.

    Examples
    --------
    >>> normalise_id("sub-001"), normalise_id("NDAR_INVAbc"), normalise_id("sub-NDARINVAbc")
    ('001', 'NDARINVAbc', 'NDARINVAbc')
    """
    if not isinstance(subject, str):
        raise InputError(f"id {subject!r} is a {type(subject).__name__}; give ids as text.")
    normal = _NDAR.sub("NDARINV", without_prefix(subject, "sub"))
    if not normal:
        raise InputError(f"id {subject!r} is empty; name the subject.")
    if any(mark in normal for mark in "\t\n\r\0"):
        raise InputError(f"id {subject!r} holds a tab, line break or null; rename the subject.")
    if is_formula(normal):
        raise InputError(f"id {subject!r} would be a formula in a spreadsheet; rename the subject.")
    if leads_elsewhere(normal):
        raise InputError(f"id {subject!r} would lead to another folder; rename the subject.")
    return normal


def bare_session(session: str) -> str:
    """Return a session without ``ses-``, as BIDS writes it in paths and some tables do.

    Examples
    --------
    >>> bare_session("ses-01"), bare_session("baseline_year_1_arm_1")
    ('01', 'baseline_year_1_arm_1')
    """
    return without_prefix(session, "ses")


def without_prefix(text: str, entity: str) -> str:
    """Return the label of a BIDS entity (``sub``, ``ses``) without its prefix and blanks.

    Examples
    --------
    >>> without_prefix("sub-A01", "sub"), without_prefix("A01", "sub")
    ('A01', 'A01')
    """
    return text.strip().removeprefix(f"{entity}-").strip()


def normalise_ids(subjects: Iterable[str], *, name: str | None = None) -> list[str]:
    """Normalise ids that must be different subjects.

    Parameters
    ----------
    subjects : iterable of str
        Ids as written.
    name : str, optional
        The file or table they come from, for the message.

    Raises
    ------
    InputError
        If two of them are the same subject (E8), or one is not an id.

    Examples
    --------
    >>> normalise_ids(["sub-A01", "A02"])
    ['A01', 'A02']
    >>> normalise_ids(["sub-A01", "A01"])
    Traceback (most recent call last):
    ...
    stillome.exceptions.InputError: ids 'sub-A01' and 'A01' are the same subject after
    normalisation. Keep one of them.
    """
    where = f"{name}: " if name else ""
    seen: dict[str, str] = {}
    for subject in subjects:
        normal = normalise_id(subject)
        if normal in seen and seen[normal] == subject:
            raise InputError(f"{where}id {subject!r} occurs more than once. Keep one of them.")
        if normal in seen:
            raise InputError(
                f"{where}ids {seen[normal]!r} and {subject!r} are the same subject after "
                "normalisation. Keep one of them."
            )
        seen[normal] = subject
    return list(seen)


def ids_in_common(
    left: Sequence[str],
    right: Sequence[str],
    *,
    left_name: str = "connectomes",
    right_name: str = "table",
) -> list[str]:
    """Return the normalised ids that both sides have, in the order of the left.

    Raises
    ------
    InputError
        If there is none (E10); the message shows an id of each as it was written.

    Examples
    --------
    >>> ids_in_common(["sub-A01", "sub-A02"], ["A02", "A03"])
    ['A02']
    """
    known = {normalise_id(subject) for subject in right}
    common = [normal for normal in normalise_ids(left, name=left_name) if normal in known]
    if not common:
        raise InputError(
            f"No ids in common: {left_name} e.g. {_example(left)}, {right_name} e.g. "
            f"{_example(right)}. Give the same subjects the same ids."
        )
    return common


def _example(subjects: Sequence[str]) -> str:
    return repr(subjects[0]) if len(subjects) else "none"
