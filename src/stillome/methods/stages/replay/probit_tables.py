"""The inverse Mills ratio φ/Φ and the probit Φ⁻¹ from tables, for likelihoods of many counts."""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import special

from stillome.arrays import AnyFloats, Floats

LARGEST_ARGUMENT = 5.0
PROBIT_RANGE = (1e-12, 1 - 1e-9)
_LOGIT_CELLS = 8192
# Of the ratios, which are not interpolated: errors are below 1e-4, and probits are kept to 2e-4.
_CELLS = 2**16


def inverse_mills_ratios(x: AnyFloats) -> tuple[AnyFloats, AnyFloats]:
    """Return φ(x)/Φ(x) and φ(x)/Φ(−x) of numbers between −5 and 5; others count as these.

    Parameters
    ----------
    x : array

    Examples
    --------
    >>> first, second = inverse_mills_ratios(np.array([0.0, 5.0]))
    >>> first.round(4).tolist()[0], second.round(4).tolist()[1]
    (0.7979, 5.1865)
    """
    place = x * x.dtype.type(_CELLS / (2 * LARGEST_ARGUMENT))
    place += x.dtype.type(_CELLS / 2 + 0.5)
    np.clip(place, 0, _CELLS, out=place)
    cells = _cells(place)
    first, second = _tables(x.dtype.str)
    return np.take(first, cells), np.take(second, cells)


def probits(shares: Floats) -> NDArray[np.float32]:
    """Return Φ⁻¹ of probabilities, bounded by `PROBIT_RANGE`, in single precision.

    Linear interpolation on the logit scale, where Φ⁻¹ is nearly straight; errors are below 2e-6.

    Parameters
    ----------
    shares : array

    Examples
    --------
    >>> [round(float(probit), 4) for probit in probits(np.array([0.0, 0.3, 0.975]))]
    [-7.0345, -0.5244, 1.96]
    """
    low, high = special.logit(PROBIT_RANGE)
    bounded = np.clip(np.asarray(shares, np.float64), *PROBIT_RANGE)
    place = 1 - bounded
    np.divide(bounded, place, out=place)
    np.log(place, out=place)
    place -= low
    place *= _LOGIT_CELLS / (high - low)
    cells = _cells(place)
    place -= cells
    values, steps = _probit_table()
    found = np.take(steps, cells)
    found *= place.astype(np.float32)
    found += np.take(values, cells)
    return found


def _cells(places: AnyFloats) -> NDArray[np.intp]:
    """Return the numbers of cells; by way of short integers, to which compilers convert faster."""
    return places.astype(np.int32).astype(np.intp)


@lru_cache(maxsize=1)
def _probit_table() -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return values and their differences over equal steps of the logit."""
    low, high = special.logit(PROBIT_RANGE)
    logits = np.linspace(low, high, _LOGIT_CELLS + 1)
    values = special.ndtri(special.expit(logits))
    return values.astype(np.float32), np.diff(values, append=values[-1]).astype(np.float32)


@lru_cache(maxsize=2)
def _tables(dtype: str) -> tuple[AnyFloats, AnyFloats]:
    """Return both ratios in the middle of all cells."""
    grid = np.linspace(-LARGEST_ARGUMENT, LARGEST_ARGUMENT, _CELLS + 1)
    log_density = -0.5 * grid**2 - 0.5 * np.log(2 * np.pi)
    first, second = (np.exp(log_density - special.log_ndtr(sign * grid)) for sign in (1, -1))
    return first.astype(dtype), second.astype(dtype)
