"""How often an edge is empty, as a function of motion; for weights that are not counts."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from stillome.arrays import Floats
from stillome.methods.stages.motion_effect.pooling import (
    EdgeDesign,
    IndividualDifferences,
    pool_effects,
)

_LEVEL = 1e-4  # filling zeros that had nothing to do with motion costs more than one missed
_LIMIT = 1e-3


@dataclass(frozen=True)
class ZeroModel:
    """P(edge is empty) = baseline + functions of motion · slopes.

    Attributes
    ----------
    baseline : array of shape (E,)
    slopes : array of shape (P, E)
        All 0 unless the share of empty edges goes with motion beyond doubt; 0 for edges that are
        empty in all training subjects, or in none.
    """

    baseline: Floats
    slopes: Floats

    def shares(self, functions: Floats) -> Floats:
        """Return the probability of an empty edge, (n, E)."""
        return np.clip(self.baseline + functions @ self.slopes, _LIMIT, 1 - _LIMIT)


def fit_zero_model(weights: NDArray[Any], functions: Floats, design: EdgeDesign) -> ZeroModel:
    """Fit by pooled regression of the zero pattern on motion.

    Parameters
    ----------
    weights : array of shape (n, E)
    functions : array of shape (n, P)
        Standardised functions of motion.
    design : EdgeDesign
    """
    empty = (weights == 0).astype(np.float64)
    n = len(empty)
    baseline = empty.mean(axis=0)
    if not _goes_with(empty.mean(axis=1), functions):
        return no_zero_model(weights, functions.shape[1])
    residual = empty - baseline
    slopes = functions.T @ residual / n
    individual = IndividualDifferences.find(residual - functions @ slopes)
    variances = np.maximum(baseline * (1 - baseline), 1 / n) / n
    own = individual.own_variances(variances, n)
    pooled = [pool_effects(slope, own, design, individual, n).effects for slope in slopes]
    # Of an edge that is empty in everybody, or in nobody, nothing is known that could change.
    varies = (baseline > 0) & (baseline < 1)
    return ZeroModel(baseline, np.where(varies, np.stack(pooled), 0.0))


def no_zero_model(weights: NDArray[Any], n_functions: int) -> ZeroModel:
    """Return the model in which empty edges have nothing to do with motion."""
    baseline = (weights == 0).mean(axis=0)
    return ZeroModel(baseline, np.zeros((n_functions, weights.shape[1])))


def _goes_with(share: Floats, functions: Floats) -> bool:
    """F test of the share of empty edges on the functions of motion."""
    n, n_functions = functions.shape
    total = ((share - share.mean()) ** 2).sum()
    if total == 0 or n <= n_functions + 2:
        return False
    explained = n * ((functions.T @ (share - share.mean()) / n) ** 2).sum()
    spread = max(total - explained, 1e-12) / (n - n_functions - 1)
    return bool(
        stats.f.sf(explained / n_functions / spread, n_functions, n - n_functions - 1) < _LEVEL
    )
