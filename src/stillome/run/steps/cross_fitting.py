"""Cross-fitting: every subject is adjusted by a model that was fitted to others.

Subjects are divided into three parts. A model fitted to two of them is applied to the third. The
division is repeated with other parts. What a model made is kept as soon as it is made, so that a
run that is stopped fits only the models that are missing.
"""

import warnings
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stillome.arrays import Floats
from stillome.cohort.edges import matrices_to_edges
from stillome.cohort.groups import group_labels, grouped_parts
from stillome.cohort.stored_matrices import NpyRows, StoredMatrices, some_matrices
from stillome.cohort.subject_rows import SubjectRows
from stillome.cohort.validation.sliced import is_sliced
from stillome.exceptions import FileError, StillomeWarning
from stillome.methods.answer_place import dtype_of_adjusted, reads_slices
from stillome.persistence import read_array, written_aside
from stillome.run.folder import RunFolder
from stillome.run.parallel import Workers
from stillome.run.steps.fitting import fit_to, method_of_run
from stillome.run.steps.kept_parts import place_of_part

N_PARTS = 3
MIN_COHORT = 60  # below which a part has too few subjects to be probed
MIN_GROUPS = 5  # of every part: what the folds of the probes need
_ADJUSTED, _LATENTS = "adjusted.npy", "latents.npy"
_JOINED_VALUES = 2**21  # that are copied at a time

Labels = NDArray[np.intp]  # (n_known,): subjects with the same number are adjusted by one model


class CrossFitted(NamedTuple):
    """What one repeat made of the subjects whose confounds are known."""

    within: Labels
    adjusted: Any  # (n_known, E); of large cohorts in a file
    latents: Floats  # (n_known, K); coordinates of different parts are not comparable


def divisions(folder: RunFolder) -> list[Labels] | str:
    """Divide those whose confounds are known into parts, once for each repeat; groups stay whole.

    Returns
    -------
    list of arrays, or str
        Why not, where a part would be too small to be probed.
    """
    known, repeats = folder.known, folder.settings.repeats
    labels = group_labels(folder.groups, folder.cohort.n_subjects)[known]
    n_groups = len(np.unique(labels))
    if repeats == 0:
        return "repeats=0"
    if len(known) < MIN_COHORT:
        return f"{len(known)} subjects are too few; {MIN_COHORT} are needed"
    if n_groups < N_PARTS * MIN_GROUPS:
        return f"{n_groups} groups of subjects are too few; {N_PARTS * MIN_GROUPS} are needed"
    found = []
    for repeat in range(repeats):
        rng = np.random.default_rng([folder.settings.seed, repeat])
        parts = grouped_parts(labels, N_PARTS, rng)
        if min(len(np.unique(labels[part])) for part in parts) < MIN_GROUPS:
            return f"a third of the subjects has fewer than {MIN_GROUPS} groups"
        within = np.empty(len(known), dtype=np.intp)
        for number, part in enumerate(parts):
            within[part] = number
        found.append(within)
    return found


def cross_fit(
    folder: RunFolder,
    workers: Workers,
    names: Sequence[str],
    within: Sequence[Labels],
    *,
    keep: bool = True,
) -> dict[str, list[CrossFitted]]:
    """Adjust every subject by models that were fitted to others.

    What a model made is kept until `remove_parts`, and is not made again before.

    Parameters
    ----------
    folder : RunFolder
    workers : Workers
    names : sequence of str
        Methods, by their names in `METHODS`.
    within : sequence of arrays of shape (n_known,)
        See `divisions`.
    keep : bool, default=True
        Whether the fits keep the covariates of the run.

    Returns
    -------
    dict of str to list of CrossFitted
        One for each repeat, by the name of the method.
    """
    places = {
        (name, repeat): place_of_part(folder, f"{name}-{keep:d}-{repeat}")
        for name in names
        for repeat in range(len(within))
    }
    workers.run(
        [
            partial(_fit_part, folder, name, place, within[repeat], part, keep)
            for (name, repeat), place in places.items()
            for part in range(N_PARTS)
        ]
    )
    large = is_sliced(folder.cohort.connectomes)
    found: dict[str, list[CrossFitted]] = {name: [] for name in names}
    for (name, repeat), place in places.items():
        labels = within[repeat]
        adjusted = _joined_file(place, labels) if large else _joined_edges(place, labels)
        found[name].append(CrossFitted(labels, adjusted, _joined_latents(place, labels)))
    return found


def _fit_part(
    folder: RunFolder, name: str, place: Path, within: Labels, part: int, keep: bool
) -> None:
    """Write adjusted edges (m, E) and latents (m, K) of one part, if they are not there."""
    train, test = folder.known[within != part], folder.known[within == part]
    if _is_there(place, part, len(test)):
        return
    X, confounds = some_matrices(folder.cohort.connectomes, test), folder.confounds[test]
    with warnings.catch_warnings():
        # What deserves a warning was said when the model was fitted to everybody; these models,
        # of fewer subjects, are used for nothing else.
        warnings.simplefilter("ignore", StillomeWarning)
        model = fit_to(folder, method_of_run(folder, name), train, keep=keep)
        latents = model.transform(X, confounds=confounds)
        with written_aside(_in_part(place, part, _ADJUSTED), overwrite=True) as aside:
            _write_adjusted(aside, model, X, confounds, folder.reference)
    # The last file of a part says that the part is done.
    with written_aside(_in_part(place, part, _LATENTS), overwrite=True) as aside:
        np.save(aside, latents, allow_pickle=False)


def _in_part(place: Path, part: int, name: str) -> Path:
    # Every part has its own folder: jobs that run at the same time write aside in their own.
    return place / f"part-{part}" / name


def _is_there(place: Path, part: int, n_subjects: int) -> bool:
    """Whether an earlier run has finished a part; its edges may be in the file of all parts."""
    whole, own = place / _ADJUSTED, _in_part(place, part, _ADJUSTED)
    latents = _in_part(place, part, _LATENTS)
    if not _is_readable(latents) or not (_is_readable(whole) or _is_readable(own)):
        return False
    return len(read_array(latents)) == n_subjects


def _is_readable(path: Path) -> bool:
    """Whether an array is there, and not cut short."""
    try:
        read_array(path, memory_map=True)
    except FileError:
        return False
    return True


def _write_adjusted(aside: Path, model: Any, X: Any, confounds: Floats, reference: Floats) -> None:
    """Write adjusted edges (m, E); those of a large cohort as they are made."""
    given = {"confounds": confounds, "reference": reference}
    if not is_sliced(X):
        adjusted = matrices_to_edges(model.adjust(X, **given), check=False)
        np.save(aside, adjusted, allow_pickle=False)
        return
    edges = SubjectRows(X)
    if not reads_slices(model):
        np.save(aside, model.adjust(edges, **given), allow_pickle=False)
        return
    with NpyRows(aside, edges.shape, dtype_of_adjusted(edges)) as out:
        model.adjust(edges, **given, out=out)


def _joined_latents(place: Path, within: Labels) -> Floats:
    # Models of fewer subjects may have fewer latents; the columns they lack are constant.
    parts = [read_array(_in_part(place, part, _LATENTS)) for part in range(N_PARTS)]
    latents = np.zeros((len(within), max(z.shape[1] for z in parts)))
    for part, z in enumerate(parts):
        latents[within == part, : z.shape[1]] = z
    return latents


def _joined_edges(place: Path, within: Labels) -> Floats:
    parts = [read_array(_in_part(place, part, _ADJUSTED)) for part in range(N_PARTS)]
    edges = np.empty((len(within), parts[0].shape[1]), dtype=np.float64)
    for part, adjusted in enumerate(parts):
        edges[within == part] = adjusted
    return edges


def _joined_file(place: Path, within: Labels) -> StoredMatrices:
    """Put the subjects of all parts into one file, in their order; remove those of the parts."""
    whole = place / _ADJUSTED
    paths = [_in_part(place, part, _ADJUSTED) for part in range(N_PARTS)]
    if not _is_readable(whole):
        with written_aside(whole, overwrite=True) as aside:
            _join(aside, within, paths)
    joined = StoredMatrices(read_array(whole, memory_map=True))
    for path in paths:
        path.unlink(missing_ok=True)
    return joined


def _join(whole: Path, within: Labels, paths: Sequence[Path]) -> None:
    parts = [StoredMatrices(read_array(path, memory_map=True)) for path in paths]
    n, n_edges = len(within), parts[0].shape[1]
    done = [0] * len(parts)
    step = max(1, _JOINED_VALUES // n_edges)
    dtype = np.result_type(*(part.dtype for part in parts))
    with NpyRows(whole, (n, n_edges), dtype) as out:
        for start in range(0, n, step):
            labels = within[start : start + step]
            block = np.empty((len(labels), n_edges), dtype=dtype)
            for part, values in enumerate(parts):
                inside = labels == part
                block[inside] = values[done[part] : done[part] + inside.sum()]
                done[part] += int(inside.sum())
            out[start : start + len(labels)] = block
