"""Labels of axes: units, signed numbers, round ticks, names that do not overlap."""

import numpy as np
from numpy.typing import ArrayLike
from sklearn.isotonic import isotonic_regression

from stillome.arrays import Floats

_UNITS = {"mm": "mm", "rad": "rad", "deg": "°"}


def measure_label(column: str) -> str:
    """Read the unit off a column's name.

    Examples
    --------
    >>> measure_label("rms_mm"), measure_label("n_outlier_slices")
    ('rms (mm)', 'n outlier slices')
    """
    name, _, unit = column.rpartition("_")
    if name and unit in _UNITS:
        return f"{name.replace('_', ' ')} ({_UNITS[unit]})"
    return column.replace("_", " ")


def motion_label(column: str) -> str:
    """Return the axis label of a motion column.

    Examples
    --------
    >>> motion_label("rms_mm")
    'motion: rms (mm)'
    """
    return f"motion: {measure_label(column)}"


def signed(value: float, _: int | None = None) -> str:
    """Write a number with its sign, as ticks of differences are.

    Examples
    --------
    >>> signed(-1000), signed(0), signed(0.5)
    ('−1,000', '0', '+0.5')
    """
    return f"{value:+,.10g}".replace("-", "−") if value else "0"


def round_down(value: float) -> float:
    """Return 1, 2 or 5 times a power of ten, at most `value`.

    Examples
    --------
    >>> round_down(730.0)
    500.0
    """
    power = 10.0 ** np.floor(np.log10(value))
    return float(max(step for step in (1, 2, 5) if step * power <= value * (1 + 1e-9)) * power)


def spread(positions: ArrayLike, gap: float, low: float, high: float) -> Floats:
    """Move sorted positions as little as needed to stand `gap` apart between `low` and `high`.

    Parameters
    ----------
    positions : array-like of shape (k,)
        In growing order.
    gap : float
        Smaller where k of them would not fit.
    low, high : float
        Nothing is moved nearer to these than half a gap.

    Examples
    --------
    >>> spread([1, 1.1, 8], 1, 0, 10).round(2).tolist()
    [0.55, 1.55, 8.0]
    """
    wanted = np.asarray(positions, dtype=np.float64)
    if not len(wanted):
        return wanted
    gap = min(gap, (high - low) / len(wanted))
    # Less the gaps before them, positions must not decrease: an isotonic regression.
    level = isotonic_regression(wanted - gap * np.arange(len(wanted)))
    top = high - gap * (len(wanted) - 0.5)
    return np.clip(level, low + gap / 2, top) + gap * np.arange(len(wanted))
