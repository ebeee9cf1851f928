"""Similarity of two cohorts: edges, degrees, strengths, and regression slopes of edges."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import ks_2samp

from stillome.arrays import Floats
from stillome.cohort.edges import edges_to_matrices, matrices_to_edges
from stillome.cohort.validation import as_floats, check_connectomes
from stillome.evaluate.prediction.statistics import r_squared
from stillome.exceptions import InputError


@dataclass(frozen=True)
class Resemblance:
    """Similarity of two cohorts; edges on the scale of log(1 + count).

    Attributes
    ----------
    edge_means_r2, edge_variances_r2 : float
        R² over edges of the first cohort's means and variances against the second's.
    degree_ks, strength_ks : float
        Kolmogorov–Smirnov distance of degrees (edges of a region with any fibre) and of strengths
        (fibres of a region), over all regions and subjects. 0 is the same distribution.
    total_ks : float
        The same for the total number of fibres of a subject.
    zeros_difference : float
        Share of empty edges, first less second.

    Examples
    --------
    >>> counts = np.random.default_rng(0).poisson(9, (40, 45))
    >>> cohort_resemblance(counts, 2 * counts).total_ks
    1.0
    """

    edge_means_r2: float
    edge_variances_r2: float
    degree_ks: float
    strength_ks: float
    total_ks: float
    zeros_difference: float


def cohort_resemblance(found: ArrayLike, expected: ArrayLike) -> Resemblance:
    """Compare the connectomes of two cohorts of different subjects, e.g. synthetic and real.

    Parameters
    ----------
    found, expected : array-like of shape (n, V, V) or (n, V(V-1)/2)
        At least two subjects each; the numbers may differ.

    Examples
    --------
    >>> counts = np.random.default_rng(0).poisson(9, (40, 45))
    >>> same = cohort_resemblance(counts, counts)
    >>> same.edge_means_r2, same.strength_ks
    (1.0, 0.0)
    """
    first, second = (_edges(v, name) for v, name in ((found, "found"), (expected, "expected")))
    if first.shape[1] != second.shape[1]:
        raise InputError("found, expected: different regions; give the same.")
    logs = np.log1p(first), np.log1p(second)
    degrees, strengths = (
        [edges_to_matrices(part).sum(axis=2).ravel() for part in pair]
        for pair in ((1.0 * (first > 0), 1.0 * (second > 0)), (first, second))
    )
    return Resemblance(
        edge_means_r2=r_squared(logs[0].mean(axis=0), logs[1].mean(axis=0)),
        edge_variances_r2=r_squared(logs[0].var(axis=0, ddof=1), logs[1].var(axis=0, ddof=1)),
        degree_ks=_gap(*degrees),
        strength_ks=_gap(*strengths),
        total_ks=_gap(first.sum(axis=1), second.sum(axis=1)),
        zeros_difference=float((first == 0).mean() - (second == 0).mean()),
    )


def edge_slopes(connectomes: ArrayLike, values: ArrayLike) -> Floats:
    """Return each edge's slope of log(1 + count) on a measure of the subjects, shape (E,).

    Parameters
    ----------
    connectomes : array-like of shape (n, V, V) or (n, V(V-1)/2)
    values : array-like of shape (n,)
        Motion or a trait; subjects with NaN are left out. Slopes are per standard deviation.

    Examples
    --------
    >>> edge_slopes([[0, 1, 2], [9, 1, 2]], [0.0, 1.0]).round(2)
    array([1.15, 0.  , 0.  ])
    """
    edges = np.log1p(_edges(connectomes, "connectomes"))
    measure = as_floats(values, "values")
    if measure.shape != (len(edges),):
        raise InputError(f"values: shape {measure.shape}; expected one for {len(edges)} subjects.")
    known = np.isfinite(measure)
    centred = measure[known] - measure[known].mean() if known.any() else measure[known]
    spread = float(centred.std()) if len(centred) else 0.0
    if spread == 0:
        raise InputError("values: they do not vary among the subjects; give another measure.")
    return np.asarray((centred / spread) @ edges[known] / len(centred))


def _edges(values: ArrayLike, name: str) -> Floats:
    connectomes = check_connectomes(values, name=name, min_subjects=2)
    return matrices_to_edges(connectomes, check=False).astype(np.float64)


def _gap(found: Floats, expected: Floats) -> float:
    return float(ks_2samp(found, expected, method="asymp").statistic)
