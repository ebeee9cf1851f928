"""The eigenvectors of tables (n, E): exact on the smaller side, or by a randomised range finder.

The randomised one (block Lanczos; Halko, Martinsson and Tropp 2011, Musco and Musco 2015)
multiplies a few random columns by the table and its transpose, one pass over the blocks each time,
and decomposes the table in the span of all these products. With as many multiplications it is more
accurate than one that keeps the last product only.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from stillome.arrays import AnyFloats, Floats
from stillome.counts.edge_tables import EdgeTable
from stillome.counts.workers import in_order

# T Tᵀ (n, n) of a table T, and which of its edges (E,) vary.
SubjectProducts: TypeAlias = tuple[NDArray[Any], NDArray[np.bool_]]

_SLAB_ELEMENTS = 2**25  # of the columns that are multiplied with others at a time, at most
# So that two workers have about as much to do. With up to 8,192 subjects twice as many: wide ones
# would take more memory than the tables that are kept. With more, tables take longer to read again.
_LEAST_SLABS, _FEW_SUBJECTS = 5, 2**13
_PIECES = 4  # of a slab, in which the others are read, so that they take little memory
# Of columns that are added up in one product of all subjects. A product of fewer takes its time
# for writing the answer.
_ADDED_ELEMENTS = 2**21
_ROWS = 256  # of a matrix that are multiplied at a time
# Columns that are multiplied at a time: 3 for every 8 eigenvectors, and at least 48. Eight passes
# then span three times as many dimensions as are asked for.
_SHARE, _LEAST_COLUMNS = 3, 48
_PASSES = 8


def gram_of_subjects(table: EdgeTable) -> SubjectProducts:
    """Return T Tᵀ (n, n) of a table T, and which edges (E,) vary."""
    slabs = slabs_of(table, _even_share(table))

    def multiply(slab: slice) -> SubjectProducts:
        return _products(columns(table, slab))

    found = in_order(multiply, slabs, shared=table.plan.shared, singly=True)
    return _added(found, len(table))


def _products(block: NDArray[Any]) -> SubjectProducts:
    return np.matmul(block, block.T), np.asarray(block.any(axis=0))


def _added(found: Iterable[SubjectProducts], n: int) -> SubjectProducts:
    """Add up products (n, n) of slabs, in double precision, and put their edges together."""
    gram, varies = np.zeros((n, n)), [np.zeros(0, bool)]
    for product, own in found:
        gram += product
        varies.append(own)
    return gram, np.concatenate(varies)


def slabs_of(table: EdgeTable, n_elements: int, first: int = 0) -> list[slice]:
    """Return consecutive edges in whole blocks, about this many numbers of a table at a time.

    `first` is the first edge of a block.
    """
    n, n_edges = table.shape
    width = max(n_elements // max(n, 1) // table.plan.width, 1) * table.plan.width
    return [slice(start, min(start + width, n_edges)) for start in range(first, n_edges, width)]


def _even_share(table: EdgeTable) -> int:
    """Return how many numbers slabs have of which at least two are about as large."""
    n, n_edges = table.shape
    n_slabs = max(-(-n * n_edges // _ADDED_ELEMENTS), 2)
    return n * (-(-n_edges // n_slabs) + table.plan.width - 1)  # rounded up to whole blocks


def columns(table: EdgeTable, slab: slice) -> NDArray[Any]:
    """Return the columns (n, e) of consecutive blocks."""
    step = table.plan.width
    first = table.read(slice(slab.start, min(slab.start + step, slab.stop)))
    if first.shape[1] == slab.stop - slab.start:
        return first
    found = np.empty((len(table), slab.stop - slab.start), first.dtype)
    found[:, :step] = first
    for start in range(slab.start + step, slab.stop, step):
        edges = slice(start, min(start + step, slab.stop))
        found[:, start - slab.start : edges.stop - slab.start] = table.read(edges)
    return found


def gram_of_edges(
    table: EdgeTable, n_first: int = 0
) -> tuple[AnyFloats, NDArray[np.bool_], SubjectProducts]:
    """Return Tᵀ T (E, E) of a table T, in its precision, and which edges (E,) vary.

    And `gram_of_subjects` of the first few subjects, from the same pass over the table.
    """
    n, n_edges = table.shape
    n_slabs = _LEAST_SLABS if n > _FEW_SUBJECTS else 2 * _LEAST_SLABS
    some = min(_SLAB_ELEMENTS, n * -(-n_edges // n_slabs))
    slabs = slabs_of(table, some)

    def multiply(number: int) -> tuple[NDArray[Any], SubjectProducts]:
        """Return the products of one slab with itself and with all behind it."""
        slab = slabs[number]
        first = columns(table, slab)
        behind = slabs_of(table, some // _PIECES, slab.stop)
        others = (first.T @ columns(table, piece) for piece in behind)
        return np.hstack([first.T @ first, *others]), _products(first[:n_first])

    gram: AnyFloats = np.empty((0, 0))

    def found() -> Iterator[SubjectProducts]:
        """Put products of edges into their place, and give those of subjects."""
        nonlocal gram
        products = in_order(multiply, range(len(slabs)), shared=table.plan.shared)
        for slab, (product, of_first) in zip(slabs, products, strict=True):
            if not len(gram):
                gram = np.empty((n_edges, n_edges), product.dtype)
            gram[slab, slab.start :] = product
            gram[slab.start :, slab] = product.T
            yield of_first

    of_first = _added(found(), min(n_first, n))
    return gram, np.diagonal(gram) > 0, of_first


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
    return _block_lanczos(
        lambda vectors: _times_its_transpose(table, vectors),
        len(table),
        min(table.shape),
        n_vectors,
    )


def leading_eigenvectors_of(matrix: AnyFloats, n_vectors: int) -> tuple[Floats, Floats]:
    """Return the same of a symmetric matrix (n, n) without negative eigenvalues."""
    pieces = [slice(start, start + _ROWS) for start in range(0, len(matrix), _ROWS)]

    def multiply(vectors: Floats) -> Floats:
        # In double precision, without a copy of the matrix: weak factors need the digits.
        products = in_order(lambda rows: matrix[rows].astype(np.float64) @ vectors, iter(pieces))
        return np.vstack(list(products))

    return _block_lanczos(multiply, len(matrix), len(matrix), n_vectors)


def _block_lanczos(
    multiply: Callable[[Floats], Floats], n: int, rank: int, n_vectors: int
) -> tuple[Floats, Floats]:
    """Return eigenvalues (k,) and eigenvectors (n, k) of what columns (n, j) are multiplied by."""
    width = max(min(max(n_vectors * _SHARE // 8, _LEAST_COLUMNS), rank // 2), 1)
    n_passes = min(_PASSES, rank // width)
    # Subjects are in an order of their own, so that these numbers go with them. Those of edges go
    # with their order; where the iteration has converged, the start does not matter.
    last = np.linalg.qr(np.random.default_rng(0).standard_normal((n, width)))[0]
    basis = np.empty((n, n_passes * width))
    inner = np.zeros((n_passes * width, n_passes * width))
    for start in range(0, n_passes * width, width):
        now = slice(start, start + width)
        basis[:, now] = last
        known = basis[:, : now.stop]
        product = multiply(last)
        inner[: now.stop, now] = known.T @ product
        if now.stop < len(inner):
            last = _orthonormal(product, known)
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
