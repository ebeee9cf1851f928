"""Density, strength, clustering, global efficiency and modularity of weighted networks."""

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.sparse.csgraph import shortest_path

from stillome.arrays import Floats
from stillome.cohort.edges import edges_to_matrices
from stillome.cohort.subject_rows import SubjectRows
from stillome.cohort.validation import check_connectomes
from stillome.evaluate.modularity import modularity

GRAPH_MEASURES = ("density", "strength", "clustering", "efficiency", "modularity")

# Subjects whose matrices are in memory at once: few enough for the processor's cache.
_CHUNK = 64


def graph_measures(connectomes: ArrayLike) -> pd.DataFrame:
    """Five measures of every subject's network.

    Parameters
    ----------
    connectomes : array-like of shape (n, V, V) or (n, V(V-1)/2)
        Fibre counts are the weights.

    Returns
    -------
    pandas.DataFrame with one row per subject
        ``density``, the share of edges with any weight; ``strength``, the mean over regions of the
        sum of weights; ``clustering``, the mean over regions of Onnela's coefficient, whose
        weights are relative to the network's largest; ``efficiency``, the mean over pairs of
        regions of 1 / (length of the shortest path), where the length of an edge is 1 / weight;
        ``modularity``, Newman's Q of the best partition found.

    References
    ----------
    Onnela et al. (2005), Phys. Rev. E 71:065103; Latora & Marchiori (2001), Phys. Rev. Lett.
    87:198701; Newman (2004), Phys. Rev. E 70:056131.

    Examples
    --------
    >>> graph_measures([[2, 2, 2]])
       density  strength  clustering  efficiency  modularity
    0      1.0       4.0         1.0         2.0         0.0
    """
    edges = SubjectRows(check_connectomes(connectomes, in_slices=True))
    parts = [
        _measures(edges_to_matrices(edges[start : start + _CHUNK].astype(np.float64)))
        for start in range(0, len(edges), _CHUNK)
    ]
    table = np.concatenate(parts) if parts else np.empty((0, len(GRAPH_MEASURES)))
    return pd.DataFrame(table, columns=list(GRAPH_MEASURES))


def _measures(weights: Floats) -> Floats:
    n_regions = weights.shape[1]
    density = np.count_nonzero(weights, axis=(1, 2)) / (n_regions * (n_regions - 1))
    strength = weights.sum(axis=2).mean(axis=1)
    return np.column_stack(
        [density, strength, _clustering(weights), _efficiency(weights), modularity(weights)]
    )


def _efficiency(weights: Floats) -> Floats:
    n_regions = weights.shape[1]
    with np.errstate(divide="ignore", over="ignore"):
        lengths = 1 / weights  # infinite where there is no connection
    mean = np.empty(len(weights))
    for subject, matrix in enumerate(lengths):
        paths = shortest_path(matrix, method="FW", directed=False)
        np.fill_diagonal(paths, np.inf)
        mean[subject] = (1 / paths).sum() / (n_regions * (n_regions - 1))
    return mean


def _clustering(weights: Floats) -> Floats:
    largest = weights.max(axis=(1, 2), keepdims=True)
    roots = np.cbrt(weights / np.where(largest > 0, largest, 1))
    triangles = ((roots @ roots) * roots).sum(axis=2)  # each counted in both directions
    degree = (weights > 0).sum(axis=2)
    return np.asarray((triangles / np.maximum(degree * (degree - 1), 1)).mean(axis=1))
