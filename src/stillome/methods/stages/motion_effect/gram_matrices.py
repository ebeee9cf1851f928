"""The eigenvectors of tables (n, E): exact on the smaller side, or by a randomised range finder.

The randomised one (block Lanczos; Halko, Martinsson and Tropp 2011, Musco and Musco 2015)
multiplies a few random columns by the table and its transpose, one pass over the blocks each time,
and decomposes the table in the span of all these products. With as many multiplications it is more
accurate than one that keeps the last product only.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stillome.arrays import Floats
from stillome.counts.edge_tables import EdgeTable
from stillome.counts.workers import in_order

_SLAB_ELEMENTS = 2**25  # of the columns that are multiplied with others at a time
# Columns that are multiplied at a time: 3 for every 8 eigenvectors, and at least 48. Eight passes
# then span three times as many dimensions as are asked for.
_SHARE, _LEAST_COLUMNS = 3, 48
_PASSES = 8


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

    def multiply(number: int) -> NDArray[Any]:
        """Return the products of one slab with itself and with all behind it."""
        first = columns(slabs[number])
        others = (first.T @ columns(slab) for slab in slabs[number + 1 :])
        return np.hstack([first.T @ first, *others])

    products = in_order(multiply, range(len(slabs)), shared=table.plan.shared)
    for slab, product in zip(slabs, products, strict=True):
        gram[slab, slab.start :] = product
        gram[slab.start :, slab] = product.T
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
    n = len(table)
    most = min(table.shape)
    width = max(min(max(n_vectors * _SHARE // 8, _LEAST_COLUMNS), most // 2), 1)
    n_passes = min(_PASSES, most // width)
    # Subjects are in an order of their own, so that these numbers go with them.
    last = np.linalg.qr(np.random.default_rng(0).standard_normal((n, width)))[0]
    basis, inner = last, np.zeros((n_passes * width, n_passes * width))
    for number in range(n_passes):
        product = _times_its_transpose(table, last)
        inner[: basis.shape[1], number * width :][:, :width] = basis.T @ product
        if number < n_passes - 1:
            last = _orthonormal(product, basis)
            basis = np.hstack([basis, last])
    values, turns = np.linalg.eigh(inner, UPLO="U")
    kept = slice(None, -n_vectors - 1, -1)
    return values[kept], basis @ turns[:, kept]


def _times_its_transpose(table: EdgeTable, columns: Floats) -> Floats:
    """Return T Tᵀ times columns (n, k)."""

    def multiply(block: NDArray[Any]) -> Floats:
        single = columns.astype(block.dtype)
        return np.asarray(block @ (block.T @ single), np.float64)

    return np.asarray(table.total(multiply))


def _orthonormal(columns: Floats, basis: Floats) -> Floats:
    """Return what columns (n, k) add to the span of an orthonormal basis (n, m), orthonormal."""
    for _ in range(3):  # fewer leave rounding errors, which grow, where next to nothing is added
        columns = np.linalg.qr(columns - basis @ (basis.T @ columns))[0]
    return columns
