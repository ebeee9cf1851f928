"""Where regions are, learned from the mean connectome.

Nearby regions have many fibres in common, distant ones few. The leading eigenvectors of the matrix
of log mean counts are therefore coordinates of the regions, known up to rotation. Fibre length, or
the contrast of frontal and posterior tracts, is close to a quadratic form in these coordinates.
Motion effects that vary smoothly over the brain can thus be pooled where no lengths are given.
"""

import numpy as np

from stillome.arrays import Floats
from stillome.cohort.edges import edge_indices

_N_COORDINATES = 6
_REGIONS_PER_COORDINATE = 8
_ROUNDS = 20  # of imputing the diagonal, which changes by less than 1 % afterwards


def map_features(log_means: Floats, n_regions: int) -> Floats:
    """Return products of the regions' coordinates for every edge, shape (E, M), standardised.

    Parameters
    ----------
    log_means : array of shape (E,)
        Mean fibre count of each edge, log scale.
    n_regions : int
        V. With fewer than eight regions for each coordinate there are fewer coordinates.

    Examples
    --------
    >>> log_means = np.random.default_rng(0).standard_normal(68 * 67 // 2)
    >>> map_features(log_means, 68).shape
    (2278, 21)
    """
    n_coordinates = min(_N_COORDINATES, n_regions // _REGIONS_PER_COORDINATE)
    if n_coordinates == 0 or np.std(log_means) == 0:
        return np.zeros((len(log_means), 0))
    rows, columns = edge_indices(n_regions)
    places = _coordinates(log_means - log_means.mean(), n_regions, n_coordinates)
    products = [
        places[rows, one] * places[columns, other] + places[rows, other] * places[columns, one]
        for one in range(n_coordinates)
        for other in range(one, n_coordinates)
    ]
    table = np.column_stack(products)
    spread = table.std(axis=0)
    return np.asarray((table - table.mean(axis=0)) / np.where(spread > 0, spread, 1))


def _coordinates(values: Floats, n_regions: int, n_coordinates: int) -> Floats:
    """Return the leading eigenvectors (V, D) of a symmetric matrix with an unknown diagonal."""
    rows, columns = edge_indices(n_regions)
    matrix = np.zeros((n_regions, n_regions))
    matrix[rows, columns] = matrix[columns, rows] = values
    for _ in range(_ROUNDS):
        eigenvalues, vectors = np.linalg.eigh(matrix)
        leading = np.argsort(-np.abs(eigenvalues), kind="stable")[:n_coordinates]
        places = vectors[:, leading]
        np.fill_diagonal(matrix, (places**2 * eigenvalues[leading]).sum(axis=1))
    return np.asarray(places)
