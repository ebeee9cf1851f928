"""What is in a file or folder, said without loading more of it than a few subjects."""

import os
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from stillome.exceptions import FileError, StillomeError
from stillome.io.connectomes import read_connectomes
from stillome.io.files import existing_path, open_item
from stillome.io.fsl import read_eddy_outlier_map
from stillome.io.motion import read_motion
from stillome.io.motion_files import recognise as recognise_motion
from stillome.io.one_stack import UnnamedSubjectsError
from stillome.io.recognise import UnrecognisedError
from stillome.io.record import ConnectomeData
from stillome.io.tables import read_table

_SAMPLE = 64


@dataclass(frozen=True)
class Inspection:
    """What was recognised at a path.

    Attributes
    ----------
    path : str
    producer : str
        Who wrote it, or what kind of table it is.
    facts : dict of str to str
        In the order in which they are shown: subjects, regions, measure, range, …
    warnings : tuple of str
        Everything that deserves a second look.
    """

    path: str
    producer: str
    facts: dict[str, str]
    warnings: tuple[str, ...] = ()


def inspect_path(path: str | os.PathLike[str], **reading: Any) -> Inspection:
    r"""Recognise a file or folder: connectomes first, then motion, then any table of subjects.

    Parameters
    ----------
    path : path-like
        Any single file, a folder, or a pattern.
    **reading
        Arguments of `read_connectomes`.

    Raises
    ------
    FileError, InputError
        The sentence that fits best, if it is none of these.

    Examples
    --------
    >>> import tempfile
    >>> place = Path(tempfile.mkdtemp(), "sub-01_connectome.csv")
    >>> _ = place.write_text("0,5\n5,0\n")
    >>> inspect_path(place).facts["regions"]
    '2'
    """
    about_motion = _is_about_motion(path)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        refused: StillomeError | None = None
        if not about_motion:
            try:
                return _connectomes(path, **reading)
            except StillomeError as error:
                refused = error
        for look in (_outlier_map, _motion, _table):
            caught.clear()
            try:
                found = look(path, reading.get("session"))
            except StillomeError as error:
                about_table = look is _table and _is_table(path)
                if refused is None or (isinstance(refused, UnrecognisedError) and about_table):
                    refused = error
                continue
            if found is not None:
                said = tuple(str(entry.message) for entry in caught)
                return replace(found, warnings=said)
    assert refused is not None  # whoever looked last has either answered or refused
    raise refused


def _connectomes(path: str | os.PathLike[str], **reading: Any) -> Inspection:
    try:
        data = read_connectomes(path, lazy=True, **reading)
    except UnnamedSubjectsError as error:
        numbered = [str(i + 1) for i in range(error.count)]
        data = read_connectomes(path, lazy=True, **{**reading, "subjects": numbered})
        facts = _facts(data) | {"subjects": f"{error.count}, without ids"}
        return Inspection(os.fspath(path), data.source.producer, facts, (str(error),))
    facts = _facts(data)
    return Inspection(os.fspath(path), data.source.producer, facts, (*data.warnings, *data.notes))


def _facts(data: ConnectomeData) -> dict[str, str]:
    sample = np.asarray(data.connectomes[:_SAMPLE])
    edges = sample[:, *np.triu_indices(data.n_regions, k=1)]
    looked = "" if len(sample) == data.n_subjects else f" (first {len(sample)} subjects)"
    facts = {
        "subjects": f"{data.n_subjects} ({_some(data.subject_ids)})",
        "regions": str(data.n_regions),
        "measure": data.measure,
        "range": f"{_short(edges.min())} to {_short(edges.max())}{looked}",
        "zeros": f"{(edges == 0).mean():.1%} of edges{looked}",
        "stored": data.source.triangle,
    }
    if data.source.atlas:
        facts["atlas"] = data.source.atlas
    if "hemisphere" in data.regions:
        facts["regions"] += " (Desikan-Killiany)"
    if data.lengths is not None:
        facts["lengths"] = f"yes, {_short(_positive(data.lengths).mean())} mm on average"
    return facts


def _outlier_map(path: str | os.PathLike[str], session: str | None) -> Inspection | None:
    """Describe eddy's maps of deviations, which say how far each slice is off, not which count."""
    if not os.fspath(path).endswith("stdev_map") or not _is_file(path):
        return None
    deviations = read_eddy_outlier_map(path)
    facts = {
        "volumes": str(len(deviations)),
        "slices": str(deviations.shape[1]),
        "range": f"{_short(np.nanmin(deviations))} to {_short(np.nanmax(deviations))}",
    }
    return Inspection(os.fspath(path), "motion (eddy, deviations of slices)", facts)


def _motion(path: str | os.PathLike[str], session: str | None) -> Inspection:
    table = read_motion(path, session=session)
    producer = ", ".join(sorted(set(table.attrs.get("sources", {}).values()))) or "motion"
    return Inspection(os.fspath(path), f"motion ({producer})", _columns(table))


def _table(path: str | os.PathLike[str], session: str | None) -> Inspection:
    if existing_path(path).is_dir():
        raise FileError(f"{os.fspath(path)}: a folder without anything that is recognised.")
    table = read_table(path, session=session)
    return Inspection(os.fspath(path), "table of subjects", _columns(table))


def _is_table(path: str | os.PathLike[str]) -> bool:
    """Whether the first line has a delimiter: then the sentence about tables is the one to give."""
    if not _is_file(path):
        return False
    head = open_item(path).head().split(b"\n", maxsplit=1)[0]
    return any(mark in head for mark in b"\t,;")


def _columns(table: pd.DataFrame) -> dict[str, str]:
    facts = {"subjects": f"{len(table)} ({_some(tuple(table.index))})"}
    for name in table.columns:
        column = table[name]
        missing = f", {column.isna().sum()} missing" if column.isna().any() else ""
        if pd.api.types.is_numeric_dtype(column) and column.notna().any():
            facts[str(name)] = f"{_short(column.min())} to {_short(column.max())}{missing}"
        else:
            facts[str(name)] = f"{column.nunique()} values{missing}"
    return facts


def _is_about_motion(path: str | os.PathLike[str]) -> bool:
    return _is_file(path) and recognise_motion(Path(path)) is not None


def _is_file(path: str | os.PathLike[str]) -> bool:
    # Unlike pathlib's, this answers no to names that are too long and to folders that are locked.
    return os.path.isfile(path)  # noqa: PTH113


def _positive(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return values[values > 0] if (values > 0).any() else np.zeros(1)


def _some(ids: tuple[str, ...]) -> str:
    return ", ".join(ids[:3]) + (", …" if len(ids) > 3 else "")


def _short(value: float) -> str:
    return f"{value:.6g}"
