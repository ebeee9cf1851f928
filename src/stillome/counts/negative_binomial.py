"""Negative binomial counts: cdf, quantile, and the randomised map between distributions.

`mean` and `size` are the parameters throughout: the variance is mean + mean²/size, so a large size
is close to Poisson. Tail probabilities are kept on the side where they are small, so a count far
out in the upper tail still has a quantile; everything runs in blocks to bound memory.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stillome.arrays import Floats
from stillome.counts.blocks import in_blocks
from stillome.counts.quantiles import quantile
from stillome.counts.tails import (
    SMALLEST_TAIL,
    Flags,
    at_zero,
    mass_and_tail,
    probability_mass,
    tail_at,
)
from stillome.exceptions import InputError

__all__ = ["map_counts", "nb_cdf", "nb_pmf", "nb_quantile", "nb_survival"]

_LARGEST = 1e12


def nb_pmf(counts: ArrayLike, mean: ArrayLike, size: ArrayLike) -> Floats:
    """Return P(X = counts) for X negative binomial.

    Parameters
    ----------
    counts, mean, size : array-like
        Broadcast against each other; counts ≥ 0, mean > 0, size > 0.

    Examples
    --------
    >>> float(nb_pmf(0, mean=1.0, size=1.0))
    0.5
    """
    return in_blocks(probability_mass, *_checked(counts, mean, size, "counts"))


def nb_cdf(counts: ArrayLike, mean: ArrayLike, size: ArrayLike) -> Floats:
    """Return P(X ≤ counts); see `nb_pmf` for the parameters.

    Examples
    --------
    >>> round(float(nb_cdf(1, mean=1.0, size=1.0)), 12)
    0.75
    """
    return in_blocks(_tail(upper=False), *_checked(counts, mean, size, "counts"))


def nb_survival(counts: ArrayLike, mean: ArrayLike, size: ArrayLike) -> Floats:
    """Return P(X > counts), exact to many digits also where it is tiny.

    Examples
    --------
    >>> round(float(nb_survival(1, mean=1.0, size=1.0)), 12)
    0.25
    """
    return in_blocks(_tail(upper=True), *_checked(counts, mean, size, "counts"))


def nb_quantile(
    probability: ArrayLike, mean: ArrayLike, size: ArrayLike, *, upper: bool = False
) -> NDArray[np.int64]:
    """Return the smallest count k with P(X ≤ k) ≥ probability.

    Parameters
    ----------
    probability : array-like
        Between 0 and 1. At the far end (0 below, or 1 above) the answer stays finite.
    mean, size : array-like
        Positive; broadcast against `probability`.
    upper : bool, default=False
        Whether `probability` is P(X > k), which keeps digits that 1 − P would lose.

    Returns
    -------
    numpy.ndarray of int64

    Examples
    --------
    >>> nb_quantile([0.1, 0.5, 0.99], mean=20.0, size=5.0).tolist()
    [9, 19, 50]
    """
    tail, mean_, size_ = _checked(probability, mean, size, "probability")
    if (tail > 1).any():
        raise InputError(f"probability: {tail.max():g} is above 1.")

    def block(tail: Floats, mean: Floats, size: Floats) -> Floats:
        return quantile(tail, np.full(tail.shape, bool(upper)), mean, size)

    return in_blocks(block, tail, mean_, size_).astype(np.int64)


def map_counts(
    counts: ArrayLike,
    mean: ArrayLike,
    size: ArrayLike,
    to_mean: ArrayLike,
    to_size: ArrayLike,
    *,
    positions: ArrayLike | None = None,
    random_state: int | np.random.Generator | None = None,
) -> NDArray[Any]:
    """Carry counts from one negative binomial to the same quantile of another.

    Each count k gets u, uniform between P(X < k) and P(X ≤ k), and becomes the u-quantile of the
    target. If the counts follow the first distribution, the answer follows the second exactly,
    zeros included; where both distributions are the same the count stays as it is.

    Parameters
    ----------
    counts : array-like of whole numbers ≥ 0
    mean, size : array-like
        The distribution that the counts follow; broadcast against `counts`.
    to_mean, to_size : array-like
        The distribution that the answer should follow.
    positions : array-like of numbers between 0 and 1, optional
        Where each count sits inside its step; drawn from `random_state` if not given.
    random_state : int, numpy.random.Generator or None

    Returns
    -------
    numpy.ndarray
        In the dtype of `counts`, or int64 where that cannot hold the answer.

    Examples
    --------
    >>> map_counts([0, 7, 300], 10.0, 5.0, 20.0, 5.0, random_state=0).shape
    (3,)
    """
    original = np.asarray(counts)
    if original.dtype.kind not in "iuf":
        raise InputError(f"counts: dtype {original.dtype}; expected whole numbers.")
    values, mean_, size_ = _checked(original, mean, size, "counts")
    _, to_mean_, to_size_ = _checked(original, to_mean, to_size, "counts")
    if (values != np.floor(values)).any():
        raise InputError("counts: hold fractions; the quantile map needs whole numbers.")
    if positions is None:
        positions = np.random.default_rng(random_state).random(original.shape)
    share = np.asarray(positions, dtype=np.float64)
    if share.shape != original.shape or not ((share >= 0) & (share <= 1)).all():
        raise InputError("positions: expected one number between 0 and 1 for every count.")

    def block(
        k: Floats, mean: Floats, size: Floats, to_mean: Floats, to_size: Floats, share: Floats
    ) -> Floats:
        tail, upper = _randomised_tail(k, mean, size, share)
        mapped = quantile(tail, upper, to_mean, to_size)
        return np.where((mean == to_mean) & (size == to_size), k, mapped)

    mapped = in_blocks(block, values, mean_, size_, to_mean_, to_size_, share)
    fits = original.dtype.kind == "f" or mapped.max(initial=0) <= np.iinfo(original.dtype).max
    return mapped.astype(original.dtype if fits else np.int64)


def _tail(*, upper: bool) -> Callable[[Floats, Floats, Floats], Floats]:
    def block(k: Floats, mean: Floats, size: Floats) -> Floats:
        return tail_at(np.floor(k), mean, size, np.full(k.shape, upper))

    return block


def _checked(
    values: ArrayLike, mean: ArrayLike, size: ArrayLike, name: str
) -> tuple[Floats, Floats, Floats]:
    try:
        arrays = [np.asarray(a, dtype=np.float64) for a in (values, mean, size)]
        values_, mean_, size_ = np.broadcast_arrays(*arrays)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name}, mean, size: not numbers of matching shape ({error}).") from error
    for array, label in ((arrays[1], "mean"), (arrays[2], "size")):
        if not ((array > 0) & (array <= _LARGEST)).all():
            raise InputError(f"{label}: must be above 0 and at most {_LARGEST:g} everywhere.")
    if not ((arrays[0] >= 0) & np.isfinite(arrays[0])).all():
        raise InputError(f"{name}: must be finite and ≥ 0 everywhere.")
    return values_, mean_, size_


def _randomised_tail(k: Floats, mean: Floats, size: Floats, share: Floats) -> tuple[Floats, Flags]:
    """Draw the quantile level inside each count's step, on the side where it is small."""
    upper = k > mean
    tail = at_zero(mean, size) * (1 - share)  # right where k is 0
    some = np.flatnonzero(k > 0)
    k, mean, size, share = k[some], mean[some], size[some], share[some]
    step, beyond = mass_and_tail(k, mean, size, upper[some])
    edge = beyond + np.where(upper[some], 1.0, -1.0) * share * step
    tail[some] = np.clip(edge, SMALLEST_TAIL, 1.0)
    return tail, upper
