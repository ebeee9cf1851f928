"""Connectomes that are not fibre counts: sums of streamline weights (SIFT2), densities."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stillome.arrays import Floats

_LARGEST_MEDIAN = 1000.0  # counts, for weights without a grain
_SPREAD_RANGE = (1e-6, 50.0)
_LARGEST_LOG_VARIANCE = 3.0


def is_whole(edges: NDArray[Any]) -> bool:
    """Whether these are fibre counts rather than weights."""
    return edges.dtype.kind in "iu" or bool((edges == np.floor(edges)).all())


def weight_unit(edges: NDArray[Any]) -> float:
    """Return the factor that makes weights vary like counts; 1 for whole numbers.

    A sum of streamline weights has variance κ · mean + φ · mean² (compound Poisson); divided by κ
    it has the variance of the negative binomial. Variance / mean is a line in the mean with
    intercept κ. The line goes through the medians of the weakest and the middle third of edges.

    Parameters
    ----------
    edges : array of shape (n, E)
    """
    positive = edges[edges > 0]
    if is_whole(edges) or not positive.size:
        return 1.0
    means = edges.mean(axis=0, dtype=np.float64)
    order = np.argsort(means)[(means == 0).sum() :]
    ratios = edges.var(axis=0, dtype=np.float64)[order] / means[order]
    third = len(order) // 3
    (weak, at_weak), (middling, at_middling) = (
        (float(np.median(means[order][part])), float(np.median(ratios[part])))
        for part in (slice(0, third + 1), slice(third, 2 * third + 1))
    )
    slope = max(at_middling - at_weak, 0.0) / max(middling - weak, 1e-12)
    median = float(np.median(positive))
    return float(1 / np.clip(at_weak - slope * weak, median / _LARGEST_MEDIAN, median))


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
