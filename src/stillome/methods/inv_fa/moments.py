"""Mean and standard deviation of log(1 + count): of data, and of negative binomial counts.

Those of negative binomial counts stand in a table, computed once: a negative binomial is a gamma
mixture of Poisson distributions, whose moments are exact sums for small rates and a Taylor series
for large ones.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from stillome.arrays import AnyFloats, Floats

_LOG_RATES = np.linspace(np.log(1e-3), np.log(1e7), 120)
_LOG_DISPERSIONS = np.linspace(np.log(1e-3), np.log(50.0), 28)
_N_GAMMA = 200  # equally likely values of the gamma that mixes Poisson counts
_EXACT_BELOW = 60.0  # Poisson sums are exact below this rate, a Taylor series serves above


class LogMoments(NamedTuple):
    """E and sd of log(1 + count), each of the shape of the rates."""

    mean: AnyFloats
    sd: AnyFloats


def log_moments(log_rates: AnyFloats, log_dispersions: AnyFloats) -> LogMoments:
    """Look up the moments of log(1 + A), A ~ NB(rate, dispersion), by bilinear interpolation.

    Parameters
    ----------
    log_rates : array
    log_dispersions : array that broadcasts against `log_rates`

    Examples
    --------
    >>> moments = log_moments(np.log([0.001, 1000.0]), np.log(0.001))
    >>> bool(abs(moments.mean[0] - 0.001 * np.log(2)) < 1e-5)
    True
    >>> bool(abs(moments.mean[1] - np.log(1000)) < 0.01)
    True
    """
    row, row_part = _position(log_rates, _LOG_RATES)
    column, column_part = _position(log_dispersions, _LOG_DISPERSIONS)
    corner = row * len(_LOG_DISPERSIONS) + column
    both = row_part * column_part
    mean, log_sd = (
        _bilinear(corners, corner, row_part, column_part, both)
        for corners in _corners(log_rates.dtype.str)
    )
    return LogMoments(mean, np.exp(log_sd, out=log_sd))


def means_and_spreads(values: AnyFloats) -> tuple[Floats, Floats]:
    """Return the mean and the standard deviation of every column (n, e), in double precision.

    In single precision, a column of equal numbers has a spread where subjects are many: sums of
    them are off by more than rounding errors.

    Examples
    --------
    >>> _, spreads = means_and_spreads(np.full((10_000, 1), 0.1, np.float32))
    >>> bool(spreads[0] < 1e-6)
    True
    """
    return values.mean(axis=0, dtype=np.float64), values.std(axis=0, dtype=np.float64)


def _bilinear(
    corners: tuple[AnyFloats, ...], cell: NDArray[np.intp], *parts: AnyFloats
) -> AnyFloats:
    """Interpolate inside cells, from the value at a corner and what is added along each side."""
    found = np.take(corners[0], cell)
    for values, part in zip(corners[1:], parts, strict=True):
        more = np.take(values, cell)
        more *= part
        found += more
    return found


def _position(values: AnyFloats, grid: Floats) -> tuple[NDArray[np.intp], AnyFloats]:
    place = values - values.dtype.type(grid[0])
    place *= values.dtype.type(1 / (grid[1] - grid[0]))
    place = np.clip(place, 0, len(grid) - 1.001)
    cell = place.astype(np.int32)
    place -= cell
    return cell.astype(np.intp), place


@lru_cache(maxsize=2)
def _corners(dtype: str) -> list[tuple[AnyFloats, ...]]:
    """Return, for mean and log sd, what bilinear interpolation needs of every cell, flat."""
    found = []
    for values in _table():
        along = np.diff(values, axis=0, append=values[-1:])
        across = np.diff(values, axis=1, append=values[:, -1:])
        both = np.diff(along, axis=1, append=along[:, -1:])
        found.append(tuple(a.ravel().astype(dtype) for a in (values, along, across, both)))
    return found


@lru_cache(maxsize=1)
def _table() -> tuple[Floats, Floats]:
    """Return the mean, and log sd, over the grid of rates and dispersions."""
    rates, size = np.exp(_LOG_RATES), np.exp(-_LOG_DISPERSIONS)
    levels = (np.arange(_N_GAMMA) + 0.5) / _N_GAMMA
    gamma = special.gammaincinv(size[:, None], levels) / size[:, None]
    gamma /= gamma.mean(axis=1, keepdims=True)
    first, second = _poisson_moments(rates[:, None, None] * gamma)
    mean = first.mean(axis=-1)
    variance = np.maximum(second.mean(axis=-1) - mean**2, 1e-12)
    return mean, 0.5 * np.log(variance)


def _poisson_moments(rates: Floats) -> tuple[Floats, Floats]:
    """E and E of the square of log(1 + Poisson), interpolated from exact sums where small."""
    grid = np.concatenate([[0.0], np.geomspace(1e-6, _EXACT_BELOW, 400)])
    counts = np.arange(200)
    log_p = special.xlogy(counts, grid[:, None]) - grid[:, None] - special.gammaln(counts + 1)
    p = np.exp(log_p)
    small = np.minimum(rates, _EXACT_BELOW)
    first = np.interp(small, grid, p @ np.log1p(counts))
    second = np.interp(small, grid, p @ np.log1p(counts) ** 2)
    large = rates >= _EXACT_BELOW
    spread = rates / (1 + rates) ** 2
    taylor = np.log1p(rates) - spread / 2
    return np.where(large, taylor, first), np.where(large, taylor**2 + spread, second)
