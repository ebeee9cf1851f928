"""Derivatives of the probit likelihood and the probit Φ⁻¹ from tables, for many counts."""

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from stillome.arrays import AnyFloats

LARGEST_ARGUMENT = 5.0
PROBIT_RANGE = (1e-12, 1 - 1e-9)
STEP = 15 / 2**15  # of probits that are kept; the largest difference of two is below 15
# Tables are not interpolated. Errors of derivatives are below 1e-4, those of probits below a step.
_CELLS = 2**16
_LOGIT_CELLS = 2**17


def probit_derivatives(probit: AnyFloats, empty: NDArray[Any]) -> tuple[AnyFloats, AnyFloats]:
    """Return score residuals and weights of the probit likelihood of empty edges.

    φ/Φ where an edge is empty and −φ/(1 − Φ) where not, and the information φ²/(Φ (1 − Φ)), of
    numbers between −5 and 5; others count as these.

    Parameters
    ----------
    probit : array of shape (n, e)
    empty : array of the same shape, 1 or 0

    Examples
    --------
    >>> residual, weights = probit_derivatives(np.zeros(2), np.array([True, False]))
    >>> residual.round(4).tolist(), weights.round(4).tolist()
    ([0.7979, -0.7979], [0.6366, 0.6366])
    """
    dtype = probit.dtype
    place = probit * dtype.type(_CELLS / (2 * LARGEST_ARGUMENT))
    place += dtype.type(_CELLS / 2 + 0.5)
    np.clip(place, 0, _CELLS, out=place)
    # Those of empty edges stand behind the others: a choice between two takes longer.
    place += np.multiply(empty, _CELLS + 1, dtype=dtype)
    cells = _cells(place)
    residuals, weights = _tables(dtype.str)
    return np.take(residuals, cells), np.take(weights, cells)


def rounded_probits(logits: AnyFloats) -> NDArray[np.int16]:
    """Return Φ⁻¹ of probabilities in whole multiples of `STEP`, bounded by `PROBIT_RANGE`.

    Parameters
    ----------
    logits : array
        log(p / (1 − p)): small numbers have no digits of a probability next to 1.

    Examples
    --------
    >>> found = rounded_probits(special.logit(np.array([0.0, 0.3, 0.975]))) * STEP
    >>> found.round(3).tolist()
    [-7.034, -0.524, 1.96]
    """
    low, high = (float(end) for end in special.logit(PROBIT_RANGE))
    place = np.clip(logits, low, high)  # in the precision of the logits
    place -= low
    place *= _LOGIT_CELLS / (high - low)
    place += 0.5
    return np.take(_probit_table(), _cells(place))


def _cells(places: AnyFloats) -> NDArray[np.intp]:
    """Return the numbers of cells; by way of short integers, to which compilers convert faster."""
    return places.astype(np.int32).astype(np.intp)


@lru_cache(maxsize=1)
def _probit_table() -> NDArray[np.int16]:
    """Return rounded probits over equal steps of the logit."""
    low, high = special.logit(PROBIT_RANGE)
    logits = np.linspace(low, high, _LOGIT_CELLS + 1)
    return np.rint(special.ndtri(special.expit(logits)) / STEP).astype(np.int16)


@lru_cache(maxsize=2)
def _tables(dtype: str) -> tuple[AnyFloats, AnyFloats]:
    """Return residuals and weights in the middle of all cells, of edges with fibres and without."""
    grid = np.linspace(-LARGEST_ARGUMENT, LARGEST_ARGUMENT, _CELLS + 1)
    log_density = -0.5 * grid**2 - 0.5 * np.log(2 * np.pi)
    of_empty, of_present = (np.exp(log_density - special.log_ndtr(s * grid)) for s in (1, -1))
    residuals = np.concatenate([-of_present, of_empty])
    return residuals.astype(dtype), np.tile(of_empty * of_present, 2).astype(dtype)
