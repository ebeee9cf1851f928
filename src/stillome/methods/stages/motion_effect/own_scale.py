"""How much edges deviate from what they share, by how large the shared effect is.

Where motion takes half of the fibres, single edges deviate by more than where it takes hardly any.
Squares of the deviations are regressed on the square of the shared effect; where they do not grow
with it, all edges deviate alike.
"""

import numpy as np

from stillome.arrays import Floats

_ROUNDS = 3  # of weighting the regression by its own predictions
_LEAST, _LARGEST = 0.05, 20.0  # times the mean: no edge is fixed, and none is left alone


def fit_own_scale(residual: Floats, variances: Floats, shared: Floats) -> Floats:
    """Return the variance of every edge's own deviation, relative to the mean, shape (E,).

    Parameters
    ----------
    residual : array of shape (E,)
        Estimated effects less the shared ones.
    variances : array of shape (E,)
        Of the sampling noise in `residual`. An edge without any says nothing.
    shared : array of shape (E,)
        Shared effects.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> shared = -rng.uniform(0, 0.4, 2000)
    >>> noise = np.full(2000, 1e-4)
    >>> grown = 0.3 * shared * rng.standard_normal(2000) + 0.01 * rng.standard_normal(2000)
    >>> scale = fit_own_scale(grown, noise, shared)
    >>> bool(np.corrcoef(scale, shared**2)[0, 1] > 0.99)
    True
    >>> alike = fit_own_scale(0.05 * rng.standard_normal(2000), noise, shared)
    >>> bool(alike.std() < 0.1)
    True
    """
    size = shared**2 / max(float(np.mean(shared**2)), 1e-300)
    design = np.column_stack([np.ones_like(size), size])
    excess, telling = residual**2 - variances, variances > 0
    if not telling.any():
        return np.ones_like(size)
    own = np.full_like(size, float(np.median(variances[telling])))
    for _ in range(_ROUNDS):
        # The variance of a squared normal variable is twice the square of its own.
        weights = np.where(telling, 1 / np.maximum(own + variances, 1e-150) ** 2, 0)
        constant, slope = _two_shares(design, excess, weights)
        if constant + slope <= 0:
            return np.ones_like(size)
        own = constant + slope * size
    scale = np.clip(own / own.mean(), _LEAST, _LARGEST)
    return np.asarray(scale / scale.mean())


def _two_shares(design: Floats, values: Floats, weights: Floats) -> tuple[float, float]:
    """Regress on two columns; no coefficient is negative."""
    weighted = design.T * weights
    both = np.linalg.lstsq(weighted @ design, weighted @ values, rcond=None)[0]
    if (both >= 0).all():
        return float(both[0]), float(both[1])
    alone = (weighted @ values) / np.maximum((weighted * design.T).sum(axis=1), 1e-300)
    constant, slope = np.maximum(alone, 0)
    return (float(constant), 0.0) if both[1] < 0 else (0.0, float(slope))
