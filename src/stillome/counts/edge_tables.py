"""Tables of subjects by edges that are computed in blocks of edges, and never made whole.

Nearly everything a fit does with a table (n, E) it does to every edge by itself, or it adds up
over edges. So a table here is a rule that gives the columns of a block of edges. Rules are put
behind each other (`then`), summarised per edge (`each`) or added up over edges (`total`). Only what
is expensive to compute is kept (`stored`), in memory or in a file.

The width of blocks does not depend on how many are computed at a time, and sums are taken in the
order of the blocks: the bits of an answer do not depend on the number of workers. Many
blocks are added up in groups, so that a worker of a cluster sends one sum for a whole group.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from math import isqrt
from typing import Any, Protocol, Self, TypeAlias, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from stillome.counts.block_store import BlockStore, FileStore, MemoryStore, SharedStore
from stillome.counts.workers import MOST_WORKERS, in_order
from stillome.kept_memory import give_back

_ELEMENTS = 2**18  # of a block: few enough for the caches of a processor
_LEAST_WIDTH = 32  # edges; with fewer, matrix products take longer than reading
_TEMPORARIES = 16  # arrays of the size of a block that a computation needs, of 4 bytes an element
_STORED = 4  # tables that a fit keeps at a time


class PerEdge(Protocol):
    """Something with values for every edge."""

    def of_edges(self, edges: slice) -> Self:
        """Return it for some edges only."""
        ...


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

        About twice the square root of their number: sums over edges are large, and each group
        sends one, but every worker should have something to do.

        Examples
        --------
        >>> [len(group) for group in BlockPlan(1).groups(2)], len(BlockPlan(1).groups(5000))
        ([1, 1], 143)
        """
        blocks = self.blocks(n_edges)
        size = max(isqrt(len(blocks)) // 2, 1)
        return [blocks[start : start + size] for start in range(0, len(blocks), size)]

    def store(self, shape: tuple[int, int], dtype: DTypeLike) -> BlockStore:
        """Return an empty place for the blocks of a table (n, E)."""
        kind = SharedStore if self.shared else FileStore if self.on_disk else MemoryStore
        return kind(shape, self.blocks(shape[1]), np.dtype(dtype))


@dataclass(frozen=True, eq=False)
class EdgeTable:
    """A table (n, E) whose columns are computed when a block of edges is looked at.

    Attributes
    ----------
    shape : tuple of two int
    read : callable
        From a block of edges to an array (n, e), which nobody may change.
    plan : BlockPlan

    Examples
    --------
    >>> counts = np.array([[1, 2, 3], [3, 4, 8]])
    >>> table = EdgeTable.of(counts)
    >>> table.each(lambda block: block.sum(axis=0)).tolist()
    [4, 6, 11]
    >>> table.then(lambda block, level: block - level, counts.min(axis=0)).array().tolist()
    [[0, 0, 0], [2, 2, 5]]
    """

    shape: tuple[int, int]
    read: Callable[[slice], NDArray[Any]]
    plan: BlockPlan

    @classmethod
    def of(cls, values: "AnyTable") -> "EdgeTable":
        """Return a table of an array (n, E); a table as it is."""
        if isinstance(values, EdgeTable):
            return values
        shape = (values.shape[0], values.shape[1])
        return cls(shape, lambda edges: values[:, edges], BlockPlan.of(shape))

    def __len__(self) -> int:
        return self.shape[0]

    def then(self, function: Callable[..., NDArray[Any]], *others: Any) -> "EdgeTable":
        """Return the table that a function makes of the blocks of this one.

        Parameters
        ----------
        function : callable
            From a block (n, e) of this table, and the same edges of others, to an array (n', e).
        *others
            Tables, arrays whose last axis are edges, or anything that is `PerEdge`.
        """
        return EdgeTable(self.shape, self._rule(function, others), self.plan)

    def each(self, function: Callable[..., Any], *others: Any) -> Any:
        """Return what a function says of every edge; arguments as for `then`.

        It returns an array, or a tuple of arrays, whose last axis are the edges of the block.
        """
        found = list(self.answers(function, *others))
        if isinstance(found[0], tuple):
            return tuple(np.concatenate(parts, axis=-1) for parts in zip(*found, strict=True))
        return np.concatenate(found, axis=-1)

    def total(self, function: Callable[..., Any], *others: Any) -> Any:
        """Return the sum over blocks of what a function returns: an array, or a tuple of them."""
        work = self._rule(function, others)

        def added(group: list[slice]) -> Any:
            return work(group[0]) if len(group) == 1 else _sum(map(work, group))

        return _sum(self._by_groups(added))

    def answers(self, function: Callable[..., Any], *others: Any) -> Iterator[Any]:
        """Return what a function says of every block, in order."""
        return self._in_order(self._rule(function, others), self.plan.blocks(self.shape[1]))

    def _rule(
        self, function: Callable[..., Any], others: tuple[Any, ...]
    ) -> Callable[[slice], Any]:
        """Return what gives the answer of a block."""
        read = self.read  # and not the whole table, which may be sent to workers

        def work(edges: slice) -> Any:
            return function(read(edges), *(of_edges(other, edges) for other in others))

        return work

    def _in_order(self, work: Callable[[Any], Any], items: list[Any]) -> Iterator[Any]:
        few = 1 if len(items) == 1 else None
        return in_order(work, items, few, shared=self.plan.shared)

    def _by_groups(self, work: Callable[[list[slice]], Any]) -> Iterator[Any]:
        groups = self.plan.groups(self.shape[1])
        few = 1 if len(groups) == 1 else None
        return in_order(work, groups, few, shared=self.plan.shared, singly=True)

    def rows(self, subjects: NDArray[np.intp] | slice) -> "EdgeTable":
        """Return the table of some subjects."""
        n = len(range(self.shape[0])[subjects]) if isinstance(subjects, slice) else len(subjects)
        read = self.read
        return replace(self, shape=(n, self.shape[1]), read=lambda edges: read(edges)[subjects])

    def array(self) -> NDArray[Any]:
        """Return the table as one array (n, E); for those that fit into memory."""
        return np.hstack(list(self.answers(lambda block: block)))

    def stored(self, dtype: DTypeLike = np.float32) -> "StoredTable":
        """Compute all blocks once and keep them."""
        store = self.plan.store(self.shape, dtype)
        blocks = self.plan.blocks(self.shape[1])
        read = self.read
        n_bytes = store.dtype.itemsize * self.shape[0] * self.shape[1]
        give_back(n_bytes)
        for _ in self._in_order(
            lambda job: store.write(job[0], read(job[1])), [*enumerate(blocks)]
        ):
            pass
        give_back(n_bytes)
        return StoredTable.on(store, self.plan)


@dataclass(frozen=True, eq=False)
class StoredTable(EdgeTable):
    """A table whose blocks are kept; subjects can be looked at, too."""

    store: BlockStore

    @classmethod
    def on(cls, store: BlockStore, plan: BlockPlan) -> "StoredTable":
        """Return the table that a store holds, with the blocks of a plan."""
        width = plan.width

        def read(edges: slice) -> NDArray[Any]:
            return store.read(edges.start // width)

        return cls(store.shape, read, plan, store)

    def subjects(self, rows: slice) -> NDArray[Any]:
        """Return all edges of consecutive subjects, (m, E)."""
        return self.store.read_rows(rows)


AnyTable: TypeAlias = NDArray[Any] | EdgeTable
Kind = TypeVar("Kind", bound=AnyTable)


def of_kind(values: Kind, function: Callable[..., NDArray[Any]], *others: Any) -> Kind:
    """Apply a function as `EdgeTable.then` does: a table to a table, an array to an array."""
    answer: Any
    if isinstance(values, EdgeTable):
        answer = values.then(function, *others)
    else:
        answer = function(values, *others)
    return answer


def _sum(answers: Iterable[Any]) -> Any:
    """Add up arrays, or tuples of them, in order and in double precision."""
    several, sums = False, []
    for number, answer in enumerate(answers):
        several = isinstance(answer, tuple)
        parts = answer if several else (answer,)
        if number == 0:
            sums = [np.array(part, np.float64) for part in parts]
            continue
        for total, part in zip(sums, parts, strict=True):
            np.add(total, part, out=total)
    return tuple(sums) if several else sums[0]


def of_edges(values: Any, edges: slice) -> Any:
    """Return the part of a table, of an array or of anything `PerEdge` for a block of edges."""
    if isinstance(values, EdgeTable):
        return values.read(edges)
    return values[..., edges] if isinstance(values, np.ndarray) else values.of_edges(edges)
