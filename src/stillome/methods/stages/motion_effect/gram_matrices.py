"""The eigenvectors of tables (n, E): exact on the smaller side, or by a randomised range finder.

The randomised one (Halko, Martinsson and Tropp 2011) multiplies a few random columns by the table
and its transpose, one pass over the blocks each time, and decomposes what they span.
"""

from itertools import combinations_with_replacement
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stillome.arrays import Floats
from stillome.counts.edge_tables import EdgeTable
from stillome.counts.workers import in_order

_SLAB_ELEMENTS = 2**25  # of the columns that are multiplied with others at a time
_MORE = 20  # columns than are asked for; their eigenvectors are the least exact
_PASSES = 5


def gram_of_subjects(table: EdgeTable) -> tuple[Floats, NDArray[np.bool_]]:
    """Return T Tᵀ (n, n) of a table T, and which edges (E,) vary."""
    return table.total_and_each(lambda block: (block @ block.T, block.any(axis=0)))


def gram_of_edges(table: EdgeTable) -> tuple[Floats, NDArray[np.bool_]]:
    """Return Tᵀ T (E, E) of a table T, and which edges (E,) vary."""
    n, n_edges = table.shape
    width = max(_SLAB_ELEMENTS // max(n, 1) // table.plan.width, 1) * table.plan.width
    slabs = [slice(start, min(start + width, n_edges)) for start in range(0, n_edges, width)]
    gram = np.empty((n_edges, n_edges))

    def columns(slab: slice) -> NDArray[Any]:
        step = table.plan.width
        starts = range(slab.start, slab.stop, step)
        return np.hstack([table.read(slice(s, min(s + step, slab.stop))) for s in starts])

    def multiply(pair: tuple[slice, slice]) -> tuple[slice, slice, NDArray[Any]]:
        one, other = pair
        first = columns(one)
        return one, other, first.T @ (first if one == other else columns(other))

    pairs = combinations_with_replacement(slabs, 2)
    for one, other, product in in_order(multiply, pairs, shared=table.plan.shared):
        gram[one, other] = product
        gram[other, one] = product.T
    return gram, np.diagonal(gram) > 0


def leading_eigenvectors(table: EdgeTable, n_vectors: int) -> tuple[Floats, Floats]:
    """Return the largest eigenvalues (k,) of T Tᵀ and their eigenvectors (n, k), approximately.

    Parameters
    ----------
    table : EdgeTable
        T.
    n_vectors : int

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> signal = 40 * np.outer(rng.standard_normal(300), rng.standard_normal(200))
    >>> table = signal + rng.standard_normal((300, 200))
    >>> found, _ = leading_eigenvectors(EdgeTable.of(table), 1)
    >>> bool(abs(found[0] / np.linalg.eigvalsh(table @ table.T)[-1] - 1) < 1e-9)
    True
    """
    width = min(n_vectors + max(_MORE, n_vectors), *table.shape)
    # Subjects are in an order of their own, so that these numbers go with them.
    basis = np.random.default_rng(0).standard_normal((len(table), width))
    for _ in range(_PASSES):
        basis = np.linalg.qr(basis)[0]
        columns = basis

        def multiply(block: NDArray[Any], columns: Floats = columns) -> Floats:
            single = columns.astype(block.dtype)
            return np.asarray(block @ (block.T @ single), np.float64)

        basis = table.total(multiply)
    inner = columns.T @ basis
    values, turns = np.linalg.eigh((inner + inner.T) / 2)
    kept = slice(None, -n_vectors - 1, -1)
    return values[kept], columns @ turns[:, kept]
