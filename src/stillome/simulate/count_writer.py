"""How a tractography pipeline writes counts: floor, threshold, and rounding of small values."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from stillome.arrays import Floats

Counts = NDArray[np.int64]

# What the reference pipeline does to small counts: 1.8 times as many 3s as 4s, more 6s than 5s.
_FIVE_TO_SIX, _ROUNDED_UP_TO_FLOOR = 0.15, 0.42


@dataclass(frozen=True)
class CountWriter:
    """Turns numbers of streamlines into the counts that stand in a file.

    Attributes
    ----------
    floor : int
        The smallest count that is written; below 2 nothing is changed.
    threshold : float
        Counts below this share of the subject's largest count are written as 0.

    Examples
    --------
    >>> import numpy as np
    >>> CountWriter(floor=3).write(np.array([[0, 1, 2, 2, 7]]), np.array([0.9, 0.1, 0.1, 0.9, 0.9]))
    array([[0, 0, 3, 0, 7]])
    """

    floor: int = 3
    threshold: float = 0.0

    def write(self, raw: Counts, rounding: Floats) -> Counts:
        """Return raw counts (n, E) as they are written; `rounding` is uniform on [0, 1)."""
        counts = self._rounded(raw, rounding)
        return np.where(counts < self._relative_floor(counts), 0, counts)

    def _relative_floor(self, counts: Counts) -> Floats:
        return np.asarray(self.threshold * counts.max(axis=1, keepdims=True))

    def _rounded(self, raw: Counts, rounding: Floats | float) -> Counts:
        if self.floor < 2:
            return raw
        up = (raw == self.floor - 1) & (rounding < _ROUNDED_UP_TO_FLOOR)
        six = (raw == 5) & (rounding < _FIVE_TO_SIX) & (self.floor <= 5)
        counts = np.where(up, self.floor, np.where(six, 6, raw))
        return np.where(counts < self.floor, 0, counts)

    # The way back: which raw counts a written count may come from.

    @property
    def roundings(self) -> tuple[tuple[float, float], ...]:
        """Values of `rounding` that stand for all others, each with its probability."""
        if self.floor < 2:
            return ((1.0, 0.5),)
        cuts = (0.0, _FIVE_TO_SIX, _ROUNDED_UP_TO_FLOOR, 1.0)
        return tuple((high - low, (low + high) / 2) for low, high in pairwise(cuts))

    @property
    def largest_rounded(self) -> int:
        """The largest written count that may differ from its raw count."""
        return max(self.floor, 6) if self.floor > 1 else 0

    def smallest_written(self, written: Counts) -> Counts:
        """Return the smallest count above 0 that each subject's file can hold, shape (n, 1)."""
        relative = np.ceil(self._relative_floor(written)).astype(np.int64)
        return np.maximum(relative, max(self.floor, 1))

    def raw_range(
        self, written: Counts, smallest: Counts, rounding: float
    ) -> tuple[Counts, Counts]:
        """Return the lowest and highest raw count of each written one; lowest > highest if none.

        `smallest` is `smallest_written`, broadcast to the shape of `written`.
        """
        below = self._rounded(written - 1, rounding) == written
        itself = self._rounded(written, rounding) == written
        hidden = smallest - 1 - (self._rounded(smallest - 1, rounding) >= smallest)
        zero = written == 0
        lowest = np.where(zero, 0, written - below)
        return lowest, np.where(zero, hidden, written - ~itself)
