"""What is in a file or folder, without loading more than a few subjects."""

import os
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from stillome.arrays import Floats
from stillome.cohort.cohort import HEADER, Cohort
from stillome.cohort.motion_names import measure_of
from stillome.exceptions import FileError, StillomeError, StillomeWarning
from stillome.io.clean import NotSquareError
from stillome.io.companions import describe_companion, describe_regions, describe_transform
from stillome.io.connectome_data import ConnectomeData
from stillome.io.connectome_measures import AVERAGE, NotCountsError, SeveralMatricesError
from stillome.io.connectomes import read_connectomes
from stillome.io.find import find_items, select_files
from stillome.io.formats.text_matrix import first_cells, is_number
from stillome.io.free_memory import TooLargeError, memory_limited_to
from stillome.io.guarded_files import existing_path, open_item
from stillome.io.inspection_record import Inspection, columns_of, range_of, short, some
from stillome.io.motion.fsl import read_eddy_outlier_map
from stillome.io.motion.motion_files import recognise as recognise_motion
from stillome.io.motion.rotation_units import RotationUnitError
from stillome.io.motion.summary import read_motion
from stillome.io.one_stack import UnnamedSubjectsError
from stillome.io.recognise import UnrecognisedError, read_contents, recognise
from stillome.io.tables.delimited import read_cells
from stillome.io.tables.events import SeveralEventsError
from stillome.io.tables.phenotypes import read_table

_SAMPLE = 64
_SAMPLE_BYTES, _MOST_BYTES = 2**24, 2**28  # at once, and in all
_MOST_COLUMNS = 1000
_LARGEST = 160 * 2**20  # bytes of memory; the rest of 200 MiB is not counted by the guard
Place = str | os.PathLike[str]
Look = Callable[..., Inspection | None]


def inspect_path(path: Place, **reading: Any) -> Inspection:
    r"""Recognise a file or folder: connectomes, motion, tables, and sidecars.

    Some files are described although a reader would refuse them: fibre lengths, files of several
    matrices, tables of several events. The message of the reader is then among the warnings.

    Parameters
    ----------
    path : path-like
        Any single file, a folder, or a pattern.
    **reading
        Arguments of `read_connectomes`.

    Raises
    ------
    FileError, InputError
        The error that fits best, if it is none of these, or damaged.

    Examples
    --------
    >>> import tempfile
    >>> place = Path(tempfile.mkdtemp(), "sub-01_connectome.csv")
    >>> _ = place.write_text("0,5\n5,0\n")
    >>> inspect_path(place).facts["regions"]
    '2'
    """
    kind = recognise_motion(Path(path)) if _is_file(path) else None
    looks: tuple[Look, ...] = (_companion, _connectomes, _outlier_map, _motion, _table)
    if kind is not None:
        # A table of subjects may have motion among other columns, all of which are shown.
        looks = (_table,) if kind == "table" else (_motion,)
    elif _is_file(Path(path, HEADER)):
        looks = (_connectomes,)  # of a cohort that is damaged, its table of motion is no answer
    refusals: list[StillomeError] = []
    for look in looks:
        found = _described(look, path, reading, refusals)
        if found is not None:
            return found
    refused = refusals[0]
    if isinstance(refused, UnrecognisedError) and _is_table(path):
        refused = refusals[-1]
    for look in _looks_despite(refused, unknown=isinstance(refusals[0], UnrecognisedError)):
        found = _described(look, path, reading, [])
        if found is not None and look is not _regions:
            found = replace(found, warnings=(str(refused), *found.warnings))
        if found is not None:
            return found
    raise refused


def _described(
    look: Look, path: Place, reading: dict[str, Any], refusals: list[StillomeError]
) -> Inspection | None:
    """Return what one look finds, with its warnings; append an error to `refusals`."""
    with warnings.catch_warnings(record=True) as caught, memory_limited_to(_LARGEST):
        warnings.simplefilter("always")
        try:
            found = look(path, **reading)
        except StillomeError as error:
            refusals.append(error)
            return None
    if found is None:
        return None
    ours = [str(w.message) for w in caught if issubclass(w.category, StillomeWarning)]
    return replace(found, warnings=tuple(dict.fromkeys([*found.warnings, *ours])))


def _looks_despite(refused: StillomeError, *, unknown: bool) -> tuple[Look, ...]:
    """Choose how to describe a file that a reader recognised but refused."""
    if isinstance(refused, TooLargeError):
        facts = {"memory": f"{refused.n_bytes / 2**30:.1f} GiB to read it"}
        return (lambda path, **_: Inspection(os.fspath(path), _format(path), facts),)
    if isinstance(refused, NotCountsError):
        kind = refused.kind
        if kind == AVERAGE:  # which nothing reads
            facts = {"measure": "an average along streamlines"}
            return (lambda path, **_: Inspection(os.fspath(path), _producer(path), facts),)
        return (lambda path, **reading: _connectomes(path, **{**reading, "measure": kind}),)
    if isinstance(refused, SeveralMatricesError):
        facts = {"matrices": f"{len(refused.choices)}: {', '.join(refused.choices)}"}
        return (lambda path, **_: Inspection(os.fspath(path), _producer(path), facts),)
    if isinstance(refused, RotationUnitError):
        return (lambda path, **reading: _motion(path, **{**reading, "rotation_unit": "deg"}),)
    if isinstance(refused, SeveralEventsError):
        return (lambda path, **_: Inspection(os.fspath(path), "table of subjects", refused.facts),)
    if isinstance(refused, NotSquareError):
        return (_any_table,)
    return (_transform, _regions, _any_table) if unknown else (_transform,)


def _companion(path: Place, **reading: Any) -> Inspection | None:
    # A pattern is not a path; the reader of connectomes handles it.
    return describe_companion(path) if os.path.lexists(path) else None


def _connectomes(path: Place, **reading: Any) -> Inspection:
    files, n_files = _first_files(path, reading)
    try:
        data = read_connectomes(files, lazy=True, **reading)
    except UnnamedSubjectsError as error:
        numbered = [str(i + 1) for i in range(error.count)]
        data = read_connectomes(path, lazy=True, **{**reading, "subjects": numbered})
        facts = _facts(data) | {"subjects": f"{error.count}, without ids"}
        return Inspection(os.fspath(path), data.source.producer, facts, (str(error),))
    facts = _facts(data)
    if n_files:
        facts["subjects"] = (
            f"{n_files} ({some(data.subject_ids)}), the first {data.n_subjects} read"
        )
    if _is_file(Path(path, HEADER)):
        cohort = Cohort.load(path, memory_map=True)
        facts |= columns_of(cohort.motion) | columns_of(cohort.traits)
    return Inspection(os.fspath(path), data.source.producer, facts, (*data.warnings, *data.notes))


def _first_files(path: Place, reading: dict[str, Any]) -> tuple[Any, int]:
    """Return what to read of a folder of many files, and how many there are; 0 if all are read."""
    if reading.get("subjects") is not None or _is_file(path) or _is_file(Path(path, HEADER)):
        return path, 0
    items, root = find_items(path)
    if len(items) <= 1 or any(item.payload is not None or item.path.is_dir() for item in items):
        return path, 0
    chosen = {name: reading.get(name) for name in ("atlas", "measure", "session")}
    selection = select_files(items, root, **chosen)
    counts = [item.path for _, item in selection.counts.members]
    total = np.cumsum([file.stat().st_size for file in counts])
    n = max(1, min(_SAMPLE, int((total <= _SAMPLE_BYTES).sum())))
    if n == len(counts):
        return path, 0
    lengths = [] if selection.lengths is None else selection.lengths.members
    return [*counts[:n], *(item.path for _, item in lengths[:n])], len(counts)


def _facts(data: ConnectomeData) -> dict[str, str]:
    matrix = data.connectomes.dtype.itemsize * data.n_regions**2
    n_looked = min(_SAMPLE, data.n_subjects, max(1, _MOST_BYTES // matrix))
    low, high, zeros = _edges_of(data.connectomes, n_looked, max(1, _SAMPLE_BYTES // matrix))
    looked = "" if n_looked == data.n_subjects else f" (first {n_looked} subjects)"
    facts = {
        "subjects": f"{data.n_subjects} ({some(data.subject_ids)})",
        "regions": str(data.n_regions),
        "measure": data.measure,
        "range": f"{range_of(low, high)}{looked}",
        "zeros": f"{zeros:.1%} of edges{looked}",
        "stored": data.source.triangle,
    }
    if data.source.atlas:
        facts["atlas"] = data.source.atlas
    if "hemisphere" in data.regions:
        facts["regions"] += " (Desikan-Killiany)"
    if data.lengths is not None:
        facts["lengths"] = f"yes, {short(_positive(data.lengths).mean())} mm on average"
    return facts


def _edges_of(stack: Any, n_subjects: int, at_once: int) -> tuple[float, float, float]:
    """Return the least and largest edge of the first subjects (n, V, V), and the share of zeros."""
    lows, highs, n_zeros, n_edges = [], [], 0, 0
    for start in range(0, n_subjects, at_once):
        block = np.asarray(stack[start : min(start + at_once, n_subjects)])
        # Row by row: the indices of all edges would take more memory than the edges.
        for row in (block[:, i, i + 1 :] for i in range(block.shape[1] - 1)):
            lows.append(row.min())
            highs.append(row.max())
            n_edges += row.size
            n_zeros += row.size - int(np.count_nonzero(row))
    return min(lows), max(highs), n_zeros / n_edges


def _outlier_map(path: Place, **reading: Any) -> Inspection | None:
    """Describe eddy's maps of deviations, which do not say which slices are outliers."""
    if not os.fspath(path).endswith("stdev_map") or not _is_file(path):
        return None
    deviations = read_eddy_outlier_map(path)
    facts = {
        "volumes": str(len(deviations)),
        "slices": str(deviations.shape[1]),
        "range": range_of(np.nanmin(deviations), np.nanmax(deviations)),
    }
    return Inspection(os.fspath(path), "motion (eddy, deviations of slices)", facts)


def _motion(path: Place, **reading: Any) -> Inspection:
    unit = reading.get("rotation_unit")
    table = read_motion(path, session=reading.get("session"), rotation_unit=unit)
    producer = ", ".join(sorted(set(table.attrs.get("sources", {}).values()))) or "motion"
    facts = {"subjects": f"{len(table)} ({some(tuple(table.index))})"} | columns_of(table)
    return Inspection(os.fspath(path), f"motion ({producer})", facts)


def _table(path: Place, **reading: Any) -> Inspection:
    if existing_path(path).is_dir():
        raise FileError(f"{os.fspath(path)}: a folder without anything that is recognised.")
    cells, _ = read_cells(path)
    if len(cells.columns) > _MOST_COLUMNS:  # to judge each would take long
        return Inspection(os.fspath(path), "table of subjects", _size_of(cells))
    table = read_table(path, session=reading.get("session"))
    facts = {"subjects": f"{len(table)} ({some(tuple(table.index))})"} | columns_of(table)
    motion = [str(name) for name in table if measure_of(str(name))]
    only = bool(motion) and len(motion) == len(table.columns)
    if motion and not only:
        facts["motion"] = ", ".join(motion)
    return Inspection(os.fspath(path), "motion (table)" if only else "table of subjects", facts)


def _transform(path: Place, **reading: Any) -> Inspection | None:
    return describe_transform(path) if _is_file(path) else None


def _regions(path: Place, **reading: Any) -> Inspection | None:
    return describe_regions(path) if _is_file(path) else None


def _any_table(path: Place, **reading: Any) -> Inspection | None:
    if not _is_table(path) or all(map(is_number, first_cells(open_item(path).head()))):
        return None
    cells, _ = read_cells(path)
    return Inspection(os.fspath(path), "table", _size_of(cells))


def _size_of(cells: pd.DataFrame) -> dict[str, str]:
    shown = ", ".join(map(str, cells.columns[:12]))
    n_columns = len(cells.columns)
    return {
        "rows": str(len(cells)),
        "columns": f"{shown}, … ({n_columns})" if n_columns > 12 else shown,
    }


def _producer(path: Place) -> str:
    return read_contents(open_item(path)).producer if _is_file(path) else "several kinds of files"


def _format(path: Place) -> str:
    """Return the name of a format without reading the file."""
    found = recognise(open_item(path)) if _is_file(path) else None
    return "large file" if found is None else found.name


def _is_table(path: Place) -> bool:
    """Whether the first line has a delimiter, so that errors about tables fit best."""
    if not _is_file(path):
        return False
    head = open_item(path).head().split(b"\n", maxsplit=1)[0]
    return any(mark in head for mark in b"\t,;")


def _is_file(path: Place) -> bool:
    # Unlike pathlib's, this is False for names that are too long and folders that are locked.
    return os.path.isfile(path)  # noqa: PTH113


def _positive(values: Floats) -> Floats:
    return values[values > 0] if (values > 0).any() else np.zeros(1)
