"""How spreads change with motion: of the encoder's input, of units of z, and along directions."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stillome.arrays import Floats

_LARGEST_WEIGHT = 3.0
_SCALE_MARGIN = 1.5
_LARGEST_LOG_SCALE = 3.0

Array = NDArray[np.floating[Any]]


def fit_common_scale(standard: Array, functions: Array) -> Floats:
    """Find how the spread of all edges together changes with motion; 0 where chance explains it."""
    log_square = np.log((standard**2).mean(axis=1, dtype=np.float64) + 1e-12)
    log_square -= log_square.mean()
    slopes = functions.T.astype(np.float64) @ log_square / len(standard) / 2
    chance = log_square.var() / (4 * len(standard))
    return np.asarray(slopes * np.maximum(0, 1 - chance / np.maximum(slopes**2, 1e-12)))


def fit_unit_scale(latent: Floats, functions: Array, share: Floats) -> Floats:
    """Find how the spread of units changes with motion, as a line in the share of signal they hold.

    One unit's change is too small to be told from chance; the two numbers of the line are not.
    """
    active = share > 0
    slopes = np.zeros((functions.shape[1], latent.shape[1]))
    if active.sum() < 3:
        return slopes
    own, chance = _spread_slopes(latent[:, active], functions)
    line = np.linalg.qr(np.column_stack([np.ones(active.sum()), share[active]]))[0]
    common = own @ line
    size = (common**2).sum(axis=1, keepdims=True)
    # Twice what chance gives these two numbers: better to miss a small change than to make one up.
    common *= np.maximum(0, 1 - 4 * chance.mean() / np.maximum(size, 1e-12))
    slopes[:, active] = common @ line.T
    return slopes


def fit_stretched(latent: Floats, functions: Array) -> tuple[Floats, Floats]:
    """Find directions along which the spread of z changes with motion, and by how much.

    The covariance of unit-variance units, weighted by a function of motion, has eigenvalues
    within ±2√(K/n) when nothing changes; what lies outside is a change.
    """
    n, n_units = latent.shape
    spread = latent.std(axis=0)
    active = spread > 0
    if active.sum() < 2:
        return np.zeros((n_units, 0)), np.zeros((functions.shape[1], 0))
    units = latent[:, active] / spread[active]
    chance = 2 * np.sqrt(active.sum() / n)
    found = np.zeros((int(active.sum()), 0))
    for function in functions.T.astype(np.float64):
        # Skewed motion lets a few subjects speak for all; bounded weights do not.
        weights = np.clip(function, -_LARGEST_WEIGHT, _LARGEST_WEIGHT)
        weights = (weights - weights.mean()) / weights.std()
        values, vectors = np.linalg.eigh((units.T * weights) @ units / n)
        found = np.hstack([found, vectors[:, np.abs(values) > _SCALE_MARGIN * chance]])
    basis = np.linalg.qr(found)[0]
    along = units @ basis
    slopes, variances = _spread_slopes(along, functions)
    slopes *= np.maximum(0, 1 - variances / np.maximum(slopes**2, 1e-12))
    directions = np.zeros((n_units, basis.shape[1]))
    directions[active] = basis / spread[active][:, None]
    return directions, slopes


def bounded_exp(log_scale: Array) -> Floats:
    """Return a change of spread; motion far outside the data must not make it endless."""
    return np.asarray(np.exp(np.clip(log_scale, -_LARGEST_LOG_SCALE, _LARGEST_LOG_SCALE)))


def _spread_slopes(table: Floats, functions: Array) -> tuple[Floats, Floats]:
    """Regress the log spread of every column (n, K) on motion; slopes (P, K), variances (K,)."""
    log_square = np.log(table**2 + 1e-3 * table.var(axis=0))
    log_square -= log_square.mean(axis=0)
    slopes = functions.T.astype(np.float64) @ log_square / len(table) / 2
    return slopes, log_square.var(axis=0) / (4 * len(table))
