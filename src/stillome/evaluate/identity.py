"""Identification: whether an adjusted connectome is most similar to that of its own subject."""

import numpy as np
from numpy.typing import ArrayLike

from stillome.arrays import Floats
from stillome.cohort.edges import matrices_to_edges
from stillome.cohort.validation import check_connectomes
from stillome.exceptions import InputError


def identification_rate(adjusted: ArrayLike, truth: ArrayLike) -> float:
    """Share of subjects whose adjusted connectome is nearest to their own motion-free one.

    Nearest means the highest correlation of deviations from the group mean, on the scale of
    log(1 + count). A subject with a tie is not identified, so that the same network for all
    subjects scores 0.

    Parameters
    ----------
    adjusted, truth : array-like of shape (n, V, V) or (n, V(V-1)/2)
        Fibre counts of the same subjects in the same order; at least two.

    Examples
    --------
    >>> truth = [[4, 0, 2], [1, 3, 2], [0, 0, 7]]
    >>> identification_rate(truth, truth)
    1.0
    >>> identification_rate([[2, 1, 3]] * 3, truth)
    0.0
    """
    found, known = log_edges(adjusted, truth, min_subjects=2)
    similarity = _unit_deviations(found) @ _unit_deviations(known).T
    own = similarity.diagonal().copy()
    np.fill_diagonal(similarity, -np.inf)
    return float((own > similarity.max(axis=1)).mean())


def mean_subject_correlation(adjusted: ArrayLike, truth: ArrayLike) -> float:
    """Mean over subjects of the correlation of their adjusted with their motion-free connectome.

    Deviations from the group mean are correlated, on the scale of log(1 + count): the individual
    differences. The same network for all subjects scores 0.

    Parameters
    ----------
    adjusted, truth : array-like of shape (n, V, V) or (n, V(V-1)/2)
        Fibre counts of the same subjects in the same order; at least two.

    Examples
    --------
    >>> truth = [[4, 0, 2], [1, 3, 2], [0, 0, 7]]
    >>> round(mean_subject_correlation(truth, truth), 6)
    1.0
    """
    found, known = log_edges(adjusted, truth, min_subjects=2)
    return float((_unit_deviations(found) * _unit_deviations(known)).sum(axis=1).mean())


def log_edges(
    adjusted: ArrayLike, other: ArrayLike, name: str = "truth", min_subjects: int = 1
) -> tuple[Floats, Floats]:
    """Give two sets of connectomes of the same subjects as log(1 + count), each (n, E).

    Examples
    --------
    >>> [part.shape for part in log_edges([[4, 0, 2]], [[1, 3, 2]])]
    [(1, 3), (1, 3)]
    """
    first, second = paired_edges(adjusted, other, name, min_subjects)
    return np.log1p(first), np.log1p(second)


def paired_edges(
    adjusted: ArrayLike, other: ArrayLike, name: str = "truth", min_subjects: int = 1
) -> tuple[Floats, Floats]:
    """Judge two sets of connectomes of the same subjects; give both as edges, each (n, E).

    Examples
    --------
    >>> [part.tolist() for part in paired_edges([[4, 0, 2]], [[1, 3, 2]])]
    [[[4.0, 0.0, 2.0]], [[1.0, 3.0, 2.0]]]
    """
    first, second = (
        matrices_to_edges(
            check_connectomes(values, name=label, min_subjects=min_subjects), check=False
        )
        for values, label in ((adjusted, "adjusted"), (other, name))
    )
    if first.shape != second.shape:
        raise InputError(
            f"adjusted: {len(first)} subjects × {first.shape[1]} edges, {name}: {len(second)} × "
            f"{second.shape[1]}; give the same subjects and regions."
        )
    return first.astype(np.float64), second.astype(np.float64)


def _unit_deviations(edges: Floats) -> Floats:
    """Deviations (n, E) from the group mean, centred and scaled so that products correlate.

    Subjects who do not deviate (all have the same network) get zeros.
    """
    deviations = edges - edges.mean(axis=0)
    deviations -= deviations.mean(axis=1, keepdims=True)
    length = np.linalg.norm(deviations, axis=1, keepdims=True)
    # Rounding errors of the mean must not count as a deviation.
    deviates = length > 1e-10 * (1 + np.linalg.norm(edges, axis=1, keepdims=True))
    return np.where(deviates, deviations / np.where(deviates, length, 1), 0)
