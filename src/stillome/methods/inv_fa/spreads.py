"""How variances change with motion: of the encoder's input, of units of z, and along directions.

All estimates are regressions of log squares on the functions of motion (Harvey 1976), shrunk to 0
where chance explains them. Scans of a group are alike in how far they lie from the mean, and so
count as fewer (`n_independent`).
"""

import numpy as np

from stillome.arrays import AnyFloats, Floats
from stillome.cohort.groups import Levels
from stillome.counts.edge_tables import EdgeTable
from stillome.methods.inv_fa.tuning import TUNING, Tuning
from stillome.methods.stages.motion_effect.basis import n_independent
from stillome.methods.stages.motion_effect.shrinkage import beyond_chance
from stillome.methods.stages.numeric_limits import LARGEST_LOG_SCALE


def fit_common_scale(
    standard: EdgeTable, functions: AnyFloats, groups: Levels | None = None
) -> Floats:
    """Find how the log standard deviation of all edges together changes with motion, (P,)."""
    squares = standard.total_by_subject(
        lambda block: np.einsum("ne,ne->n", block, block, dtype=np.float64)
    )
    log_square = np.log(squares / standard.shape[1] + 1e-12)
    slopes, variance = _log_sd_slopes(log_square[:, None], functions, groups)
    return beyond_chance(slopes[:, 0], variance[0])


def fit_unit_scale(
    latent: Floats, functions: AnyFloats, share: Floats, groups: Levels | None = None
) -> Floats:
    """Find how the log standard deviation of units changes with motion, (P, K).

    The change is a line in the share of signal that a unit holds. The change of one unit is
    within its sampling error; the two coefficients of the line are estimated from all units.
    """
    active = share > 0
    slopes = np.zeros((functions.shape[1], latent.shape[1]))
    if active.sum() < 3:
        return slopes
    own, chance = _spread_slopes(latent[:, active], functions, groups)
    line = np.linalg.qr(np.column_stack([np.ones(active.sum()), share[active]]))[0]
    common = own @ line
    size = np.sqrt((common**2).sum(axis=1, keepdims=True))
    # Chance gives the square of two coefficients twice the variance of one.
    kept = beyond_chance(size, 2 * chance.mean()) / np.maximum(size, 1e-12)
    slopes[:, active] = (kept * common) @ line.T
    return slopes


def fit_stretched(
    latent: Floats,
    functions: AnyFloats,
    tuning: Tuning = TUNING,
    groups: Levels | None = None,
) -> tuple[Floats, Floats]:
    """Find directions (K, J) along which the variance of z changes with motion, and slopes (P, J).

    The covariance of units of unit variance, weighted by a function of motion, has eigenvalues
    within ±2√(K/n) when nothing changes (Marchenko and Pastur 1967); directions with eigenvalues
    outside are returned.
    """
    n, n_units = latent.shape
    spread = latent.std(axis=0)
    active = spread > 0
    if active.sum() < 2:
        return np.zeros((n_units, 0)), np.zeros((functions.shape[1], 0))
    units = latent[:, active] / spread[active]
    chance = 2 * np.sqrt(active.sum() / n_independent(units**2, functions, groups))
    found = np.zeros((int(active.sum()), 0))
    for function in functions.T.astype(np.float64):
        # Motion is skewed: without a bound, a few subjects would decide.
        weights = np.clip(function, -tuning.largest_weight, tuning.largest_weight)
        weights = (weights - weights.mean()) / weights.std()
        values, vectors = np.linalg.eigh((units.T * weights) @ units / n)
        found = np.hstack([found, vectors[:, np.abs(values) > tuning.scale_margin * chance]])
    basis = np.linalg.qr(found)[0]
    slopes, variances = _spread_slopes(units @ basis, functions, groups)
    directions = np.zeros((n_units, basis.shape[1]))
    directions[active] = basis / spread[active][:, None]
    return directions, beyond_chance(slopes, variances)


def bounded_exp(log_scale: AnyFloats) -> Floats:
    """Return the exponential, bounded for motion far outside the data."""
    return np.asarray(np.exp(np.clip(log_scale, -LARGEST_LOG_SCALE, LARGEST_LOG_SCALE)))


def _spread_slopes(
    table: Floats, functions: AnyFloats, groups: Levels | None
) -> tuple[Floats, Floats]:
    """Regress the log standard deviation of columns (n, K); slopes (P, K), variances (K,)."""
    # A thousandth of the variance keeps the logarithm of a value near 0 finite.
    return _log_sd_slopes(np.log(table**2 + 1e-3 * table.var(axis=0)), functions, groups)


def _log_sd_slopes(
    log_square: Floats, functions: AnyFloats, groups: Levels | None
) -> tuple[Floats, Floats]:
    n, centred = len(log_square), log_square - log_square.mean(axis=0)
    slopes = functions.T.astype(np.float64) @ centred / n / 2
    return slopes, centred.var(axis=0) / (4 * n_independent(log_square, functions, groups))
