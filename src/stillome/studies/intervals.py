"""Intervals of figures, and how a figure is written with its interval."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray


def bootstrap(
    statistic: Callable[[NDArray[np.intp]], float], n_subjects: int, seed: int, repeats: int = 200
) -> tuple[float, float]:
    """Return the 95 % interval of a statistic of subjects' positions, resampled with return."""
    rng = np.random.default_rng(seed)
    drawn = [statistic(rng.integers(n_subjects, size=n_subjects)) for _ in range(repeats)]
    low, high = np.nanquantile(drawn, [0.025, 0.975])
    return float(low), float(high)


def jackknife(
    statistic: Callable[[NDArray[np.intp]], float], n_subjects: int, seed: int, blocks: int = 20
) -> tuple[float, tuple[float, float]]:
    """Return a statistic of all subjects, and its 95 % interval from leaving out blocks of them.

    For norms and ratios of norms, which resampling with return would inflate.
    """
    order = np.random.default_rng(seed).permutation(n_subjects)
    parts = np.array_split(order, min(blocks, n_subjects))
    left = np.array([statistic(np.sort(np.setdiff1d(order, part))) for part in parts])
    value = statistic(np.arange(n_subjects))
    error = np.sqrt((len(parts) - 1) * left.var())
    return value, (float(value - 1.96 * error), float(value + 1.96 * error))


def two_decimals(value: float) -> str:
    """Write a number with two decimals, a minus that is one, and no negative zero.

    Examples
    --------
    >>> two_decimals(-0.001), two_decimals(-0.25)
    ('0.00', '−0.25')
    """
    return f"{value:.2f}".replace("-", "−").replace("−0.00", "0.00")


def with_interval(value: float, interval: tuple[float, float]) -> str:
    """Write a number with its interval.

    Examples
    --------
    >>> with_interval(0.871, (0.8, 0.903))
    '0.87 [0.80, 0.90]'
    """
    low, high = map(two_decimals, interval)
    return f"{two_decimals(value)} [{low}, {high}]"
