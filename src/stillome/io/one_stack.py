"""One file with all subjects: checked on a sample, then loaded or left in the file."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from stillome.arrays import Floats
from stillome.exceptions import FileError
from stillome.io.aligned_matrices import Reading
from stillome.io.assemble import assemble, region_table
from stillome.io.clean import Cleaner, Tally, as_numbers, check_square
from stillome.io.connectome_data import ConnectomeData, Contents, Holding, Source
from stillome.io.connectome_measures import check_name, check_values, choice_note
from stillome.io.edge_matrices import EdgeMatrices
from stillome.io.fibre_lengths import lengths_beside, mean_lengths
from stillome.io.free_memory import check_array
from stillome.io.guarded_files import Item
from stillome.io.lazy_stack import STORAGE_ERRORS, LazyStack
from stillome.io.reading_options import ReadingOptions
from stillome.io.region_names import positions_of
from stillome.io.remarks import empty_regions, remarks
from stillome.io.stacks import axis_of, check_stored
from stillome.io.subject_ids import normalise_ids

# Stacks up to this size are loaded and checked as a whole; larger ones stay in their file.
LAZY_BYTES = 2 * 2**30
_SAMPLE = 8


class UnnamedSubjectsError(FileError):
    """A stack has no subject ids; `count` is its number of matrices."""

    def __init__(self, label: str, count: int) -> None:
        super().__init__(
            f"{label}: {count} matrices without subject ids. Pass subjects=..., one id for each."
        )
        self.count = count


def read_stack(
    item: Item, contents: Contents, holding: Holding, options: ReadingOptions
) -> ConnectomeData:
    """Read or open the stack that was chosen from one file.

    Raises
    ------
    FileError
        If sizes do not fit together, ids are not known, or values cannot be counts.
    """
    label = item.label
    if options.measure is None:
        check_name(holding.measure, label)
    stack, ids, regions, notes = open_stack(holding, label, options)
    stays = bool(options.lazy) or (options.lazy is None and stack.nbytes > LAZY_BYTES)
    if not stays:
        check_stored(holding.values, label)
    if options.measure is None and not holding.edges:
        _check_sample(holding, label, axis_of(tuple(holding.values.shape), options.axis, label))
    subject_ids = tuple(normalise_ids(ids, name=label))
    tally = Tally()
    connectomes = _loaded(stack, stays, tally)
    lengths, more = _lengths(contents, holding, label, len(regions), options)
    found: tuple[str, ...] = ()
    empty: tuple[str, ...] = ()
    if not options.streamed:
        is_length = options.is_length(holding.measure)
        found = remarks(tally, connectomes[:_SAMPLE], is_length=is_length)
        empty = empty_regions(tally, subject_ids, list(regions["name"]))
    taken = choice_note(contents.holdings, holding, options.measure)
    return ConnectomeData(
        subject_ids,
        connectomes,
        regions,
        holding.measure,
        Source(contents.producer, (label,), holding.atlas, tally.triangle),
        lengths,
        (*contents.notes, *taken, *notes, *more, *found),
        empty,
    )


def open_stack(
    holding: Holding, label: str, options: ReadingOptions
) -> tuple[LazyStack, tuple[str, ...], pd.DataFrame, tuple[str, ...]]:
    """Open a stack without loading it.

    Returns
    -------
    stack : LazyStack
    subject_ids : tuple of str
        As written.
    regions : pandas.DataFrame
    notes : tuple of str
    """
    values, axis = holding.values, holding.axis if options.axis is None else options.axis
    if holding.edges:
        values, axis = _matrices(holding, label, options), 0
    axis = axis_of(tuple(values.shape), axis, label)
    size = int(values.shape[axis - 1])
    check_square((size, size), label)
    ids = _ids(holding.subject_ids, options.subjects, int(values.shape[axis]), label)
    names = holding.regions if holding.regions and len(holding.regions) == size else None
    keep, table, notes = _regions(names, size, options.labels, label)
    cleaner = Cleaner(
        lambda position: f"{label} ({ids[position]})",
        regions=list(table["name"]),
        symmetrize=options.symmetrize,
        missing_is_zero=options.is_length(holding.measure),
    )
    return LazyStack(values, axis, cleaner, keep=keep), ids, table, notes


def _check_sample(holding: Holding, label: str, axis: int) -> None:
    """Check whether the values of the first subjects can be counts (E5)."""
    shape = list(holding.values.shape)
    shape[axis] = min(shape[axis], _SAMPLE)
    check_array(shape, label, itemsize=holding.values.dtype.itemsize)
    place = [slice(length) for length in shape]
    try:
        raw = np.moveaxis(np.asarray(holding.values[tuple(place)]), axis, 0)
    except STORAGE_ERRORS as error:
        raise FileError(f"{label}: cannot be read further ({error}). Copy it again.") from error
    check_values(as_numbers(raw, label), [label] * len(raw), holding.measure)


def _loaded(stack: LazyStack, stays: bool, tally: Tally) -> Any:
    """Read a stack if it fits; otherwise check its first subjects and leave it in its file."""
    if stays:
        stack.read(np.arange(min(_SAMPLE, len(stack))), tally)
        return stack
    return stack.read(np.arange(len(stack)), tally)


def _lengths(
    contents: Contents, holding: Holding, label: str, n_regions: int, options: ReadingOptions
) -> tuple[Floats | None, tuple[str, ...]]:
    found = lengths_beside(contents, holding)
    if found is None:
        return None, ()
    if options.lazy and len(found.values.shape) == 3:
        return None, ("fibre lengths are in the file too; not read.",)
    try:
        check_stored(found.values, label)
        if len(found.values.shape) == 2:
            matrices = assemble([Reading(label, "all", found)], options.labels).stack.loaded()
        else:
            lenient = replace(options, measure="length", symmetrize="max")
            stack, *_ = open_stack(found, label, lenient)
            if stack.nbytes > LAZY_BYTES:
                return None, ("fibre lengths left out: more than 2 GiB.",)
            matrices = stack[:]
    except FileError as error:
        return None, (f"lengths left out: {error}",)
    return (mean_lengths(matrices), ()) if matrices.shape[1] == n_regions else (None, ())


def _ids(
    known: tuple[str, ...] | None, given: Sequence[str] | None, count: int, label: str
) -> tuple[str, ...]:
    if known is not None and len(known) == count:
        return known
    if given is None:
        raise UnnamedSubjectsError(label, count)
    if len(given) != count:
        raise FileError(f"{label}: {count} matrices, but subjects=... has {len(given)} ids.")
    return tuple(given)


def _regions(
    names: tuple[str, ...] | None, size: int, labels: pd.DataFrame | None, label: str
) -> tuple[NDArray[np.intp] | None, pd.DataFrame, tuple[str, ...]]:
    """Choose and order the regions: which rows to keep, their table, and notes."""
    if labels is None:
        table, notes = region_table(names, size, None, label)
        return None, table, notes
    wanted = list(labels["name"])
    keep = None
    extra: tuple[str, ...] = ()
    if names is not None and list(names) != wanted:
        keep = positions_of(wanted, names, label)
    elif names is None and size == len(wanted) + 1:
        keep = np.arange(1, size)
        extra = ("row and column 0 left out (unassigned streamlines).",)
    table, notes = region_table(wanted, size if keep is None else len(keep), labels, label)
    return keep, table, (*notes, *extra)


def _matrices(holding: Holding, label: str, options: ReadingOptions) -> EdgeMatrices:
    """See edge vectors (n, E) as matrices, in the order that the user or the file gives."""
    check_stored(holding.values, label)
    n_edges = int(holding.values.shape[1])
    root = int((8 * n_edges + 1) ** 0.5)
    if root * root != 8 * n_edges + 1:
        raise FileError(f"{label}: {n_edges} edges is not V(V−1)/2 for any number of regions V.")
    # The same number of edges fits V regions without a diagonal, or V - 1 with one.
    with_diagonal = options.labels is not None and len(options.labels) == (root - 1) // 2
    size = (root - 1) // 2 if with_diagonal else (root + 1) // 2
    shift = 0 if with_diagonal else 1
    order = options.edge_order or holding.edge_order
    if order is None:
        raise FileError(
            f"{label}: {n_edges} edges fit {size} regions, but their order is not known. "
            "Pass edge_order='upper' or 'lower' (row by row)."
        )
    upper = order == "upper"
    rows, columns = np.triu_indices(size, shift) if upper else np.tril_indices(size, -shift)
    return EdgeMatrices(holding.values, size, rows, columns)
