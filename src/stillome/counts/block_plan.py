"""How a table of subjects by edges is divided into blocks and bands, and where it is kept."""

from dataclasses import dataclass
from itertools import pairwise
from math import ceil, sqrt

import numpy as np
from numpy.typing import DTypeLike

from stillome.counts.block_store import BlockStore, FileStore, MemoryStore, SharedStore
from stillome.counts.workers import MOST_WORKERS

_ELEMENTS = 2**18  # of a block, or a band of its subjects: few enough for a processor's cache
_LEAST_WIDTH = 32  # edges; with fewer, matrix products take longer than reading
_BAND = _ELEMENTS // _LEAST_WIDTH  # subjects that are looked at together, at most
_TEMPORARIES = 16  # arrays of the size of a block that a computation needs, of 4 bytes an element
_STORED = 4  # tables that a fit keeps at a time


@dataclass(frozen=True)
class BlockPlan:
    """How a table is divided into blocks of edges, and where blocks are kept.

    Attributes
    ----------
    width : int
        Edges of a block.
    on_disk : bool
        Whether stored blocks are kept in a file.
    shared : bool
        Whether they are kept in a file that the workers of a cluster read, who then compute.
    """

    width: int
    on_disk: bool = False
    shared: bool = False

    @classmethod
    def of(cls, shape: tuple[int, ...], memory: float | None = None) -> "BlockPlan":
        """Plan for a table (n, E) and at most this many bytes of memory.

        Examples
        --------
        >>> BlockPlan.of((1000, 2278)).on_disk, BlockPlan.of((1000, 2278), 2e7).on_disk
        (False, True)
        """
        n, n_edges = max(shape[0], 1), max(shape[1], 1)
        width = max(_ELEMENTS // n, _LEAST_WIDTH)
        if memory is not None:
            fits = int(memory / 2 / (4 * _TEMPORARIES * n * MOST_WORKERS))
            width = max(min(width, fits), 1)
        on_disk = memory is not None and 4 * _STORED * n * n_edges > memory
        return cls(min(width, n_edges), on_disk)

    def blocks(self, n_edges: int) -> list[slice]:
        """Return the blocks of all edges, in order; an empty one where there are none."""
        starts = range(0, max(n_edges, 1), self.width)
        return [slice(start, min(start + self.width, n_edges)) for start in starts]

    def groups(self, n_edges: int) -> list[list[slice]]:
        """Return the blocks in groups of consecutive ones; how many depends on the blocks only.

        About the square root of their number: sums over edges are large, and each group sends one.
        A multiple of 4 where there are as many blocks, so that several workers have as much to do.

        Examples
        --------
        >>> [[len(group) for group in BlockPlan(1).groups(n)] for n in (2, 9)]
        [[1, 1], [2, 2, 2, 3]]
        """
        blocks = self.blocks(n_edges)
        n_groups = min(4 * ceil(sqrt(len(blocks)) / 4), len(blocks))
        ends = [len(blocks) * number // n_groups for number in range(n_groups + 1)]
        return [blocks[start:end] for start, end in pairwise(ends)]

    def quarters(self, n_edges: int) -> list[list[list[slice]]]:
        """Return the groups in four lists of consecutive ones; fewer where there are fewer groups.

        Examples
        --------
        >>> [len(quarter) for quarter in BlockPlan(1).quarters(40)]
        [2, 2, 2, 2]
        """
        groups = self.groups(n_edges)
        size = -(-len(groups) // 4)
        return [groups[start : start + size] for start in range(0, len(groups), size)]

    def store(self, shape: tuple[int, int], dtype: DTypeLike) -> BlockStore:
        """Return an empty place for the blocks of a table (n, E)."""
        kind = SharedStore if self.shared else FileStore if self.on_disk else MemoryStore
        return kind(shape, self.blocks(shape[1]), np.dtype(dtype))


def bands(n: int) -> list[slice]:
    """Return consecutive subjects, of n, who are looked at together in a block of edges.

    Examples
    --------
    >>> [band.stop for band in bands(20_000)]
    [8192, 16384, 20000]
    """
    return [slice(start, min(start + _BAND, n)) for start in range(0, max(n, 1), _BAND)]
