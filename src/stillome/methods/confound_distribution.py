"""The joint distribution of the confounds, from which synthetic subjects are drawn."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from scipy.sparse.csgraph import connected_components

from stillome.arrays import Floats

_STEPS = 100
_QUANTILES = np.linspace(0, 1, _STEPS + 1)
_FEW_VALUES = 20


class ConfoundDistribution(NamedTuple):
    """The joint distribution of the training confounds: a Gaussian copula over quantiles.

    Only 101 quantiles per confound are kept, never the row of one subject. So a shared model does
    not contain the motion table of the cohort. Mutually exclusive dummy variables (sites) are
    treated as one confound: they share a normal score, and their rows of `quantiles` are rows of
    training subjects, so that no synthetic subject belongs to two sites.
    """

    quantiles: Floats  # (101, C)
    correlation: Floats  # (C, C), of normal scores
    few_values: NDArray[np.bool_]  # (C,): dummies and codes are not interpolated

    @classmethod
    def fit(cls, confounds: Floats) -> "ConfoundDistribution":
        """Learn from (n, C) confounds."""
        if not confounds.shape[1]:
            return cls(np.zeros((_STEPS + 1, 0)), np.zeros((0, 0)), np.zeros(0, dtype=bool))
        few = np.array([len(np.unique(column)) <= _FEW_VALUES for column in confounds.T])
        scores = _scores(confounds)
        quantiles = np.quantile(confounds, _QUANTILES, axis=0)
        nearest = np.quantile(confounds, _QUANTILES, axis=0, method="nearest")
        quantiles = np.where(few, nearest, quantiles)
        moved = scores[:, ~few].sum(axis=1)
        for columns in _excluding_each_other(confounds):
            places, quantiles[:, columns] = _in_order(confounds[:, columns], moved)
            scores[:, columns] = _scores(places)[:, None]
        correlation = np.atleast_2d(np.corrcoef(scores, rowvar=False))
        return cls(quantiles, correlation, few)

    @property
    def bounds(self) -> tuple[Floats, Floats]:
        """The least and the largest value of each confound, each of shape (C,)."""
        return self.quantiles.min(axis=0), self.quantiles.max(axis=0)

    @property
    def spread(self) -> Floats:
        """The standard deviation of each confound, from its quantiles, shape (C,)."""
        return self.quantiles.std(axis=0)

    def draw(self, n: int, rng: np.random.Generator) -> Floats:
        """Return n new confound vectors, (n, C)."""
        size = len(self.correlation)
        if not size:
            return np.empty((n, 0))
        scores = rng.multivariate_normal(np.zeros(size), self.correlation, n, method="eigh")
        # Rounding must not give different ranks to columns that share a score.
        first = np.argmax(np.isclose(self.correlation, 1, rtol=0, atol=1e-9), axis=1)
        ranks = stats.norm.cdf(scores[:, first])
        drawn = np.empty_like(ranks)
        for column, few in enumerate(self.few_values):
            rank, values = ranks[:, column], self.quantiles[:, column]
            nearest = np.round(rank * _STEPS).astype(np.intp)
            drawn[:, column] = values[nearest] if few else np.interp(rank, _QUANTILES, values)
        return drawn


def _scores(values: NDArray[np.floating] | NDArray[np.intp]) -> Floats:
    """Return normal scores of values (n, ...), by their ranks among the subjects."""
    return np.asarray(stats.norm.ppf(stats.rankdata(values, axis=0) / (len(values) + 1)))


def _excluding_each_other(confounds: Floats) -> Iterator[NDArray[np.intp]]:
    """Yield each set of mutually exclusive dummy columns (no subject has 1 in two of them)."""
    dummies = np.flatnonzero(((confounds == 0) | (confounds == 1)).all(axis=0))
    ones = confounds[:, dummies]
    _, labels = connected_components(ones.T @ ones == 0, directed=False)
    for label in range(max(labels, default=-1) + 1):
        columns = dummies[labels == label]
        if len(columns) > 1:
            yield columns


def _in_order(dummies: Floats, moved: Floats) -> tuple[NDArray[np.intp], Floats]:
    """Order the distinct rows of dummies (n, D) by the mean motion (n,) of their subjects.

    So the copula can represent sites whose subjects move more than those of other sites.

    Returns
    -------
    places : array of shape (n,)
        The position of each subject's row in this order.
    quantiles : array of shape (101, D)
        Distinct rows in proportion to their frequency; rare ones at least once where possible.
    """
    rows, found = np.unique(dummies, axis=0, return_inverse=True)
    sizes = np.bincount(found.ravel())
    order = np.argsort(np.bincount(found.ravel(), moved) / sizes, kind="stable")
    places = np.argsort(order)[found.ravel()]
    chosen = np.quantile(places, _QUANTILES, method="nearest").astype(np.intp)
    middles = np.cumsum(sizes[order]) - sizes[order] / 2
    chosen[np.round(_STEPS * middles / len(dummies)).astype(int)] = np.arange(len(rows))
    return places, rows[order][chosen]
