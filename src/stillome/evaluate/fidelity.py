"""Whether adjusted connectomes are still those of the same people."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stillome.edges import matrices_to_edges
from stillome.exceptions import InputError
from stillome.validation import check_connectomes

Array = NDArray[np.float64]


def fidelity_r2(adjusted: ArrayLike, truth: ArrayLike) -> float:
    """R² of adjusted connectomes against the motion-free ones of the same subjects.

    On the scale of log(1 + count), over all subjects and edges; 1 is perfect, and giving everybody
    the mean network of the truth scores 0.

    Parameters
    ----------
    adjusted, truth : array-like of shape (n, V, V) or (n, V(V-1)/2)
        Fibre counts of the same subjects in the same order.

    Examples
    --------
    >>> truth = [[4, 0, 2], [1, 3, 2]]
    >>> fidelity_r2(truth, truth)
    1.0
    """
    found, known = log_edges(adjusted, truth)
    total = ((known - known.mean(axis=0)) ** 2).sum()
    if total == 0:
        raise InputError("truth: the same for all subjects, so that R² is not defined; give more.")
    return float(1 - ((found - known) ** 2).sum() / total)


def log_edges(first: ArrayLike, second: ArrayLike, other: str = "truth") -> tuple[Array, Array]:
    """Judge two sets of connectomes of the same subjects; give both as log(1 + count), (n, E)."""
    tables = [
        np.log1p(
            matrices_to_edges(check_connectomes(values, name=name), check=False), dtype=np.float64
        )
        for values, name in ((first, "adjusted"), (second, other))
    ]
    if tables[0].shape != tables[1].shape:
        raise InputError(
            f"adjusted: {tables[0].shape[0]} subjects × {tables[0].shape[1]} edges, {other}: "
            f"{tables[1].shape[0]} × {tables[1].shape[1]}; give the same subjects and regions."
        )
    return tables[0], tables[1]
