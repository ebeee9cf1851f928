"""`read_connectomes`: the output of any pipeline as one clean stack with ids and regions."""

import logging
import os
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from stillome.cohort.cohort import Cohort
from stillome.cohort.scan_ids import person_of
from stillome.cohort.stored_matrices import some_matrices
from stillome.exceptions import FileError, InputError, StillomeWarning
from stillome.io.connectome_data import ConnectomeData, Contents, Holding, Source
from stillome.io.connectome_measures import choose
from stillome.io.find import PathLike, find_items
from stillome.io.guarded_files import open_item
from stillome.io.many_files import read_files
from stillome.io.one_stack import read_stack
from stillome.io.reading_options import ReadingOptions
from stillome.io.recognise import read_contents
from stillome.io.region_labels import read_labels
from stillome.io.subject_ids import ID_COLUMNS, normalise_id, normalise_ids

logger = logging.getLogger(__name__)


def read_connectomes(
    path: PathLike | Sequence[PathLike],
    *,
    atlas: str | None = None,
    measure: str | None = None,
    labels: PathLike | Sequence[str] | None = None,
    symmetrize: str | None = None,
    subjects: PathLike | Sequence[str] | None = None,
    axis: int | None = None,
    session: str | None = None,
    edge_order: str | None = None,
    lazy: bool | None = None,
) -> ConnectomeData:
    r"""Read the connectomes that a pipeline wrote.

    Recognises by content what MRtrix3, QSIPrep, QSIRecon, DSI Studio, Connectome Mapper 3,
    connectoflow, DIPY, PSC, micapipe, UK Biobank, The Virtual Brain and BIDS derivatives write,
    stacks in one file (`.npy`, `.npz`, HDF5, netCDF, zarr, MAT), CIFTI, edge lists and wide tables.

    Parameters
    ----------
    path : path-like or sequence of path-like
        A file, a folder, a pattern such as ``"out/sub-*/dwi/*_connectivity.mat"``, or several.
    atlas, measure : str, optional
        Which matrix to read, where files hold several. With `measure` given, the values are not
        checked for being counts. Averages along streamlines (FA, MD) are always refused: they are
        undefined where there is no streamline.
    labels : path-like, sequence of str, or "dk68", optional
        Names of the regions; where the files name theirs, those wanted, in the order wanted.
    symmetrize : {"max", "mean", "upper", "lower"}, optional
        What to do with matrices that are neither symmetric nor triangular.
    subjects : path-like or sequence of str, optional
        Ids for a stack that has none; otherwise the subjects wanted, in the order wanted.
    axis : int, optional
        The axis of a stack that runs over subjects.
    session : str, optional
        Which session, where subjects have several. Without, every session is a scan of its own,
        with the id ``A01_ses-01``, if somebody has several.
    edge_order : {"upper", "lower"}, optional
        How numbered edges run through the matrix, row by row.
    lazy : bool, optional
        Whether a stack stays in its file; by default only if it is larger than 2 GiB.

    Returns
    -------
    ConnectomeData
        Symmetric matrices (n, V, V) with zero diagonals, one order of regions for all.

    Raises
    ------
    FileError, InputError
        One sentence that says which file is wrong, how, and what to do.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "sub-01_connectome.csv").write_text("7,5,0\n0,2,3\n0,0,1\n")
    >>> data = read_connectomes(folder)
    >>> data.subject_ids, data.source.producer
    (('01',), 'MRtrix3')
    >>> data.connectomes[0].astype(int).tolist()
    [[0, 5, 0], [5, 0, 3], [0, 3, 0]]
    """
    options = ReadingOptions(
        atlas=atlas,
        measure=measure,
        labels=None if labels is None else read_labels(labels),
        symmetrize=symmetrize,
        subjects=None if subjects is None else read_subject_ids(subjects),
        axis=axis,
        session=session,
        edge_order=edge_order,
        lazy=lazy,
    )
    data = _read(path, options)
    say(data.notes, data.warnings)
    return data


def stream_connectomes(
    path: PathLike | Sequence[PathLike],
    *,
    labels: PathLike | Sequence[str] | None = None,
    subjects: PathLike | Sequence[str] | None = None,
    **reading: Any,
) -> ConnectomeData:
    """Open what `read_connectomes` reads, without loading the matrices of all subjects.

    Files of single subjects are read twice: now, one after the other, for shapes, dtypes, names of
    regions and ids, and again when a slice of the stack with them is asked for. Values are then
    cleaned and checked (E3, E4). Remarks on values are not made.

    Raises
    ------
    FileError, InputError
        As `read_connectomes`.
    """
    options = ReadingOptions(
        labels=None if labels is None else read_labels(labels),
        subjects=None if subjects is None else read_subject_ids(subjects),
        lazy=True,
        streamed=True,
        **reading,
    )
    data = _read(path, options)
    say(data.notes, data.warnings)
    return data


def say(notes: Sequence[str], affecting: Sequence[str]) -> None:
    """Log notes, and warn of what affects results, in the name of the caller's caller."""
    for note in notes:
        logger.info(note)
    for warning in affecting:
        warnings.warn(warning, StillomeWarning, stacklevel=3)


def select_subjects(data: ConnectomeData, subjects: Sequence[str]) -> ConnectomeData:
    """Return some subjects of a record, in the order asked for; of a person all scans.

    Raises
    ------
    InputError
        If one of them is not in the record.
    """
    places = {subject: i for i, subject in enumerate(data.subject_ids)}
    scans: dict[str, list[str]] = {}
    for scan in data.subject_ids:
        scans.setdefault(person_of(scan), []).append(scan)
    wanted = normalise_ids(subjects, name="subjects")
    ids = [s for one in wanted for s in ([one] if one in places else scans.get(one, [one]))]
    missing = next((subject for subject in ids if subject not in places), None)
    if missing is not None:
        raise InputError(f"subjects: no connectome of {missing!r}. Leave it out of the list.")
    positions = np.array([places[subject] for subject in ids], dtype=np.intp)
    if np.array_equal(positions, np.arange(data.n_subjects)):
        return data
    stack = data.connectomes
    chosen = some_matrices(stack, positions)
    files = data.source.files
    if len(files) == data.n_subjects:
        files = tuple(files[i] for i in positions)
    return replace(
        data,
        subject_ids=tuple(ids),
        connectomes=chosen,
        source=replace(data.source, files=files),
    )


def _read(path: PathLike | Sequence[PathLike], options: ReadingOptions) -> ConnectomeData:
    data = _read_everybody(path, options)
    return data if options.subjects is None else select_subjects(data, options.subjects)


def _read_everybody(path: PathLike | Sequence[PathLike], options: ReadingOptions) -> ConnectomeData:
    if isinstance(path, str | os.PathLike) and _is_cohort(path):
        return _from_cohort(Path(path))
    items, root = find_items(path)
    if len(items) > 1:
        return read_files(items, root, options)
    contents = read_contents(items[0])
    stack = _as_stack(contents, items[0].label, options)
    if stack is None:
        return read_files(items, root, options, contents)
    return read_stack(items[0], contents, stack, options)


def _is_cohort(path: PathLike) -> bool:
    # Unlike pathlib's, this is False for names that are too long and folders that are locked.
    # Opening the path then raises the right error.
    return os.path.isfile(os.path.join(path, "cohort.json"))  # noqa: PTH113, PTH118


def _from_cohort(folder: Path) -> ConnectomeData:
    cohort = Cohort.load(folder, memory_map=True)
    return ConnectomeData(
        tuple(normalise_ids(cohort.subject_ids, name=str(folder))),
        cohort.connectomes,
        cohort.regions,
        "count",
        Source("stillome cohort", (str(folder),)),
        cohort.lengths,
    )


def _as_stack(contents: Contents, label: str, options: ReadingOptions) -> Holding | None:
    """Return the stack that a single file holds; None if it holds one subject's matrix."""
    holding = choose(contents.holdings, label, atlas=options.atlas, measure=options.measure)
    stacked = holding.edges or len(holding.values.shape) == 3
    return holding if stacked and not holding.partial else None


def read_subject_ids(subjects: PathLike | Sequence[str]) -> list[str]:
    """Read ids from a list, or from the first column of a file; a header may be there."""
    if not isinstance(subjects, str | os.PathLike):
        return [normalise_id(subject) for subject in subjects]
    lines = [line.strip() for line in open_item(subjects).text().splitlines() if line.strip()]
    cells = [line.replace(",", "\t").split("\t")[0].strip() for line in lines]
    if cells and cells[0].lower() in ID_COLUMNS:
        cells = cells[1:]
    if not cells:
        raise FileError(f"{subjects}: no subject ids in it. Give one per line.")
    return [normalise_id(cell) for cell in cells]
