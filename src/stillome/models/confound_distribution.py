"""How confounds are spread, kept so that synthetic subjects can move as real ones do."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

_QUANTILES = np.linspace(0, 1, 101)
_FEW_VALUES = 20


class ConfoundDistribution(NamedTuple):
    """How confounds are spread among training subjects: a Gaussian copula over quantiles.

    Only 101 quantiles per confound are kept, never a subject's own value beside its others, so
    that a shared model does not carry the motion table of the cohort.
    """

    quantiles: NDArray[np.float64]  # (101, C)
    correlation: NDArray[np.float64]  # (C, C), of normal scores
    few_values: NDArray[np.bool_]  # (C,): dummies and codes are not interpolated

    @classmethod
    def fit(cls, confounds: NDArray[np.float64]) -> "ConfoundDistribution":
        """Learn from (n, C) confounds."""
        few = np.array([len(np.unique(column)) <= _FEW_VALUES for column in confounds.T])
        ranks = stats.rankdata(confounds, axis=0) / (len(confounds) + 1)
        scores = stats.norm.ppf(ranks)
        correlation = np.atleast_2d(np.corrcoef(scores, rowvar=False))
        quantiles = np.quantile(confounds, _QUANTILES, axis=0)
        nearest = np.quantile(confounds, _QUANTILES, axis=0, method="nearest")
        return cls(np.where(few, nearest, quantiles), correlation, few)

    def draw(self, n: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """Return n new confound vectors, (n, C)."""
        size = len(self.correlation)
        scores = rng.multivariate_normal(np.zeros(size), self.correlation, n, method="eigh")
        ranks = stats.norm.cdf(scores)
        columns = []
        for column, few in enumerate(self.few_values):
            places = np.round(ranks[:, column] * 100) / 100 if few else ranks[:, column]
            columns.append(np.interp(places, _QUANTILES, self.quantiles[:, column]))
        return np.stack(columns, axis=1)
