"""Edge vectors in a file, seen as matrices; only slices are read."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


class EdgeMatrices:
    """Matrices (n, V, V) of edge vectors (n, E) that stay where they are.

    Parameters
    ----------
    values : array-like with `shape`, `dtype` and slicing
        Edge vectors.
    size : int
        V.
    rows, columns : arrays of shape (E,)
        Where every edge stands in the matrix. The other triangle stays 0.

    Examples
    --------
    >>> matrices = EdgeMatrices(np.array([[5, 6, 7]]), 3, *np.triu_indices(3, 1))
    >>> matrices.shape, matrices[:1][0].tolist()
    ((1, 3, 3), [[0, 5, 6], [0, 0, 7], [0, 0, 0]])
    """

    ndim = 3

    def __init__(
        self, values: Any, size: int, rows: NDArray[np.intp], columns: NDArray[np.intp]
    ) -> None:
        self._values, self._places = values, rows * size + columns
        self.shape = (int(values.shape[0]), size, size)
        self.dtype = np.dtype(values.dtype)
        chunks = getattr(values, "chunks", None)
        self.chunks = (int(chunks[0]), size, size) if chunks else None

    def __getitem__(self, place: Any) -> NDArray[Any]:
        """Read matrices of some subjects; further axes are indexed as those of an array."""
        subjects, *others = place if isinstance(place, tuple) else (place,)
        edges = np.asarray(self._values[subjects])
        matrices = np.zeros((len(edges), self.shape[1] * self.shape[2]), dtype=edges.dtype)
        matrices[:, self._places] = edges
        return matrices.reshape(-1, *self.shape[1:])[(slice(None), *others)]
