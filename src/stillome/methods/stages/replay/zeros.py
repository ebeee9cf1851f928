"""How often an edge is empty, as a function of motion; for weights that are not counts."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Self

import numpy as np
from scipy import stats

from stillome.arrays import Floats
from stillome.cohort.groups import Levels
from stillome.counts.edge_tables import AnyTable, EdgeTable
from stillome.methods.stages.convergence import Iterations
from stillome.methods.stages.motion_effect.basis import n_independent
from stillome.methods.stages.motion_effect.edge_design import EdgeDesign
from stillome.methods.stages.motion_effect.individual_differences import IndividualDifferences
from stillome.methods.stages.motion_effect.pooling import pool_effects
from stillome.methods.stages.numeric_limits import ZERO_SHARE_RANGE
from stillome.methods.stages.stage_tuning import STAGE_TUNING, StageTuning


@dataclass(frozen=True)
class ZeroModel:
    """P(edge is empty) = baseline + functions of motion · slopes: a linear probability model.

    Attributes
    ----------
    baseline : array of shape (E,)
    slopes : array of shape (P, E)
        All 0 unless the share of empty edges clearly depends on motion; 0 for edges that are
        empty in all training subjects, or in none.
    """

    baseline: Floats
    slopes: Floats

    def of_edges(self, edges: slice) -> Self:
        """Return the model of some edges."""
        return replace(self, baseline=self.baseline[edges], slopes=self.slopes[:, edges])

    def shares(self, functions: Floats) -> Floats:
        """Return the probability of an empty edge, (n, E)."""
        return np.clip(self.baseline + functions @ self.slopes, *ZERO_SHARE_RANGE)


def fit_zero_model(
    weights: AnyTable,
    functions: Floats,
    design: EdgeDesign,
    tuning: StageTuning = STAGE_TUNING,
    iterations: Iterations | None = None,
    groups: Levels | None = None,
) -> ZeroModel:
    """Fit by least squares of the zero pattern on motion, pooled over edges.

    Parameters
    ----------
    weights : array or table of shape (n, E)
    functions : array of shape (n, P)
        Standardised functions of motion.
    design : EdgeDesign
    tuning : StageTuning
    iterations : Iterations, optional
    groups : array of shape (n, 1) or (n, 3), optional
        Whose scans are alike, and count as fewer; see `group_levels`.
    """
    empty = EdgeTable.of(weights).then(lambda block: (block == 0).astype(np.float64))
    n = len(empty)
    baseline = empty.each(lambda block: block.mean(axis=0))
    share = empty.total(lambda block: block.sum(axis=1)) / empty.shape[1]
    if not _depends_on_motion(share, functions, tuning.zero_level, groups):
        return no_zero_model(weights, functions.shape[1])
    residual = empty.then(lambda block, mean: block - mean, baseline)
    slopes = residual.each(partial(np.matmul, functions.T)) / n
    apart = residual.then(lambda block, slope: block - functions @ slope, slopes)
    individual = IndividualDifferences.find(apart.stored(), tuning=tuning)
    n_alone = n_independent(residual, functions, groups)
    variances = np.maximum(baseline * (1 - baseline), 1 / n) / n_alone
    own = individual.own_variances(variances, n_alone)
    pooled = [
        pool_effects(slope, own, design, individual, n_alone, tuning, iterations).effects
        for slope in slopes
    ]
    # Where an edge is empty in all subjects, or in none, no change can be seen.
    varies = (baseline > 0) & (baseline < 1)
    return ZeroModel(baseline, np.where(varies, np.stack(pooled), 0.0))


def no_zero_model(weights: AnyTable, n_functions: int) -> ZeroModel:
    """Return the model in which empty edges do not depend on motion."""
    baseline = EdgeTable.of(weights).each(lambda block: (block == 0).mean(axis=0))
    return ZeroModel(baseline, np.zeros((n_functions, weights.shape[1])))


def _depends_on_motion(
    share: Floats, functions: Floats, level: float, groups: Levels | None
) -> bool:
    """F test of the share of empty edges on the functions of motion.

    Scans of a group are alike, so that chance explains more by as much as n exceeds their number.
    """
    n, n_functions = functions.shape
    total = ((share - share.mean()) ** 2).sum()
    if total == 0 or n <= n_functions + 2 or not n_functions:
        return False
    explained = n * ((functions.T @ (share - share.mean()) / n) ** 2).sum()
    spread = max(total - explained, 1e-12) / (n - n_functions - 1)
    alike = n / n_independent(share[:, None], functions, groups)
    statistic = explained / n_functions / spread / alike
    return bool(stats.f.sf(statistic, n_functions, n - n_functions - 1) < level)
