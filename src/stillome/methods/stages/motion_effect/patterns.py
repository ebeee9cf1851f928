"""Patterns over pairs of regions: what of a noisy value per edge is of low rank.

Motion hurts long tracts, tracts through the crown, tracts of the front with the back. None of that
is a sum over the two regions of an edge, but each is a product or a few: a matrix V × V of low
rank, which 2,278 noisy values tell far better than any one of them.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stillome.arrays import Floats
from stillome.cohort.edges import edge_indices

_ROUNDS = 8
_MARGIN = 1.1  # above what noise alone shows; heavy tails reach a little further than theory
_TRUSTED = 0.9  # edges above this quantile of precision count in full


def low_rank_pattern(values: Floats, variances: Floats, n_regions: int) -> Floats:
    """Return the low-rank part of values per edge, shape (E,); 0 where noise explains them all.

    Eigenvalues of a symmetric V × V matrix of noise with standard deviation σ stay within
    ±2σ√V; one of size y σ√V is shrunk to √(y² − 4) σ√V, which is nearest to the truth on average.
    Edges are not equally sure: each is given as far as it is precise, the rest filled in from the
    pattern of the round before, and so is the diagonal.

    Parameters
    ----------
    values : array of shape (E,)
    variances : array of shape (E,)
        Of the noise in them.
    n_regions : int
        V.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> place = rng.standard_normal(40)
    >>> rows, columns = edge_indices(40)
    >>> truth = place[rows] * place[columns]
    >>> noisy = truth + rng.standard_normal(len(truth))
    >>> found = low_rank_pattern(noisy, np.ones(len(truth)), 40)
    >>> bool(np.mean((found - truth) ** 2) < 0.1)
    True
    """
    rows, columns = edge_indices(n_regions)
    precision = 1 / variances
    given = np.minimum(precision / np.quantile(precision, _TRUSTED), 1)
    unit = float(np.sqrt((given**2 * variances).mean() * n_regions))
    table = np.zeros((n_regions, n_regions))
    for _ in range(_ROUNDS):
        filled = given * values + (1 - given) * table[rows, columns]
        table[rows, columns] = table[columns, rows] = filled
        eigenvalues, vectors = np.linalg.eigh(table)
        kept = _shrunk(eigenvalues / unit) * unit
        table = (vectors * kept) @ vectors.T
    return np.asarray(table[rows, columns])


def _shrunk(sizes: NDArray[Any]) -> NDArray[Any]:
    signal = np.abs(sizes) > 2 * _MARGIN
    return np.where(signal, np.sign(sizes) * np.sqrt(np.maximum(sizes**2 - 4, 0)), 0)
