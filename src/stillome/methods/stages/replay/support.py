"""The support of connectomes: which values a pipeline can write at all.

Many pipelines write no count below a floor, or none below a share of a subject's largest or total
count; others write means of two runs, rounded densities, or counts up to a ceiling. A zero then
means "below the floor". An adjusted connectome with values that no scan has would reveal that it
was adjusted, and so, by how much.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from stillome.arrays import Floats
from stillome.counts.edge_tables import AnyTable, EdgeTable
from stillome.counts.smallest_positive import smallest_positive

_FRACTIONS = (2, 3, 4)  # means of as many runs
_DECIMALS = 3
_STEPS = (*(1 / n for n in _FRACTIONS), *(10.0**-d for d in range(1, _DECIMALS + 1)))
_LARGEST_WHOLE, _LARGEST_SINGLE = 2.0**53, 2.0**20
_MOST_AT_FLOOR = 0.5  # share of subjects whose smallest count is the floor
_MOST_AT_SHARE = 0.8  # the same for a relative floor
_NEAR = 1.15  # a subject's smallest count over its relative floor
_LEAST_CAPPED = 10
_ROUNDS = 10  # of raising values to a share of the total, which they raise in turn


@dataclass(frozen=True)
class Support:
    """Floors, ceiling and steps of the values, in the units of the model.

    Attributes
    ----------
    floor : array of shape ()
        Smallest positive value.
    of_largest, of_total : arrays of shape ()
        A subject has no positive value below this share of its largest, or of its total; 0 if
        there is no such rule.
    ceiling : array of shape ()
        Largest value; infinite unless values pile up there.
    step : array of shape ()
        All values are multiples of it; 0 for continuous values.
    """

    floor: Floats
    of_largest: Floats
    of_total: Floats
    ceiling: Floats
    step: Floats

    @classmethod
    def find(cls, edges: AnyTable, unit: float, step: float | None = None) -> Self:
        """Find the support of edges (n, E), which are multiplied by `unit` in the model.

        `step` is their `lattice_step`, which is found without.
        """
        step = unit * (lattice_step(edges) if step is None else step)
        values = EdgeTable.of(edges).then(partial(_rounded, step, unit))
        extent = Extent.of(values)
        used = np.isfinite(extent.smallest)
        if not used.any():
            return cls.unbounded(step)
        smallest, largest, total = (part[used] for part in extent)
        floor = float(smallest.min())
        shares = [0.0, 0.0]
        if (smallest <= floor).mean() < _MOST_AT_FLOOR:
            shares = _relative_floor(smallest, largest, total, step)
        found = (floor, *shares, _ceiling(values, float(largest.max())), step)
        return cls(*(np.array(value) for value in found))

    @classmethod
    def unbounded(cls, step: float = 1.0) -> Self:
        """Return the support of counts that can have any value."""
        return cls(*(np.array(value) for value in (step, 0.0, 0.0, np.inf, step)))

    @property
    def is_relative(self) -> bool:
        """Whether floors depend on a subject's own counts."""
        return bool(self.of_largest > 0 or self.of_total > 0)

    def rule(self, values: "NDArray[Any] | Extent") -> Floats:
        """Return the floors (n, 1) that the pipeline has for subjects with these values (n, E)."""
        return self._upwards(np.maximum(self._relative(values), self.floor))

    def floors(self, values: "NDArray[Any] | Extent") -> Floats:
        """Return the floor of every subject, (n, 1), from its values (n, E), or their extent.

        Never above the smallest positive value, so that a subject from another pipeline keeps its
        own.
        """
        extent = Extent.of(values)
        return np.minimum(self.rule(extent), extent.smallest[:, None])

    def floors_after(self, moved: NDArray[Any], values: NDArray[Any]) -> Floats:
        """Return the floors (n, 1) of subjects whose values (n, E) became `moved` (n, E)."""
        smallest = Extent.of(values).smallest[:, None]
        after = np.maximum(self._relative(moved), np.minimum(self.floor, smallest))
        keeps_to_it = smallest >= self._relative(values) * (1 - 1e-9)
        return np.where(keeps_to_it, self._upwards(after), self.floors(values))

    def raised(self, moved: Floats, values: NDArray[Any]) -> Floats:
        """Return `moved` (n, E) with positive values of at least its own relative floors."""
        for _ in range(_ROUNDS):
            floors = self.floors_after(moved, values)
            low = (moved > 0) & (moved < floors)
            if not low.any():
                break
            moved = np.where(low, floors, moved)
        return moved

    def _relative(self, values: "NDArray[Any] | Extent") -> Floats:
        _, largest, total = Extent.of(values)
        return np.maximum(self.of_largest * largest, self.of_total * total)[:, None]

    def _upwards(self, floors: Floats) -> Floats:
        """Return the next multiples of the step."""
        if self.step == 0:
            return floors
        return np.asarray(np.ceil(floors / self.step - 1e-6) * self.step)

    def written(self, values: Floats, floors: Floats) -> Floats:
        """Return continuous values (n, E) as the pipeline would write them.

        What is present stays present, with at least the floor.
        """
        steps = values if self.step == 0 else np.round(values / self.step) * self.step
        return np.where(values > 0, np.minimum(np.maximum(steps, floors), self.ceiling), 0.0)


class Extent(NamedTuple):
    """Smallest positive (infinite without one), largest and total value of every subject, (n,)."""

    smallest: Floats
    largest: Floats
    total: Floats

    @classmethod
    def of(cls, values: "AnyTable | Extent") -> "Extent":
        """Look at values (n, E), an array or a table; an extent stays as it is."""
        if isinstance(values, Extent):
            return values
        if isinstance(values, EdgeTable):
            smallest_, largest, total = zip(*values.answers(cls.of), strict=True)
            return cls(np.min(smallest_, axis=0), np.max(largest, axis=0), np.sum(total, axis=0))
        return cls(smallest_positive(values, axis=1), values.max(axis=1), values.sum(axis=1))


def lattice_step(edges: AnyTable) -> float:
    """Return the largest step of which all values are multiples; 0 if there is none.

    Examples
    --------
    >>> [lattice_step(np.array([values])) for values in ([4, 6, 0], [0.5, 3.0], [0.123, 7.5])]
    [2.0, 0.5, 0.001]
    """
    found = list(EdgeTable.of(edges).answers(_Lattice.of))
    if all(part.whole for part in found):
        common = float(np.gcd.reduce([part.common for part in found]))
        return common if common > 0 else 1.0
    smallest, largest = min(part.smallest for part in found), max(part.largest for part in found)
    for place, step in enumerate(_STEPS):
        # Of single precision at most: larger numbers are multiples of anything, and so would
        # numbers far below the step be.
        inside = largest / step < _LARGEST_SINGLE and smallest / step > 0.5
        if inside and all(part.multiples[place] for part in found):
            return step
    return 0.0


class _Lattice(NamedTuple):
    """Of the values of a block: whether whole, their divisor, extent, multiples of `_STEPS`."""

    whole: bool
    common: int
    smallest: float
    largest: float
    multiples: list[bool]

    @classmethod
    def of(cls, block: NDArray[Any]) -> Self:
        values = _distinct(block).astype(np.float64)
        whole = bool((values == np.floor(values)).all())
        exact = values[values < _LARGEST_WHOLE].astype(np.int64) if whole else np.zeros(1, np.int64)
        smallest = float(values.min(where=values > 0, initial=np.inf))
        near = [whole or _is_near(values / step) for step in _STEPS]
        return cls(whole, int(np.gcd.reduce(exact)), smallest, float(values.max()), near)


def _distinct(block: NDArray[Any]) -> NDArray[Any]:
    """Return the values of a block, each once and in order."""
    if block.dtype.kind != "u" or block.dtype.itemsize > 2:
        return np.unique(block)
    seen = np.zeros(2 ** (8 * block.dtype.itemsize), bool)
    seen[block] = True
    return np.flatnonzero(seen)


def _is_near(multiples: Floats) -> bool:
    return bool((np.abs(multiples % 1 - 0.5) > 0.498).all())


def _rounded(step: float, unit: float, block: NDArray[Any]) -> NDArray[Any]:
    """Return values in the unit of the model; a multiple of a fraction need not be exact."""
    if block.dtype.kind in "ui" and unit == 1 and step >= 1:  # multiples of it already
        return block
    values = np.asarray(block, dtype=np.float64) * unit
    return values if step == 0 else np.round(values / step) * step


def is_counted(step: float) -> bool:
    """Whether values with this `lattice_step` are fibre counts, or means of a few of them."""
    return step >= 1 / max(_FRACTIONS)


def _relative_floor(smallest: Floats, largest: Floats, total: Floats, step: float) -> list[float]:
    """Return the floor as a share of the largest and of the total; at most one is above 0."""
    shares, fits = [], []
    for whole in (largest, total):
        share = float((smallest / whole).min())
        shares.append(share)
        fits.append(float((smallest <= _NEAR * share * whole + step).mean()))
    better = int(np.argmax(fits))
    if fits[better] < _MOST_AT_SHARE:
        return [0.0, 0.0]
    return [share if place == better else 0.0 for place, share in enumerate(shares)]


def _ceiling(values: EdgeTable, largest: float) -> float:
    """Return the largest value if values pile up there, else infinity."""

    def piles(block: Floats) -> tuple[Any, Any]:
        below = (block < largest) & (block >= 0.8 * largest)
        return (block == largest).sum(axis=1), below.sum()

    at_top, n_below = values.total(piles)
    piled = at_top.sum() >= max(_LEAST_CAPPED, n_below) and (at_top > 0).sum() > 1
    return largest if piled and largest > 0 else float(np.inf)
