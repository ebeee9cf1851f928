"""Features of many subjects in a temporary file, those of a fold beside each other.

Where there are more subjects and more features than `MOST_SQUARE`, features are replaced by as many
sums of features, each with a random sign, and every feature in one sum (Clarkson and Woodruff
2013). Inner products of subjects are the same in expectation.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy.sparse import csr_array

from stillome.arrays import Floats
from stillome.counts.block_store import BlockStore, FileStore, MemoryStore
from stillome.evaluate.leakage.large_views import StandardisedView
from stillome.evaluate.leakage.probe_data import Blocks

# Rows of the largest square matrix that is decomposed: 72 MB, and three times that for workspace.
MOST_SQUARE = 3000
_IN_MEMORY = 2**26  # bytes of a table below which it needs no file
_CHUNK_VALUES = 2**22


def row_store(shape: tuple[int, int], dtype: DTypeLike) -> BlockStore:
    """Return a place for rows: in memory, or in a temporary file."""
    kind = np.dtype(dtype)
    small = shape[0] * shape[1] * kind.itemsize <= _IN_MEMORY
    return (MemoryStore if small else FileStore)(shape, [slice(0, shape[1])], kind)


class FoldedRows:
    """Standardised features (n, q) in single precision, by block and fold.

    Parameters
    ----------
    view : StandardisedView
    blocks : list of Block
    seed : int
        Of the random signs and sums, where there are any.

    Attributes
    ----------
    n_features : int
        q: columns that vary, or sums of them.
    """

    def __init__(self, view: StandardisedView, blocks: Blocks, seed: int) -> None:
        n, n_columns = view.shape
        self.blocks = blocks
        summed = min(n, n_columns) > MOST_SQUARE
        self.n_features = MOST_SQUARE if summed else n_columns
        sums = _random_sums(n_columns, seed) if summed else None
        self._folds = [fold for block in blocks for fold in block.folds]
        sizes = [len(fold) for fold in self._folds]
        self._starts = np.cumsum([0, *sizes])
        self._store = row_store((n, self.n_features), np.float32)
        places = np.empty(n, dtype=np.intp)
        places[np.concatenate(self._folds)] = np.arange(n)
        fold_of = np.repeat(np.arange(len(sizes)), sizes)[places]
        for start, values in view.parts():
            rows = values if sums is None else np.asarray((sums @ values.T).T)
            numbers = fold_of[start : start + len(rows)]
            # Subjects of a fold stand in it in their own order, so that a part is one piece.
            for number in np.unique(numbers):
                inside = np.flatnonzero(numbers == number)
                self._store.write_rows(int(places[start + inside[0]]), rows[inside])

    def folds_of(self, block: int) -> range:
        """Return the numbers of the folds of a block."""
        before = sum(len(one.folds) for one in self.blocks[:block])
        return range(before, before + len(self.blocks[block].folds))

    def chunks(self, fold: int) -> Iterator[tuple[NDArray[np.intp], Floats]]:
        """Give the subjects (m,) of a fold and their features (m, q), a few at a time."""
        step = max(1, _CHUNK_VALUES // max(self.n_features, 1))
        first, last = int(self._starts[fold]), int(self._starts[fold + 1])
        for start in range(first, last, step):
            rows = slice(start, min(start + step, last))
            members = self._folds[fold][rows.start - first : rows.stop - first]
            yield members, self._store.read_rows(rows).astype(np.float64)

    def kernel(self, members: NDArray[np.intp]) -> Floats:
        """Return the inner products (m, m) of all subjects of a block, over q."""
        block = next(
            number for number, one in enumerate(self.blocks) if one.members[0] == members[0]
        )
        kernel = np.empty((len(members), len(members)))
        folds = self.folds_of(block)
        for fold in folds:
            for some, left in self.chunks(fold):
                rows = np.searchsorted(members, some)
                for other in folds:
                    for others, right in self.chunks(other):
                        kernel[np.ix_(rows, np.searchsorted(members, others))] = left @ right.T
        return kernel / self.n_features


def _random_sums(n_columns: int, seed: int) -> csr_array:
    """Return which columns are added up, and with which sign: (sums, columns)."""
    rng = np.random.default_rng(seed)
    sums = rng.integers(MOST_SQUARE, size=n_columns)
    signs = rng.choice([-1.0, 1.0], size=n_columns)
    return csr_array((signs, (sums, np.arange(n_columns))), shape=(MOST_SQUARE, n_columns))
