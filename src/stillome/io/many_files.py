"""One file per subject: chosen, read, aligned by label, cleaned."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from stillome.arrays import Floats
from stillome.exceptions import FileError
from stillome.io.aligned_matrices import Reading
from stillome.io.assemble import Assembled, assemble
from stillome.io.clean import Cleaner, Tally
from stillome.io.connectome_data import ConnectomeData, Contents, Holding, Source
from stillome.io.connectome_measures import check_name, check_values, choice_note, choose
from stillome.io.fibre_lengths import lengths_beside, mean_lengths
from stillome.io.file_matrix import KeptInFiles
from stillome.io.find import Group, Selection, select_files
from stillome.io.guarded_files import Item
from stillome.io.lazy_stack import LazyStack
from stillome.io.reading_options import ReadingOptions
from stillome.io.recognise import read_contents
from stillome.io.remarks import SAMPLE, empty_regions, remarks
from stillome.io.subject_ids import normalise_ids


def read_files(
    items: Sequence[Item],
    root: Path | None,
    options: ReadingOptions,
    known: Contents | None = None,
) -> ConnectomeData:
    """Read one matrix per subject from the files found; `known` if the only one was read before.

    Where they are streamed, of every file only shape, dtype and names are kept. It is read again,
    and its values checked, when a slice of the stack with its subject is asked for.

    Raises
    ------
    FileError, InputError
        E1 to E8, naming the file.
    """
    selection = select_files(
        items, root, atlas=options.atlas, measure=options.measure, session=options.session
    )
    found = _read_group(selection.counts, options, known)
    readings, chosen = found.readings, found.readings[0].holding
    if options.measure is None:
        for reading in readings:
            check_name(reading.holding.measure, reading.label)
    subject_ids = tuple(normalise_ids([reading.subject for reading in readings]))
    assembled = assemble(readings, options.labels)
    labels = tuple(reading.label for reading in readings)
    stack = assembled.stack if options.streamed else assembled.stack.loaded()
    if options.measure is None:
        for i in range(min(SAMPLE, len(labels))):
            check_values(stack[i : i + 1], labels[i : i + 1], chosen.measure)
    data = ConnectomeData(
        subject_ids,
        stack,
        assembled.regions,
        chosen.measure,
        Source(found.producer, labels, chosen.atlas),
        notes=(*selection.notes, *found.notes, *assembled.notes),
        warnings=assembled.warnings,
    )
    is_length = options.is_length(chosen.measure)
    cleaner = _cleaner(assembled, labels, options.symmetrize, is_length)
    if options.streamed:
        return _streamed(data, LazyStack(stack, 0, cleaner), found, selection)
    return _loaded(data, cleaner, found, selection.lengths, options)


@dataclass(frozen=True, eq=False)
class _Found:
    """The matrices of all files, the lengths in the same files, and remarks on the first."""

    readings: list[Reading]
    lengths: list[Holding | None]
    producer: str
    notes: tuple[str, ...]


def _read_group(group: Group, options: ReadingOptions, known: Contents | None = None) -> _Found:
    readings: list[Reading] = []
    lengths: list[Holding | None] = []
    producer, notes = "", tuple[str, ...]()
    kept = KeptInFiles() if options.streamed and known is None else None
    for subject, item in group.members:
        held = read_contents(item) if known is None else known
        holding = choose(held.holdings, item.label, atlas=options.atlas, measure=options.measure)
        beside = lengths_beside(held, holding)
        if not readings:
            taken = choice_note(held.holdings, holding, options.measure)
            producer, notes = held.producer, (*held.notes, *taken)
        if kept is not None:
            holding = kept.without_values(holding, item, options)
            beside = None if beside is None else Holding(None)
        if len(holding.values.shape) == 2 and not holding.edges:
            found = [Reading(item.label, subject, holding)]
        elif holding.partial and holding.subject_ids is not None:
            found = _several(holding, item.label)
        else:
            raise FileError(f"{item.label}: a stack beside other files. Read it by itself.")
        readings += found
        lengths += [beside] * len(found)
    return _Found(readings, lengths, producer, notes)


def _several(holding: Holding, label: str) -> list[Reading]:
    """Return the matrices of a file with several subjects."""
    readings = []
    for position, owner in enumerate(holding.subject_ids or ()):
        matrix = holding.values[position]
        one = Holding(matrix, holding.measure, regions=holding.regions, partial=True)
        readings.append(Reading(label, owner, one))
    return readings


def _cleaner(
    assembled: Assembled, labels: Sequence[str], symmetrize: str | None, is_length: bool
) -> Cleaner:
    return Cleaner(
        lambda position: labels[position],
        regions=list(assembled.regions["name"]),
        symmetrize=symmetrize,
        missing_is_zero=is_length,
    )


def _cleaned(stack: NDArray[Any], cleaner: Cleaner, tally: Tally) -> NDArray[Any]:
    matrices = stack.astype(cleaner.dtype_of(stack.dtype), copy=False)
    cleaner.clean(matrices, tally)
    return matrices


def _streamed(
    data: ConnectomeData, stack: LazyStack, found: _Found, selection: Selection
) -> ConnectomeData:
    """Leave the matrices in their files; whoever reads them makes the remarks on values."""
    notes = data.notes
    if selection.lengths is not None or any(beside is not None for beside in found.lengths):
        notes = (*notes, "fibre lengths are there too; not read.")
    return replace(data, connectomes=stack, notes=notes)


def _loaded(
    data: ConnectomeData,
    cleaner: Cleaner,
    found: _Found,
    group: Group | None,
    options: ReadingOptions,
) -> ConnectomeData:
    """Clean the matrices, make remarks on them and add the fibre lengths."""
    tally = Tally()
    lengths: Floats | None = None
    more: tuple[str, ...] = ()
    matrices = _cleaned(data.connectomes, cleaner, tally)
    is_length = options.is_length(data.measure)
    if not is_length:
        lengths, more = _lengths(found, group, options, matrices)
    said = remarks(tally, matrices[:SAMPLE], is_length=is_length)
    empty = empty_regions(tally, data.subject_ids, list(data.regions["name"]))
    return replace(
        data,
        connectomes=matrices,
        source=replace(data.source, triangle=tally.triangle),
        lengths=lengths,
        notes=(*data.notes, *more, *said),
        warnings=(*data.warnings, *empty),
    )


def _lengths(
    counts: _Found, group: Group | None, options: ReadingOptions, matrices: NDArray[Any]
) -> tuple[Floats | None, tuple[str, ...]]:
    """Find fibre lengths in the same files, or in those beside them."""
    found = [
        Reading(reading.label, reading.subject, holding)
        for reading, holding in zip(counts.readings, counts.lengths, strict=True)
        if holding is not None and len(holding.values.shape) == 2
    ]
    try:
        if not found and group is not None:
            found = _read_group(group, ReadingOptions()).readings
        if not found:
            return None, ()
        assembled = assemble(found, options.labels)
        cleaner = _cleaner(assembled, [r.label for r in found], "max", True)
        cleaned = _cleaned(assembled.stack.loaded(), cleaner, Tally())
    except FileError as error:
        return None, (f"lengths left out: {error}",)
    if cleaned.shape[1:] != matrices.shape[1:]:
        return None, (f"lengths left out: of {cleaned.shape[1]} regions.",)
    return mean_lengths(cleaned), ()
