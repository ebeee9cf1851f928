"""Negative binomial counts: cdf, quantile, and the randomised map from one law to another.

`mean` and `size` are the parameters throughout: the variance is mean + mean²/size, so a large size
is close to Poisson. Tail probabilities are kept on the side where they are small, so a count far
out in the upper tail still has a quantile; everything runs in blocks to bound memory.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from stillome.exceptions import InputError

_BLOCK_ELEMENTS = 2**17
_SMALLEST_TAIL = 1e-300
# From zero, a step of the recursion is far cheaper than a cdf; beyond this mean it is not.
_WALK_FROM_ZERO_MEAN = 8.0
_WALK_FROM_ZERO_STEPS = 24
_WALK_STEPS = 4
_SMALLEST_SHRINKAGE = 1e-6
_MAX_ROUNDS = 400

Floats = NDArray[np.float64]


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
    return _in_blocks(_pmf, *_checked(counts, mean, size, "counts"))


def nb_cdf(counts: ArrayLike, mean: ArrayLike, size: ArrayLike) -> Floats:
    """Return P(X ≤ counts); see `nb_pmf` for the parameters.

    Examples
    --------
    >>> round(float(nb_cdf(1, mean=1.0, size=1.0)), 12)
    0.75
    """
    return _in_blocks(_lower, *_checked(counts, mean, size, "counts"))


def nb_survival(counts: ArrayLike, mean: ArrayLike, size: ArrayLike) -> Floats:
    """Return P(X > counts), exact to many digits also where it is tiny.

    Examples
    --------
    >>> round(float(nb_survival(1, mean=1.0, size=1.0)), 12)
    0.25
    """
    return _in_blocks(_upper, *_checked(counts, mean, size, "counts"))


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
        return _quantile(tail, np.full(tail.shape, upper), mean, size)

    return _in_blocks(block, tail, mean_, size_).astype(np.int64)


def map_counts(
    counts: ArrayLike,
    mean: ArrayLike,
    size: ArrayLike,
    to_mean: ArrayLike,
    to_size: ArrayLike,
    *,
    random_state: int | np.random.Generator | None = None,
) -> NDArray[Any]:
    """Carry counts from one negative binomial to the same quantile of another.

    Each count k gets u, uniform between P(X < k) and P(X ≤ k), and becomes the u-quantile of the
    target. If the counts follow the first law, the answer follows the second exactly, zeros
    included; where both laws are the same the count stays as it is.

    Parameters
    ----------
    counts : array-like of whole numbers ≥ 0
    mean, size : array-like
        The law that the counts follow; broadcast against `counts`.
    to_mean, to_size : array-like
        The law that the answer should follow.
    random_state : int, numpy.random.Generator or None
        Where the position inside each count's step is drawn from.

    Returns
    -------
    numpy.ndarray
        In the dtype of `counts`.

    Examples
    --------
    >>> map_counts([0, 7, 300], 10.0, 5.0, 20.0, 5.0, random_state=0).shape
    (3,)
    """
    original = np.asarray(counts)
    values, mean_, size_ = _checked(original, mean, size, "counts")
    _, to_mean_, to_size_ = _checked(original, to_mean, to_size, "counts")
    if (values != np.floor(values)).any():
        raise InputError("counts: hold fractions; the quantile map needs whole numbers.")
    rng = np.random.default_rng(random_state)

    def block(k: Floats, mean: Floats, size: Floats, to_mean: Floats, to_size: Floats) -> Floats:
        tail, upper = _randomised_tail(k, mean, size, rng.random(k.shape))
        mapped = _quantile(tail, upper, to_mean, to_size)
        return np.where((mean == to_mean) & (size == to_size), k, mapped)

    mapped = _in_blocks(block, values, mean_, size_, to_mean_, to_size_)
    return mapped.astype(original.dtype)


def _checked(
    values: ArrayLike, mean: ArrayLike, size: ArrayLike, name: str
) -> tuple[Floats, Floats, Floats]:
    try:
        arrays = [np.asarray(a, dtype=np.float64) for a in (values, mean, size)]
        values_, mean_, size_ = np.broadcast_arrays(*arrays)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name}, mean, size: not numbers of matching shape ({error}).") from error
    for array, label in ((arrays[1], "mean"), (arrays[2], "size")):
        if not ((array > 0) & np.isfinite(array)).all():
            raise InputError(f"{label}: must be positive and finite everywhere.")
    if not ((arrays[0] >= 0) & np.isfinite(arrays[0])).all():
        raise InputError(f"{name}: must be finite and ≥ 0 everywhere.")
    return values_, mean_, size_


def _in_blocks(function: Callable[..., Floats], *arrays: Floats) -> Floats:
    """Apply an elementwise function to flat pieces of the arrays."""
    arrays = tuple(np.broadcast_arrays(*arrays))
    shape = arrays[0].shape
    arrays = tuple(np.atleast_1d(a) for a in arrays)
    result = np.empty(arrays[0].shape)
    rows = max(1, _BLOCK_ELEMENTS // max(1, result[:1].size))
    for start in range(0, len(result), rows):
        part = slice(start, start + rows)
        flat = function(*(a[part].ravel() for a in arrays))
        result[part] = flat.reshape(result[part].shape)
    return result.reshape(shape)


def _lower(k: Floats, mean: Floats, size: Floats) -> Floats:
    return np.asarray(special.betainc(size, np.floor(k) + 1, size / (size + mean)))


def _upper(k: Floats, mean: Floats, size: Floats) -> Floats:
    return np.asarray(special.betainc(np.floor(k) + 1, size, mean / (size + mean)))


def _pmf(k: Floats, mean: Floats, size: Floats) -> Floats:
    log_tail = k * np.log(mean / (size + mean)) - size * np.log1p(mean / size)
    return np.asarray(np.exp(log_tail - special.betaln(size, k + 1) - np.log(size + k)))


def _randomised_tail(
    k: Floats, mean: Floats, size: Floats, share: Floats
) -> tuple[Floats, NDArray[np.bool_]]:
    """Draw the quantile level inside each count's step, on the side where it is small."""
    upper = k > mean
    tail = np.exp(-size * np.log1p(mean / size)) * (1 - share)  # right where k is 0
    some = np.flatnonzero(k > 0)
    k, mean, size, share = k[some], mean[some], size[some], share[some]
    step = _pmf(k, mean, size)
    sign = np.where(upper[some], 1.0, -1.0)
    edge = _tail(k, mean, size, upper[some]) + sign * share * step
    tail[some] = np.clip(edge, _SMALLEST_TAIL, 1.0)
    return tail, upper


def _tail(k: Floats, mean: Floats, size: Floats, upper: NDArray[np.bool_]) -> Floats:
    """P(X > k) where `upper`, else P(X ≤ k)."""
    first = np.where(upper, k + 1, size)
    second = np.where(upper, size, k + 1)
    share = np.where(upper, mean, size) / (size + mean)
    return np.asarray(special.betainc(first, second, share))


def _quantile(tail: Floats, upper: NDArray[np.bool_], mean: Floats, size: Floats) -> Floats:
    """Quantiles of flat arrays: a walk from zero where it is short, a search elsewhere."""
    result = np.full(tail.shape, -1.0)
    level = np.where(upper, 1 - tail, tail)
    exact = ~upper | (tail > 1e-3)  # 1 − tail has lost digits elsewhere
    step = np.exp(-size * np.log1p(mean / size))
    result[exact & (level <= step)] = 0.0
    open_ = np.flatnonzero(exact & (level > step) & (mean <= _WALK_FROM_ZERO_MEAN))
    if len(open_):
        _walk_from_zero(result, open_, level, step, mean, size)
    rest = np.flatnonzero(result < 0)
    if len(rest):
        result[rest] = _search(tail[rest], upper[rest], mean[rest], size[rest])
    return result


def _walk_from_zero(
    result: Floats, open_: NDArray[np.intp], level: Floats, step: Floats, mean: Floats, size: Floats
) -> None:
    level, step, size_ = level[open_], step[open_], size[open_]
    ratio = mean[open_] / (size_ + mean[open_])
    total = step.copy()
    for k in range(1, _WALK_FROM_ZERO_STEPS + 1):
        step = step * ratio * ((size_ + (k - 1)) / k)
        total = total + step
        found = total >= level
        result[open_[found]] = k
        stay = ~found
        open_, level, step, total = open_[stay], level[stay], step[stay], total[stay]
        ratio, size_ = ratio[stay], size_[stay]
        if not len(open_):
            return


def _search(tail: Floats, upper: NDArray[np.bool_], mean: Floats, size: Floats) -> Floats:
    """Newton steps on the normal scale inside a bracket; each round ends in a short walk."""
    tail = np.maximum(tail, _SMALLEST_TAIL)
    target = np.where(upper, -1.0, 1.0) * special.ndtri(tail)
    result = np.empty(tail.shape)
    open_: NDArray[np.intp] = np.arange(len(tail))
    k = _gamma_guess(target, mean, size)
    low, high = np.zeros(len(tail)), np.full(len(tail), np.inf)
    for round_ in range(_MAX_ROUNDS):
        k, found, too_high, reached, step = _walk(k, tail, upper, mean, size)
        result[open_[found]] = k[found]
        if found.all():
            break
        stay = ~found
        open_, upper, too_high = open_[stay], upper[stay], too_high[stay]
        k, tail, mean, size, target = (a[stay] for a in (k, tail, mean, size, target))
        low, high = low[stay], high[stay]
        high = np.where(too_high, np.minimum(high, k - 1), high)
        low = np.where(too_high, low, np.maximum(low, k + 1))
        k = _next_guess(
            k, reached[stay], step[stay], upper, target, low, high, halve=round_ % 4 == 3
        )
    return result


def _gamma_guess(target: Floats, mean: Floats, size: Floats) -> Floats:
    """Wilson–Hilferty quantile of the gamma with the same mean and variance."""
    shape = mean * size / (mean + size)
    root = 1 - 1 / (9 * shape) + target / (3 * np.sqrt(shape))
    return np.floor(mean * np.maximum(root, 0.0) ** 3)


def _walk(
    k: Floats, tail: Floats, upper: NDArray[np.bool_], mean: Floats, size: Floats
) -> tuple[Floats, NDArray[np.bool_], NDArray[np.bool_], Floats, Floats]:
    """Evaluate the tail at k, then step towards the quantile by the ratio of neighbouring terms.

    Returns the counts reached, which are quantiles, which are too high, the tails and the terms.
    """
    reached, step = _tail(k, mean, size, upper), _pmf(k, mean, size)
    sign = np.where(upper, -1.0, 1.0)
    ratio = mean / (size + mean)
    # A tail that shrinks by subtraction keeps its digits only while it stays near its start.
    still = tail < _SMALLEST_SHRINKAGE * reached
    for turn in range(_WALK_STEPS + 1):
        enough = sign * (reached - tail) >= 0
        before = np.where(k > 0, reached - sign * step, np.where(upper, 1.0, 0.0))
        # At zero nothing lies below, whatever rounding says.
        found = enough & ((sign * (before - tail) < 0) | (k == 0))
        too_high = enough & ~found
        if turn == _WALK_STEPS or found.all():
            break
        next_step = step * ratio * (size + k) / (k + 1)
        last_step = step * k / (ratio * (size + k - 1 + (k == 0)))
        still = still | found
        reached = np.where(still, reached, np.where(too_high, before, reached + sign * next_step))
        step = np.where(still, step, np.where(too_high, last_step, next_step))
        k = np.where(still, k, np.where(too_high, k - 1, k + 1))
    return k, found, too_high, reached, step


def _next_guess(
    k: Floats,
    reached: Floats,
    step: Floats,
    upper: NDArray[np.bool_],
    target: Floats,
    low: Floats,
    high: Floats,
    *,
    halve: bool,
) -> Floats:
    at = np.where(upper, -1.0, 1.0) * special.ndtri(np.clip(reached, _SMALLEST_TAIL, 1 - 1e-16))
    density = np.exp(-0.5 * at**2) / np.sqrt(2 * np.pi)
    guess = np.floor(k + (target - at) * density / np.maximum(step, _SMALLEST_TAIL) + 0.5)
    middle = np.where(np.isfinite(high), np.floor((low + high) / 2), 2 * k + 1)
    wild = ~np.isfinite(guess) | (guess < low) | (guess > high)
    return np.where(wild | halve, middle, guess)
