"""How much the strength of the motion effect differs between subjects.

If it does, subjects differ the more along the effect, the more they moved. The square of what a
subject deviates along the effect is regressed on the square of the effect at its motion: the
intercept is the variance of individual differences along it, the slope that of its strength. It is
used for uncertainty only: which subject is the more susceptible one remains unknown.
"""

import numpy as np

from stillome.arrays import AnyFloats
from stillome.cohort.groups import Levels, design_effect
from stillome.counts.edge_tables import AnyTable, EdgeTable, PerSubject
from stillome.methods.stages.motion_effect.effect import MotionEffect

_LARGEST = 1.0  # standard deviation; beyond it many effects would have the other sign
_ROUNDS = 3  # of weighting the regression by its own predictions


def fit_effect_spread(
    counts: AnyTable, effect: MotionEffect, functions: AnyFloats, groups: Levels | None = None
) -> float:
    """Return the standard deviation of the strength, relative to its mean.

    Parameters
    ----------
    counts : array or table of shape (n, E)
    effect : MotionEffect
    functions : array of shape (n, P)
        Of the subjects' motion.
    groups : array of shape (n, 1) or (n, 3), optional
        Whose scans are alike; see `group_levels`.
    """
    table = EdgeTable.of(counts)

    weights = _weights(effect, functions)
    slopes = effect.slopes.astype(functions.dtype)
    # Relative to the subject with the weakest effect, since the mean motion is not no motion.
    weakest = int(np.argmax(functions @ (slopes @ weights)))

    def along_effect(
        block: AnyFloats,
        effect: MotionEffect,
        weights: AnyFloats,
        slopes: AnyFloats,
        functions: AnyFloats,
        beyond: AnyFloats,
    ) -> tuple[AnyFloats, AnyFloats]:
        rates, log_effect = effect.rates(functions), beyond @ slopes
        residual = block / np.maximum(rates, np.finfo(rates.dtype).tiny)
        residual -= 1
        residual *= log_effect
        log_effect *= log_effect
        return log_effect @ weights, residual @ weights

    subjects = PerSubject(functions), PerSubject(functions - functions[weakest])
    size, along = table.total_by_subject(along_effect, effect, weights, slopes, *subjects)
    total = weights.sum(dtype=np.float64)
    doses, squares = size / total, along**2 / np.maximum(size, 1e-12) / total
    if len(counts) < 3 or np.ptp(doses) == 0:
        return 0.0
    design, precision = np.column_stack([np.ones_like(doses), doses]), np.ones_like(doses)
    for _ in range(_ROUNDS):
        weighted = design.T * precision
        covariance = np.linalg.pinv(weighted @ design)
        intercept, slope = covariance @ (weighted @ squares)
        expected = np.maximum(design @ [intercept, max(slope, 0.0)], 1e-3 * squares.mean() + 1e-12)
        precision = 1 / (2 * expected**2)  # the variance of a squared normal variable
    influence = (covariance[1] @ weighted) * (squares - expected)
    variance = covariance[1, 1] * design_effect(influence[:, None], groups)
    kept = max(0.0, 1 - variance / max(slope**2, 1e-12)) if slope > 0 else 0.0
    return float(min(np.sqrt(max(slope, 0.0) * kept), _LARGEST))


def _weights(effect: MotionEffect, functions: AnyFloats) -> AnyFloats:
    """Return weights of edges (e,) that do not depend on motion."""
    usual = np.exp(effect.baseline).astype(functions.dtype)
    return np.asarray(usual / (1 + usual * effect.dispersion.astype(functions.dtype)))
