"""Low-rank patterns over pairs of regions in noisy values per edge.

Motion may act on long tracts, or on tracts between frontal and posterior regions. Such an effect
is no sum over the two regions of an edge, but a V × V matrix of low rank. All edges together
estimate it far better than one edge estimates its own effect.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stillome.arrays import Floats
from stillome.cohort.edges import edge_indices
from stillome.methods.stages.convergence import Iterations
from stillome.methods.stages.stage_tuning import STAGE_TUNING, StageTuning

_MOST_IMPUTATIONS = 30  # only edges far below the median precision change afterwards


def low_rank_pattern(
    values: Floats,
    variances: Floats,
    n_regions: int,
    tuning: StageTuning = STAGE_TUNING,
    iterations: Iterations | None = None,
) -> Floats:
    """Return the low-rank part of values per edge, shape (E,); 0 where noise explains them all.

    Eigenvalues of a symmetric V × V matrix of noise with standard deviation σ stay within
    ±2σ√V. One of size y σ√V is shrunk to √(y² − 4) σ√V, which minimises the squared error
    (Gavish and Donoho 2017). Edges are not equally precise: those below the median enter in
    proportion to their precision, and the rest of them, like the diagonal, is imputed from the
    pattern of the iteration before (Mazumder, Hastie and Tibshirani 2010).

    Parameters
    ----------
    values : array of shape (E,)
    variances : array of shape (E,)
        Of the noise in them.
    n_regions : int
        V.
    tuning : StageTuning
    iterations : Iterations, optional

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
    iterations = iterations or Iterations(tuning)
    rows, columns = edge_indices(n_regions)
    precision = 1 / variances
    given = np.minimum(precision / np.median(precision), 1)
    unit = float(np.sqrt((given**2 * variances).mean() * n_regions))
    table, margin = np.zeros((n_regions, n_regions)), tuning.pattern_margin
    for _ in iterations.of("pattern", at_most=_MOST_IMPUTATIONS, refines=True):
        filled = table.copy()
        filled[rows, columns] = given * values + (1 - given) * table[rows, columns]
        filled[columns, rows] = filled[rows, columns]
        if not table.any() and not _shrunk(np.linalg.eigvalsh(filled) / unit, margin).any():
            break  # noise explains them all, which eigenvalues alone tell
        eigenvalues, vectors = np.linalg.eigh(filled)
        kept = _shrunk(eigenvalues / unit, margin) * unit
        before, table = table, (vectors * kept) @ vectors.T
        # σ√V is the size of one eigenvalue of noise: √V times the error of each entry.
        if iterations.converged(float(np.linalg.norm(table - before)) / unit):
            break
    return np.asarray(table[rows, columns])


def _shrunk(sizes: NDArray[Any], margin: float) -> NDArray[Any]:
    # From the margin on, not from the edge: a jump there would keep iterations from converging.
    return np.asarray(np.sign(sizes) * np.sqrt(np.maximum(sizes**2 - (2 * margin) ** 2, 0)))
