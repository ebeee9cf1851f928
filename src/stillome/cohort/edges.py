"""Matrix ↔ edge vector: the upper triangle, row by row, without the diagonal."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stillome.cohort.validation import as_numbers, check_connectomes, check_count, n_regions_of
from stillome.exceptions import InputError

# More than the vertices of both cortical surfaces; the edges would not fit into memory.
MAX_REGIONS = 100_000


def edge_indices(n_regions: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the two region indices (u, v), u < v, of every edge in storage order.

    Parameters
    ----------
    n_regions : int
        V, at least 2.

    Returns
    -------
    tuple of two arrays of shape (V(V-1)/2,)

    Examples
    --------
    >>> [index.tolist() for index in edge_indices(3)]
    [[0, 0, 1], [1, 2, 2]]
    """
    n_regions = check_count(n_regions, "n_regions", minimum=2)
    if n_regions > MAX_REGIONS:
        raise InputError(f"n_regions={n_regions}; more than {MAX_REGIONS:,} is no atlas.")
    rows, columns = np.triu_indices(n_regions, k=1)
    return rows, columns


def matrices_to_edges(connectomes: ArrayLike, *, check: bool = True) -> NDArray[Any]:
    """Take the upper triangle of each matrix.

    Parameters
    ----------
    connectomes : array-like of shape (n, V, V) or (n, V(V-1)/2)
        Edge vectors are passed through as they are, without a copy.
    check : bool, default=True
        Whether the values are judged; false only where that has been done already.

    Returns
    -------
    numpy.ndarray of shape (n, V(V-1)/2)
        In the dtype that came in.

    Examples
    --------
    >>> matrices_to_edges([[[0, 1, 2], [1, 0, 3], [2, 3, 0]]]).tolist()
    [[1, 2, 3]]
    """
    array = check_connectomes(connectomes) if check else np.asarray(connectomes)
    if array.ndim == 2:
        return array
    rows, columns = edge_indices(array.shape[1])
    # One flat `take` per matrix is several times faster than fancy indexing on two axes.
    flat = array.reshape(len(array), -1)
    return np.take(flat, rows * array.shape[1] + columns, axis=1)


def edges_to_matrices(edges: ArrayLike) -> NDArray[Any]:
    """Rebuild symmetric matrices with a zero diagonal; the inverse of `matrices_to_edges`.

    Works for any real values (differences too), so nothing is judged but the size.

    Parameters
    ----------
    edges : array-like of shape (..., V(V-1)/2)

    Returns
    -------
    numpy.ndarray of shape (..., V, V)
        In the dtype that came in.

    Examples
    --------
    >>> edges_to_matrices([1, 2, 3]).tolist()
    [[0, 1, 2], [1, 0, 3], [2, 3, 0]]
    """
    array = as_numbers(edges, "edges")
    if not array.ndim:
        raise InputError("edges: a single number; expected (..., V(V-1)/2), one value per edge.")
    n_regions = n_regions_of(array.shape[-1])
    rows, columns = edge_indices(n_regions)
    matrices = np.zeros((*array.shape[:-1], n_regions, n_regions), dtype=array.dtype)
    matrices[..., rows, columns] = array
    matrices[..., columns, rows] = array
    return matrices


def shaped_like(edges: NDArray[Any], connectomes: Any) -> NDArray[Any]:
    """Give edge vectors back in the shape (matrices or edges) in which the input came."""
    return edges_to_matrices(edges) if len(connectomes.shape) == 3 else edges
