"""Whether people can be told apart by their adjusted connectomes."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stillome.cohort.edges import matrices_to_edges
from stillome.cohort.validation import check_connectomes
from stillome.exceptions import InputError

Array = NDArray[np.float64]


def identification_rate(adjusted: ArrayLike, truth: ArrayLike) -> float:
    """Share of subjects whose adjusted connectome is nearest to their own motion-free one.

    Near is what correlates: deviations from the group mean are compared, on the scale of
    log(1 + count). A subject who is exactly as near to somebody else is not identified, so that
    the same network for everybody scores 0.

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

    Correlated are deviations from the group mean, on the scale of log(1 + count): what makes a
    person differ from the others. The same network for everybody scores 0.

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
) -> tuple[Array, Array]:
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
) -> tuple[Array, Array]:
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


def _unit_deviations(edges: Array) -> Array:
    """Deviations (n, E) from the group mean, centred and scaled so that products correlate.

    Subjects who do not deviate (everybody has the same network) get zeros.
    """
    deviations = edges - edges.mean(axis=0)
    deviations -= deviations.mean(axis=1, keepdims=True)
    length = np.linalg.norm(deviations, axis=1, keepdims=True)
    # Rounding errors of the mean are no deviation.
    deviates = length > 1e-10 * (1 + np.linalg.norm(edges, axis=1, keepdims=True))
    return np.where(deviates, deviations / np.where(deviates, length, 1), 0)
