"""How connectomes scatter that are not fibre counts: sums of streamline weights, densities."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stillome.arrays import Floats

_SPREAD_RANGE = (1e-6, 50.0)
_LARGEST_LOG_VARIANCE = 3.0


def fit_spread(weights: NDArray[Any], log_rates: NDArray[Any]) -> tuple[Floats, Floats]:
    """Estimate how weights scatter around their rates: variance / rate² = spread + grain / rate.

    Least squares of squared log residuals on 1 / rate, within edges that are never empty.

    Parameters
    ----------
    weights, log_rates : arrays of shape (n, E)

    Returns
    -------
    spread : array of shape (E,)
    grain : array of shape ()
        0 where the variance on the log scale is the same for small and large rates. It is not
        where single streamlines matter; then motion, which lowers rates, adds variance.
    """
    present = weights > 0
    n_present = np.maximum(present.sum(axis=0), 1)
    with np.errstate(divide="ignore"):
        residual = np.where(present, np.log(weights.astype(np.float64)) - log_rates, 0.0)
    residual = np.where(present, residual - residual.sum(axis=0) / n_present, 0.0)
    square = residual**2
    spread = square.sum(axis=0) / n_present
    weakness = np.exp(-log_rates.astype(np.float64))
    usual = present.all(axis=0)
    varying = weakness[:, usual] - weakness[:, usual].mean(axis=0)
    slope = (varying * square[:, usual]).sum() / max(float((varying**2).sum()), 1e-12)
    grain = max(float(slope), 0.0)
    own = np.expm1(np.minimum(spread, _LARGEST_LOG_VARIANCE)) - grain * weakness.mean(axis=0)
    return np.clip(own, *_SPREAD_RANGE), np.array(grain)
