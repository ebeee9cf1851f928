"""One file per subject: chosen, read, aligned by label, cleaned."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from stillome.arrays import Floats
from stillome.exceptions import FileError
from stillome.io.assemble import Assembled, Reading, assemble
from stillome.io.clean import Cleaner, Tally
from stillome.io.connectome_data import ConnectomeData, Contents, Holding, Source
from stillome.io.connectome_measures import check_name, check_values, choice_note, choose
from stillome.io.fibre_lengths import lengths_beside, mean_lengths
from stillome.io.find import Group, select_files
from stillome.io.guarded_files import Item
from stillome.io.reading_options import ReadingOptions
from stillome.io.recognise import read_contents
from stillome.io.remarks import empty_regions, remarks
from stillome.io.subject_ids import normalise_ids

_SAMPLE = 16


def read_files(
    items: Sequence[Item],
    root: Path | None,
    options: ReadingOptions,
    known: Contents | None = None,
) -> ConnectomeData:
    """Read one matrix per subject from the files found; `known` if the only one was read before.

    Raises
    ------
    FileError, InputError
        E1 to E8, naming the file.
    """
    selection = select_files(
        items, root, atlas=options.atlas, measure=options.measure, session=options.session
    )
    readings, contents = _read_group(selection.counts, options, known)
    if options.measure is None:
        for reading in readings:
            check_name(reading.holding.measure, reading.label)
    subject_ids = tuple(normalise_ids([reading.subject for reading in readings]))
    assembled = assemble(readings, options.labels)
    labels = [reading.label for reading in readings]
    if options.measure is None:
        check_values(assembled.matrices[:_SAMPLE], labels[:_SAMPLE], readings[0].holding.measure)
    tally = Tally()
    chosen = readings[0].holding
    is_length = options.is_length(chosen.measure)
    matrices = _cleaned(assembled, labels, options.symmetrize, is_length, tally)
    lengths: Floats | None = None
    more: tuple[str, ...] = ()
    if not is_length:
        lengths, more = _lengths(readings, contents, selection.lengths, options, matrices)
    taken = choice_note(contents[0].holdings, chosen, options.measure)
    notes = (*selection.notes, *contents[0].notes, *taken, *assembled.notes, *more)
    return ConnectomeData(
        subject_ids,
        matrices,
        assembled.regions,
        chosen.measure,
        Source(contents[0].producer, tuple(labels), chosen.atlas, tally.triangle),
        lengths,
        (*notes, *remarks(tally, matrices[:_SAMPLE], is_length=is_length)),
        (
            *assembled.warnings,
            *empty_regions(tally, subject_ids, list(assembled.regions["name"])),
        ),
    )


def _read_group(
    group: Group, options: ReadingOptions, known: Contents | None = None
) -> tuple[list[Reading], list[Contents]]:
    readings: list[Reading] = []
    contents: list[Contents] = []
    for subject, item in group.members:
        held = read_contents(item) if known is None else known
        holding = choose(held.holdings, item.label, atlas=options.atlas, measure=options.measure)
        if len(holding.values.shape) == 2 and not holding.edges:
            readings.append(Reading(item.label, subject, holding))
            contents.append(held)
        elif holding.partial and holding.subject_ids is not None:
            for owner, matrix in zip(holding.subject_ids, holding.values, strict=True):
                one = Holding(matrix, holding.measure, regions=holding.regions, partial=True)
                readings.append(Reading(item.label, owner, one))
                contents.append(held)
        else:
            raise FileError(f"{item.label}: a stack beside other files. Read it by itself.")
    return readings, contents


def _cleaned(
    assembled: Assembled,
    labels: Sequence[str],
    symmetrize: str | None,
    is_length: bool,
    tally: Tally,
) -> NDArray[Any]:
    cleaner = Cleaner(
        lambda position: labels[position],
        regions=list(assembled.regions["name"]),
        symmetrize=symmetrize,
        missing_is_zero=is_length,
    )
    dtype = cleaner.dtype_of(assembled.matrices.dtype)
    matrices = assembled.matrices.astype(dtype, copy=False)
    cleaner.clean(matrices, tally)
    return matrices


def _lengths(
    readings: Sequence[Reading],
    contents: Sequence[Contents],
    group: Group | None,
    options: ReadingOptions,
    matrices: NDArray[Any],
) -> tuple[Floats | None, tuple[str, ...]]:
    """Find fibre lengths in the same files, or in those beside them."""
    inside = [lengths_beside(c, r.holding) for c, r in zip(contents, readings, strict=True)]
    found = [
        Reading(reading.label, reading.subject, holding)
        for reading, holding in zip(readings, inside, strict=True)
        if holding is not None and len(holding.values.shape) == 2
    ]
    try:
        if not found and group is not None:
            found, _ = _read_group(group, ReadingOptions())
        if not found:
            return None, ()
        assembled = assemble(found, options.labels)
        cleaned = _cleaned(assembled, [r.label for r in found], "max", True, Tally())
    except FileError as error:
        return None, (f"lengths left out: {error}",)
    if cleaned.shape[1:] != matrices.shape[1:]:
        return None, (f"lengths left out: of {cleaned.shape[1]} regions.",)
    return mean_lengths(cleaned), ()
