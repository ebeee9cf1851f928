"""Answers of a fitted model, computed for blocks of subjects."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stillome.arrays import Floats
from stillome.cohort.subject_rows import SubjectRows
from stillome.counts.workers import MOST_WORKERS, in_order, on_a_cluster
from stillome.methods.answer_place import write_subjects
from stillome.methods.inv_fa.adjusting import log_likelihoods
from stillome.methods.inv_fa.ordered_table import subject_step
from stillome.methods.inv_fa.parts import InvariantModel

_BANDS = 2 * MOST_WORKERS  # at least, where there are enough subjects


def by_subjects(
    rows: SubjectRows,
    function: Callable[[slice, NDArray[Any]], NDArray[Any]],
    out: Any = None,
) -> Any:
    """Return what a function says of every block of subjects, one below the other.

    Chunks of stores are read, and written, as a whole where memory allows it.

    Parameters
    ----------
    rows : SubjectRows
    function : callable
        From the place of the subjects and their edges (m, E) to an array (m, ...). It may be
        sent to the workers of a cluster, and must not hold the connectomes.
    out : anything that can be assigned to in slices, optional
        The answer of every block is written there as soon as it is made; a new array without.

    Examples
    --------
    >>> by_subjects(SubjectRows(np.eye(3)), lambda place, edges: edges.sum(axis=1)).tolist()
    [1.0, 1.0, 1.0]
    """
    n, few = len(rows), subject_step(rows.shape)
    written = getattr(out, "shards", None) or getattr(out, "chunks", None)
    # Several bands, for several workers; each of whole blocks, so that every subject is computed
    # beside the same others whatever the chunks are.
    wanted = min(rows.at_a_time(few, written), -(-n // _BANDS))
    bands = _consecutive(0, n, few * max(-(-wanted // few), 1))
    read = rows.by_path() if len(bands) > 1 and on_a_cluster() else rows

    def work(band: slice) -> tuple[slice, NDArray[Any]]:
        edges = read[band]
        blocks = _consecutive(band.start, band.stop, few)
        first = band.start
        found = [function(b, edges[b.start - first : b.stop - first]) for b in blocks]
        return band, found[0] if len(found) == 1 else np.concatenate(found)

    few_bands = 1 if len(bands) == 1 else None
    parts = in_order(work, bands, few_bands, shared=True, singly=wanted > few)
    return _collected(parts, len(rows)) if out is None else _written(parts, out)


def posteriors(
    model: InvariantModel, rows: SubjectRows, confounds: Floats
) -> tuple[Floats, Floats]:
    """Return means and standard deviations of z, each (n, K)."""

    def of_block(place: slice, edges: NDArray[Any]) -> Floats:
        latent, motion = model.encode(edges, confounds[place])
        return np.stack([latent, model.latent_sd(edges, motion)], axis=1)

    both = by_subjects(rows, of_block)
    return both[:, 0].copy(), both[:, 1].copy()


def mean_log_likelihood(model: InvariantModel, rows: SubjectRows, confounds: Floats) -> float:
    """Return the mean log-likelihood per subject given its own z and motion, in nats."""

    def of_block(place: slice, edges: NDArray[Any]) -> Floats:
        return log_likelihoods(model, edges, *model.encode(edges, confounds[place]))

    return float(by_subjects(rows, of_block).mean())


def in_own_units(
    counts: NDArray[Any],
    estimated: NDArray[Any],
    units: Floats,
    given: tuple[InvariantModel, NDArray[Any], Floats],
    level: Floats,
) -> Floats:
    """Return adjusted counts (m, ..., E) as weights, in the units of scans at this level.

    Parameters
    ----------
    counts, estimated, units
        As for `OwnUnits.at_reference`.
    given : tuple of InvariantModel, array of shape (m, E) and array of shape (m, C)
        The model, the counts of the scans and their confounds.
    level : array of shape (C,)
    """
    model, edges, motion = given
    if np.isnan(motion).any():
        _, motion = model.encode(edges, motion)
    here, there = model.basis(motion), model.basis(level[None])
    return model.own_units.at_reference(counts, estimated, units, here, there)


def _consecutive(first: int, last: int, step: int) -> list[slice]:
    """Return blocks of this many subjects; an empty one where there are none."""
    starts = range(first, max(last, first + 1), step)
    return [slice(start, min(start + step, last)) for start in starts]


def _collected(parts: Iterator[tuple[slice, NDArray[Any]]], n: int) -> NDArray[Any]:
    found: NDArray[Any] | None = None
    for place, part in parts:
        if found is None:
            found = np.empty((n, *part.shape[1:]), part.dtype)
        elif found.dtype != part.dtype:  # a later block can need a wider one
            found = found.astype(np.result_type(found, part))
        found[place] = part
    assert found is not None
    return found


def _written(parts: Iterator[tuple[slice, NDArray[Any]]], out: Any) -> Any:
    for place, part in parts:
        write_subjects(out, place, part)
    return out
