"""What belongs to the subjects of a cohort: their ids, their tables, the lengths of fibres."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from stillome.cohort.validation.number_checks import as_floats
from stillome.exceptions import InputError
from stillome.persistence import column_dtypes


def leads_elsewhere(name: str) -> bool:
    """Whether a file of this name would lie in another folder.

    Examples
    --------
    >>> leads_elsewhere("../001"), leads_elsewhere("001")
    (True, False)
    """
    return "/" in name or "\\" in name or name in (".", "..")


def check_subject_ids(subject_ids: Sequence[str]) -> tuple[str, ...]:
    """Judge subject ids: text, not empty, printable, each only once.

    Examples
    --------
    >>> check_subject_ids(["001", "NA"])
    ('001', 'NA')
    """
    if isinstance(subject_ids, str | bytes) or not np.iterable(subject_ids):
        raise InputError(f"subject_ids: {subject_ids!r}; expected a list of ids.")
    ids = tuple(subject_ids)
    for subject in ids:
        if not isinstance(subject, str) or not subject.strip():
            raise InputError(f"subject_ids: {subject!r}; expected text that is not empty.")
        if not subject.isprintable():
            raise InputError(f"subject_ids: {subject!r} holds a tab, line break or other mark.")
    seen: set[str] = set()
    for subject in ids:
        if subject in seen:
            raise InputError(f"subject_ids: {subject!r} occurs twice. Keep one scan of each.")
        seen.add(subject)
    return tuple(str(subject) for subject in ids)


def check_table(table: pd.DataFrame, name: str) -> pd.DataFrame:
    """Judge a table: text as column names, each once; numbers, booleans or text in the columns.

    Examples
    --------
    >>> list(check_table(pd.DataFrame({"rms_mm": [0.1]}), "motion").columns)
    ['rms_mm']
    """
    if not isinstance(table, pd.DataFrame):
        raise InputError(f"{name}: a {type(table).__name__}; expected a pandas DataFrame.")
    for column in table.columns:
        if not isinstance(column, str) or not column.isprintable() or not column.strip():
            raise InputError(f"{name}: column name {column!r}; expected text that is not empty.")
    if not table.columns.is_unique or "participant_id" in table:
        raise InputError(
            f"{name}: columns {list(table.columns)}; each must have its own name, and "
            "'participant_id' is kept for the index."
        )
    table = table.infer_objects()
    try:
        column_dtypes(table)
    except InputError as error:
        raise InputError(f"{name}: {error}") from error
    return table


def aligned_table(table: pd.DataFrame, ids: tuple[str, ...], name: str) -> pd.DataFrame:
    """Give a table the subject ids as its index, checking the ones it may already have.

    Examples
    --------
    >>> list(aligned_table(pd.DataFrame({"rms_mm": [0.1]}), ("001",), "motion").index)
    ['001']
    """
    table = check_table(table, name)
    index = pd.Index(ids, name="participant_id", dtype=object)
    if table.shape[1] == 0 and len(table) != len(ids):
        return pd.DataFrame(index=index)
    if len(table) != len(ids):
        raise InputError(f"{name}: {len(table)} rows for {len(ids)} subjects.")
    numbered = list(table.index) == list(range(len(ids)))
    if not numbered and tuple(map(str, table.index)) != ids:
        raise InputError(
            f"{name}: its index is not the subject ids in the same order. Give "
            f"{name}.loc[subject_ids], or {name}.reset_index(drop=True) if its rows are in order."
        )
    return table.set_axis(index, axis=0)


def check_lengths(lengths: ArrayLike | None, n_regions: int) -> NDArray[np.float64] | None:
    """Judge mean fibre lengths (V, V) in mm; None stays None.

    Examples
    --------
    >>> check_lengths([[0, 31], [31, 0]], 2).shape
    (2, 2)
    """
    if lengths is None:
        return None
    array = as_floats(lengths, "lengths")
    if array.shape != (n_regions, n_regions):
        raise InputError(f"lengths: shape {array.shape}; expected ({n_regions}, {n_regions}).")
    if not (np.isfinite(array) & (array >= 0)).all():
        raise InputError("lengths: negative or not finite; expected mm, 0 where unknown.")
    return array


def subject_positions(subjects: ArrayLike, subject_ids: Sequence[str]) -> NDArray[np.intp]:
    """Find where some subjects stand among all of them.

    Parameters
    ----------
    subjects : sequence of ids, of positions, or a boolean mask of length n
    subject_ids : sequence of str
        All n subjects.

    Examples
    --------
    >>> subject_positions(["B", "A"], ["A", "B", "C"]).tolist()
    [1, 0]
    """
    n_subjects = len(subject_ids)
    try:
        chosen = np.asarray(subjects)
    except ValueError as error:
        raise InputError(f"subjects: cannot be read as a list ({error}).") from error
    if chosen.ndim != 1 or not len(chosen):
        raise InputError(f"subjects: shape {chosen.shape}; expected a list of at least one.")
    if chosen.dtype.kind == "b":
        if len(chosen) != n_subjects:
            raise InputError(f"subjects: mask of {len(chosen)} for {n_subjects} subjects.")
        if not chosen.any():
            raise InputError("subjects: the mask selects none.")
        return np.flatnonzero(chosen)
    if chosen.dtype.kind in "iu":
        if chosen.min() < -n_subjects or chosen.max() >= n_subjects:
            raise InputError(f"subjects: a position lies outside 0…{n_subjects - 1}.")
        return chosen.astype(np.intp)
    places = {subject: i for i, subject in enumerate(subject_ids)}
    unknown = [subject for subject in chosen if str(subject) not in places]
    if unknown:
        raise InputError(f"subjects: no subject {str(unknown[0])!r} in this cohort.")
    return np.array([places[str(subject)] for subject in chosen], dtype=np.intp)
