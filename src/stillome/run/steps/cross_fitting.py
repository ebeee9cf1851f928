"""Cross-fitting: every subject is adjusted by a model that was fitted to others.

Subjects are divided into three parts. A model fitted to two of them is applied to the third. The
division is repeated with other parts.
"""

import warnings
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stillome.arrays import Floats
from stillome.cohort.edges import matrices_to_edges
from stillome.cohort.groups import group_labels, grouped_parts
from stillome.exceptions import StillomeWarning
from stillome.run.folder import RunFolder
from stillome.run.parallel import Workers
from stillome.run.steps.fitting import fit_to, method_of_run

N_PARTS = 3
MIN_COHORT = 60  # below which a part has too few subjects to be probed
MIN_GROUPS = 5  # of every part: what the folds of the probes need

Labels = NDArray[np.intp]  # (n_known,): subjects with the same number are adjusted by one model


class CrossFitted(NamedTuple):
    """What one repeat made of the subjects whose confounds are known."""

    within: Labels
    adjusted: NDArray[Any]  # (n_known, E)
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
        partial(_fit_part, folder, name, labels, part, keep)
        for name in names
        for labels in within
        for part in range(N_PARTS)
    ]
    answers = iter(workers.run(jobs))
    found: dict[str, list[CrossFitted]] = {name: [] for name in names}
    for name in names:
        for labels in within:
            parts = [next(answers) for _ in range(N_PARTS)]
            found[name].append(_joined(labels, parts))
    return found


def _fit_part(
    folder: RunFolder, name: str, within: Labels, part: int, keep: bool
) -> tuple[NDArray[Any], Floats]:
    train, test = folder.known[within != part], folder.known[within == part]
    X, confounds = folder.cohort.connectomes[test], folder.confounds[test]
    with warnings.catch_warnings():
        # What deserves a warning was said when the model was fitted to everybody; these models,
        # of fewer subjects, are used for nothing else.
        warnings.simplefilter("ignore", StillomeWarning)
        model = fit_to(folder, method_of_run(folder, name), train, keep=keep)
        adjusted = model.adjust(X, confounds=confounds, reference=folder.reference)
        latents = model.transform(X, confounds=confounds)
    return matrices_to_edges(adjusted, check=False), latents


def _joined(within: Labels, parts: Sequence[tuple[NDArray[Any], Floats]]) -> CrossFitted:
    edges = np.empty((len(within), parts[0][0].shape[1]), dtype=np.float64)
    # Models of fewer subjects may have fewer latents; the columns they lack are constant.
    latents = np.zeros((len(within), max(z.shape[1] for _, z in parts)))
    for part, (adjusted, z) in enumerate(parts):
        edges[within == part] = adjusted
        latents[within == part, : z.shape[1]] = z
    return CrossFitted(within, edges, latents)
