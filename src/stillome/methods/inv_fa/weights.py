"""How connectomes scatter that are not fibre counts: sums of streamline weights, densities."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stillome.arrays import Floats
from stillome.counts.edge_tables import AnyTable, EdgeTable

_SPREAD_RANGE = (1e-6, 50.0)
_LARGEST_LOG_VARIANCE = 3.0


def fit_spread(weights: AnyTable, log_rates: AnyTable) -> tuple[Floats, Floats]:
    """Estimate how weights scatter around their rates: variance / rate² = spread + grain / rate.

    Least squares of squared log residuals on 1 / rate, within edges that are never empty.

    Parameters
    ----------
    weights, log_rates : arrays or tables of shape (n, E)

    Returns
    -------
    spread : array of shape (E,)
    grain : array of shape ()
        0 where the variance on the log scale is the same for small and large rates. It is not
        where single streamlines matter; then motion, which lowers rates, adds variance.
    """
    spread, weakness, along, size = EdgeTable.of(weights).each(_scatter, EdgeTable.of(log_rates))
    slope = along.sum() / max(float(size.sum()), 1e-12)
    grain = max(float(slope), 0.0)
    own = np.expm1(np.minimum(spread, _LARGEST_LOG_VARIANCE)) - grain * weakness
    return np.clip(own, *_SPREAD_RANGE), np.array(grain)


def _scatter(weights: NDArray[Any], log_rates: NDArray[Any]) -> tuple[Floats, ...]:
    """Return per edge (e,): variance, mean of 1 / rate, and its regression in edges never empty."""
    present = weights > 0
    n_present = np.maximum(present.sum(axis=0), 1)
    with np.errstate(divide="ignore"):
        residual = np.where(present, np.log(weights.astype(np.float64)) - log_rates, 0.0)
    residual = np.where(present, residual - residual.sum(axis=0) / n_present, 0.0)
    weakness = np.exp(-log_rates.astype(np.float64))
    varying = np.where(present.all(axis=0), weakness - weakness.mean(axis=0), 0.0)
    square = residual**2
    along, size = (varying * square).sum(axis=0), (varying**2).sum(axis=0)
    return square.sum(axis=0) / n_present, weakness.mean(axis=0), along, size
