"""A matrix that stays in its file, which is read again whenever its numbers are needed."""

from collections.abc import Callable
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from stillome.exceptions import FileError
from stillome.io.connectome_data import Holding
from stillome.io.connectome_measures import choose
from stillome.io.guarded_files import Item
from stillome.io.reading_options import ReadingOptions
from stillome.io.recognise import read_contents


class FileMatrix:
    """Numbers of one file, of which only shape, dtype and names are kept.

    Parameters
    ----------
    holding : Holding
        What the file held when it was read first.
    read : callable
        Reads it again.
    label : str
        Its name in messages.

    Examples
    --------
    >>> held = Holding(np.arange(9).reshape(3, 3))
    >>> matrix = FileMatrix(held, lambda: held, "sub-01.csv")[1:, 1:]
    >>> matrix.shape, np.asarray(matrix).tolist()
    ((2, 2), [[4, 5], [7, 8]])
    """

    def __init__(self, holding: Holding, read: Callable[[], Holding], label: str) -> None:
        self._known = _described(holding)
        self.shape, self.dtype = self._known[:2]
        self._read, self._label = read, label
        self._parts: tuple[Any, ...] = ()

    def __getitem__(self, part: Any) -> "FileMatrix":
        """Return a part, which stays in the file as well."""
        chosen = copy(self)
        chosen.shape = np.broadcast_to(np.empty((), self.dtype), self.shape)[part].shape
        chosen._parts = (*self._parts, part)
        return chosen

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False:
            raise ValueError("A matrix in a file has to be read to become an array.")
        held = self._read()
        if _described(held) != self._known:
            raise FileError(f"{self._label}: was changed while it was read. Read it again.")
        array = np.asarray(held.values)
        for part in self._parts:
            array = array[part]
        return array if dtype is None else array.astype(dtype, copy=False)


class KeptInFiles:
    """Leaves matrices in their files, and names of regions that are the same in memory once."""

    def __init__(self) -> None:
        self._names: dict[tuple[str, ...] | None, tuple[str, ...] | None] = {}
        self._last: tuple[str, Holding] | None = None

    def without_values(self, holding: Holding, item: Item, options: ReadingOptions) -> Holding:
        """Return what was chosen from a file, to be read again in the same way when needed."""
        regions = self._names.setdefault(holding.regions, holding.regions)
        known = replace(holding, regions=regions)
        matrix = FileMatrix(known, lambda: self._again(item, options), item.label)
        return replace(known, values=matrix)

    def _again(self, item: Item, options: ReadingOptions) -> Holding:
        # The last file is kept: a list of edges may hold the next subject as well.
        if self._last is None or self._last[0] != item.label:
            self._last = None  # before the next one takes memory
            held = read_contents(item).holdings
            one = choose(held, item.label, atlas=options.atlas, measure=options.measure)
            self._last = (item.label, one)
        return self._last[1]


def _described(
    holding: Holding,
) -> tuple[tuple[int, ...], np.dtype[Any], tuple[str, ...] | None, tuple[str, ...] | None]:
    """Return what must not change in a file between two readings."""
    shape = tuple(int(length) for length in holding.values.shape)
    return shape, np.dtype(holding.values.dtype), holding.regions, holding.subject_ids
