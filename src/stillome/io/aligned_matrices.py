"""Matrices of single subjects as one stack, put into one order of regions when they are read."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stillome.io.clean import as_numbers
from stillome.io.connectome_data import Holding
from stillome.io.free_memory import check_array


@dataclass(frozen=True, eq=False)
class Reading:
    """The matrix chosen from one subject's file."""

    label: str
    subject: str
    holding: Holding


class AlignedMatrices:
    """A stack (n, V, V) of which only slices of subjects are made.

    Parameters
    ----------
    readings : sequence of Reading
    places : sequence of arrays of int, or None
        For each subject, the row of its own matrix that is taken for every region; None where the
        matrix is taken as it is. With `partial`, the region of every row of its own matrix.
    size : int
        V.
    partial : bool
        Whether matrices lack regions, whose rows become 0.

    Raises
    ------
    FileError
        If one of the matrices does not hold real numbers (E7).

    Examples
    --------
    >>> reading = Reading("sub-01.csv", "01", Holding(np.array([[0, 5], [5, 0]])))
    >>> AlignedMatrices([reading], [np.array([2, 0])], 3, partial=True)[:1][0].tolist()
    [[0.0, 0.0, 5.0], [0.0, 0.0, 0.0], [5.0, 0.0, 0.0]]
    """

    ndim = 3

    def __init__(
        self,
        readings: Sequence[Reading],
        places: Sequence[NDArray[np.intp] | None],
        size: int,
        *,
        partial: bool = False,
    ) -> None:
        self._readings, self._places, self._partial = readings, places, partial
        self.shape = (len(readings), size, size)
        dtypes = {_dtype_of(reading) for reading in readings}
        self.dtype = np.dtype(np.float64) if partial else np.result_type(*dtypes)

    def __getitem__(self, place: Any) -> NDArray[Any]:
        """Read a slice of subjects; further axes are indexed as those of an array."""
        subjects, *others = place if isinstance(place, tuple) else (place,)
        chosen = np.arange(self.shape[0])[subjects].tolist()
        matrices = np.zeros((len(chosen), *self.shape[1:]), dtype=self.dtype)
        for matrix, position in zip(matrices, chosen, strict=True):
            self._fill(matrix, self._readings[position], self._places[position])
        return matrices[(slice(None), *others)]

    def loaded(self) -> NDArray[Any]:
        """Return all subjects.

        Raises
        ------
        TooLargeError
            If they do not fit into the memory that is free.
        """
        check_array(self.shape, self._readings[0].label, itemsize=self.dtype.itemsize)
        return self[:]

    def _fill(self, matrix: NDArray[Any], one: Reading, places: NDArray[np.intp] | None) -> None:
        own = as_numbers(one.holding.values, one.label)
        if places is None:
            matrix[...] = own
        elif self._partial:
            matrix[np.ix_(places, places)] = own
        else:
            matrix[...] = own[np.ix_(places, places)]


def _dtype_of(reading: Reading) -> np.dtype[Any]:
    return as_numbers(np.empty(0, dtype=reading.holding.values.dtype), reading.label).dtype
