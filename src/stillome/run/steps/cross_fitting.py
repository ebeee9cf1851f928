"""Cross-fitting: every subject is adjusted by a model that was fitted to others.

Subjects are divided into three parts. A model fitted to two of them is applied to the third. The
division is repeated with other parts.
"""

import shutil
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
from stillome.exceptions import StillomeWarning
from stillome.methods.answer_place import dtype_of_adjusted, reads_slices
from stillome.run.folder import RunFolder
from stillome.run.parallel import Workers
from stillome.run.steps.fitting import fit_to, method_of_run

N_PARTS = 3
MIN_COHORT = 60  # below which a part has too few subjects to be probed
MIN_GROUPS = 5  # of every part: what the folds of the probes need
_UNSEEN = "work/unseen"  # connectomes of large cohorts, until they are certified
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
    jobs = [
        partial(_fit_part, folder, name, repeat, labels, part, keep)
        for name in names
        for repeat, labels in enumerate(within)
        for part in range(N_PARTS)
    ]
    answers = iter(workers.run(jobs))
    found: dict[str, list[CrossFitted]] = {name: [] for name in names}
    for name in names:
        for labels in within:
            parts = [next(answers) for _ in range(N_PARTS)]
            found[name].append(_joined(labels, parts))
    return found


def remove_unseen(folder: RunFolder) -> None:
    """Remove the adjusted connectomes of large cohorts that probes have looked at."""
    shutil.rmtree(folder.path / _UNSEEN, ignore_errors=True)


def _fit_part(
    folder: RunFolder, name: str, repeat: int, within: Labels, part: int, keep: bool
) -> tuple[NDArray[Any] | Path, Floats]:
    train, test = folder.known[within != part], folder.known[within == part]
    X, confounds = some_matrices(folder.cohort.connectomes, test), folder.confounds[test]
    place = folder.path / _UNSEEN / f"{name}-{keep:d}-{repeat}-{part}.npy"
    with warnings.catch_warnings():
        # What deserves a warning was said when the model was fitted to everybody; these models,
        # of fewer subjects, are used for nothing else.
        warnings.simplefilter("ignore", StillomeWarning)
        model = fit_to(folder, method_of_run(folder, name), train, keep=keep)
        latents = model.transform(X, confounds=confounds)
        if is_sliced(X):
            _write_part(place, model, SubjectRows(X), confounds, folder.reference)
            return place, latents
        adjusted = model.adjust(X, confounds=confounds, reference=folder.reference)
    return matrices_to_edges(adjusted, check=False), latents


def _write_part(
    place: Path, model: Any, edges: SubjectRows, confounds: Floats, reference: Floats
) -> None:
    """Write adjusted edges (m, E) of a large cohort as they are made."""
    place.parent.mkdir(parents=True, exist_ok=True)
    given = {"confounds": confounds, "reference": reference}
    if not reads_slices(model):
        np.save(place, model.adjust(edges, **given), allow_pickle=False)
        return
    with NpyRows(place, edges.shape, dtype_of_adjusted(edges)) as out:
        model.adjust(edges, **given, out=out)


def _joined(within: Labels, parts: Sequence[tuple[NDArray[Any] | Path, Floats]]) -> CrossFitted:
    # Models of fewer subjects may have fewer latents; the columns they lack are constant.
    latents = np.zeros((len(within), max(z.shape[1] for _, z in parts)))
    for part, (_, z) in enumerate(parts):
        latents[within == part, : z.shape[1]] = z
    found = [adjusted for adjusted, _ in parts]
    paths = [one for one in found if isinstance(one, Path)]
    if paths:
        return CrossFitted(within, _joined_files(within, paths), latents)
    arrays = [one for one in found if not isinstance(one, Path)]
    edges = np.empty((len(within), arrays[0].shape[1]), dtype=np.float64)
    for part, adjusted in enumerate(arrays):
        edges[within == part] = adjusted
    return CrossFitted(within, edges, latents)


def _joined_files(within: Labels, paths: Sequence[Path]) -> StoredMatrices:
    """Put the subjects of all parts into one file, in their order; remove those of the parts."""
    parts = [StoredMatrices(np.load(path, mmap_mode="r")) for path in paths]
    whole = paths[0].with_name(f"{paths[0].stem.rpartition('-')[0]}.npy")
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
    for path in paths:
        path.unlink()
    return StoredMatrices(np.load(whole, mmap_mode="r"))
