"""Connectomes with their regions in another order."""

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from stillome.cohort.stored_matrices import some_matrices
from stillome.cohort.validation.sliced import is_sliced


def reordered(matrices: Any, order: NDArray[np.intp]) -> Any:
    """Return matrices (..., V, V) with rows and columns in another order.

    Matrices that stay in a file (n, V, V) do so.

    Examples
    --------
    >>> reordered(np.array([[0, 1, 2], [1, 0, 3], [2, 3, 0]]), np.array([2, 1, 0])).tolist()
    [[0, 3, 2], [3, 0, 1], [2, 1, 0]]
    """
    if is_sliced(matrices):
        same = np.array_equal(order, np.arange(len(order)))
        return matrices if same else ReorderedMatrices(matrices, order)
    return matrices[..., order, :][..., order]


class ReorderedMatrices:
    """Matrices (n, V, V) that stay in their file; slices are put into order when they are read.

    Parameters
    ----------
    matrices : anything that is read in slices of subjects, shape (n, V, V)
    order : array of shape (V,)
        Where each region wanted stands in the file.
    """

    ndim = 3

    def __init__(self, matrices: Any, order: NDArray[np.intp]) -> None:
        self._matrices, self._order = matrices, order
        self.shape, self.dtype, self.chunks = matrices.shape, matrices.dtype, matrices.chunks

    def __len__(self) -> int:
        return int(self.shape[0])

    def __getitem__(self, subjects: Any) -> NDArray[Any]:
        """Read some subjects: a position, a slice, positions or a mask."""
        return np.ascontiguousarray(reordered(np.asarray(self._matrices[subjects]), self._order))

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self[:], dtype=dtype, copy=True if copy is None else copy)

    def select(self, subjects: NDArray[np.intp]) -> Any:
        """Return some subjects, still in the file where it can tell them apart."""
        return reordered(some_matrices(self._matrices, subjects), self._order)
