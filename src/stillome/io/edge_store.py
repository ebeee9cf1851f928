"""Connectomes of any readable kind as one chunked zarr store of edge vectors, a few at a time."""

import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stillome.cohort.edges import matrices_to_edges
from stillome.exceptions import FileError
from stillome.io.clean import Tally
from stillome.io.connectome_data import ConnectomeData
from stillome.io.connectomes import say, stream_connectomes
from stillome.io.formats.zarr_store import EDGE_ORDER, missing_package
from stillome.io.lazy_stack import LazyStack
from stillome.io.reading_options import ReadingOptions
from stillome.io.remarks import SAMPLE, empty_regions, remarks
from stillome.locks import lock, unlock
from stillome.persistence import read_json, write_json, written_aside
from stillome.progress import Progress, say_nothing

_CHUNK_BYTES = 2**22  # unpacked
_HOW_FAR = "how_far.json"


def convert_connectomes(
    path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    out: str | os.PathLike[str],
    *,
    progress: Progress = say_nothing,
    **reading: Any,
) -> Path:
    """Write connectomes as a zarr store of edge vectors, from which `InvFA` reads in slices.

    Connectomes are never loaded whole, in one file or in files of single subjects. Those are read
    twice: first one after the other, for sizes, names of regions and ids, then a few at a time, to
    be written. Stopped anywhere, the same call goes on where it was: what is not finished stands
    beside `out`, with ``.part`` at the end of its name.

    Parameters
    ----------
    path : path-like or sequence of path-like
        Anything that `read_connectomes` reads.
    out : path-like
        The store. It holds ``connectomes`` (n, V(V-1)/2) in the dtype of the input, and
        ``subject_ids`` and ``regions``.
    progress : callable, optional
        Called with (subjects done, subjects in all).
    **reading
        Options of `read_connectomes`.

    Raises
    ------
    FileError
        If `out` is there already, cannot be written, or was begun with other connectomes; and
        what `read_connectomes` refuses. Values (E3, E4) are checked as they are written, and only
        those of the `subjects` wanted.

    Warns
    -----
    StillomeWarning
        As `read_connectomes`; of values when the store is written.
    """
    target = Path(out)
    if target.exists():
        raise FileError(f"{target}: is there already. Choose another name, or remove it.")
    data = stream_connectomes(path, **reading)
    part = target.with_name(f"{target.name}.part")
    try:
        part.mkdir(parents=True, exist_ok=True)
        handle = lock(part)
        if handle is None:
            raise FileError(f"{part}: another process is writing it. Wait until it is done.")
        try:
            tally = _fill(part, data, progress)
            (part / _HOW_FAR).unlink()
            part.rename(target)
        finally:
            unlock(handle)
    except OSError as error:
        raise FileError(
            f"{target}: cannot be written ({error.strerror or error}). Make room or choose another "
            "place; the same command goes on where it stopped."
        ) from error
    is_length = ReadingOptions(measure=reading.get("measure")).is_length(data.measure)
    say(*_remarks(data, tally, is_length=is_length))
    return target


def write_edge_store(place: Path, data: ConnectomeData) -> None:
    """Write connectomes to a new store, a few subjects at a time."""
    place.mkdir(parents=True)
    _fill(place, data, say_nothing)
    (place / _HOW_FAR).unlink()


def _fill(part: Path, data: ConnectomeData, progress: Progress) -> Tally:
    """Write all subjects that are not there yet; return what cleaning found in all of them."""
    try:
        import zarr
    except ImportError as error:
        raise missing_package(str(part)) from error
    n, n_regions = data.connectomes.shape[:2]
    shape = (n, n_regions * (n_regions - 1) // 2)
    dtype = np.dtype(data.connectomes.dtype)
    step = max(1, _CHUNK_BYTES // (dtype.itemsize * max(shape[1], 1)))
    group = zarr.open_group(str(part), mode="a", zarr_format=2)
    names = {"subject_ids": data.subject_ids, "regions": data.regions["name"].astype(str)}
    if not (part / _HOW_FAR).exists():
        chunks = (min(step, n), shape[1])
        group.create_array("connectomes", shape=shape, dtype=dtype, chunks=chunks, overwrite=True)
        for name, texts in names.items():
            coded = np.array([text.encode("utf-8") for text in texts], dtype="S")
            group.create_array(name, data=coded, overwrite=True)
        group.attrs[EDGE_ORDER] = "upper"
        _note(part, 0, Tally())
    stack: Any = group["connectomes"]
    done, tally = _noted(part)
    _check_same(part, data, stack, names, max(done - step, 0), done)
    for start in range(done, n, step):
        rows = slice(start, min(start + step, n))
        stack[rows] = matrices_to_edges(_matrices(data.connectomes, rows, tally), check=False)
        _note(part, rows.stop, tally)
        progress(rows.stop, n)
    return tally


def _matrices(connectomes: Any, rows: slice, tally: Tally) -> NDArray[Any]:
    if isinstance(connectomes, LazyStack):
        return connectomes.read(np.arange(rows.start, rows.stop), tally)
    return np.asarray(connectomes[rows])  # of a cohort, which was cleaned before


def _remarks(
    data: ConnectomeData, tally: Tally, *, is_length: bool
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Make the remarks on values that `read_connectomes` makes: notes and warnings."""
    if not isinstance(data.connectomes, LazyStack):
        return (), ()
    sample = data.connectomes.select(np.arange(min(SAMPLE, data.n_subjects)))
    empty = empty_regions(tally, data.subject_ids, list(data.regions["name"]))
    return remarks(tally, sample, is_length=is_length), empty


def _check_same(
    part: Path, data: ConnectomeData, stack: Any, names: dict[str, Any], start: int, done: int
) -> None:
    """Refuse to go on with other connectomes than were begun with."""
    import zarr

    group = zarr.open_group(str(part), mode="r")
    known: Any = group["subject_ids"]
    ids = [text.decode("utf-8") for text in known[:]]
    same = ids == [*names["subject_ids"]] and stack.dtype == data.connectomes.dtype
    if same and done:
        last = matrices_to_edges(np.asarray(data.connectomes[start:done]), check=False)
        same = np.array_equal(stack[start:done], last)
    if not same:
        raise FileError(
            f"{part}: was begun with other connectomes. Remove it, or choose another name."
        )


def _note(part: Path, done: int, tally: Tally) -> None:
    with written_aside(part / _HOW_FAR, overwrite=True) as aside:
        write_json(aside, {"done": done, "tally": asdict(tally)})


def _noted(part: Path) -> tuple[int, Tally]:
    """Return how many subjects are written, and what cleaning found in them."""
    noted = read_json(part / _HOW_FAR)
    tally = Tally(**noted["tally"])
    # Keys are text in JSON.
    tally.empty_regions = {int(place): who for place, who in tally.empty_regions.items()}
    return int(noted["done"]), tally
