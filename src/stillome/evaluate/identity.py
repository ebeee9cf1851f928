"""Whether people can be told apart by their adjusted connectomes."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stillome.evaluate.fidelity import log_edges
from stillome.exceptions import InputError


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
    found, known = log_edges(adjusted, truth)
    if len(found) < 2:
        raise InputError("adjusted: one subject; there is nobody to be confused with. Give more.")
    similarity = unit_deviations(found) @ unit_deviations(known).T
    own = similarity.diagonal().copy()
    np.fill_diagonal(similarity, -np.inf)
    return float((own > similarity.max(axis=1)).mean())


def unit_deviations(edges: NDArray[np.float64]) -> NDArray[np.float64]:
    """Deviations (n, E) from the group mean, centred and scaled so that products correlate.

    Subjects who do not deviate (everybody has the same network) get zeros.
    """
    deviations = edges - edges.mean(axis=0)
    deviations -= deviations.mean(axis=1, keepdims=True)
    length = np.linalg.norm(deviations, axis=1, keepdims=True)
    # Rounding errors of the mean are no deviation.
    deviates = length > 1e-10 * (1 + np.linalg.norm(edges, axis=1, keepdims=True))
    return np.where(deviates, deviations / np.where(deviates, length, 1), 0)
