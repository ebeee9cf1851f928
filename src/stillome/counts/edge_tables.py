"""Tables of subjects by edges that are computed in blocks of edges, and never made whole.

Nearly everything a fit does with a table (n, E) it does to every edge by itself, or it adds up
over edges. So a table here is a rule that gives the columns of a block of edges. Rules are put
behind each other (`then`), summarised per edge (`each`) or added up over edges (`total`). Only what
is expensive to compute is kept (`stored`), in memory or in a file.

A block of many subjects is larger than the caches of a processor. Rules that treat every subject by
itself (`pointwise`), and sums over subjects (`sums`, `total_by_subject`), go through it in bands of
subjects whose temporary arrays fit into a cache.

The width of blocks does not depend on how many are computed at a time, and sums are taken in the
order of the blocks: the bits of an answer do not depend on the number of workers. Many
blocks are added up in groups, and these in quarters of the table, so that a worker of a cluster
sends one sum for a whole group; where there are few workers, for a whole quarter.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, Protocol, Self, TypeAlias, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from stillome.counts.block_plan import BlockPlan, bands
from stillome.counts.block_store import BlockStore
from stillome.counts.workers import in_order, n_together
from stillome.kept_memory import give_back

_EVERYBODY = slice(None)
Tile: TypeAlias = Callable[[slice], NDArray[Any]]  # from consecutive subjects to their values


class PerEdge(Protocol):
    """Something with values for every edge."""

    def of_edges(self, edges: slice) -> Self:
        """Return it for some edges only."""
        ...


@dataclass(frozen=True, eq=False)
class PerSubject:
    """Values (n, ...) of subjects, such as functions of motion, for rules that take them in bands.

    Attributes
    ----------
    values : array of shape (n, ...)
    """

    values: NDArray[Any]


@dataclass(frozen=True, eq=False)
class EdgeTable:
    """A table (n, E) whose columns are computed when a block of edges is looked at.

    Attributes
    ----------
    shape : tuple of two int
    look : callable
        From a block of edges to what gives the values (m, e) of consecutive subjects, which nobody
        may change.
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
    look: Callable[[slice], Tile]
    plan: BlockPlan

    @classmethod
    def of(cls, values: "AnyTable") -> "EdgeTable":
        """Return a table of an array (n, E); a table as it is."""
        if isinstance(values, EdgeTable):
            return values
        shape = (values.shape[0], values.shape[1])
        return cls.of_blocks(shape, lambda edges: values[:, edges], BlockPlan.of(shape))

    @classmethod
    def of_blocks(
        cls, shape: tuple[int, int], read: Callable[[slice], NDArray[Any]], plan: BlockPlan
    ) -> "EdgeTable":
        """Return the table (n, E) whose blocks of edges, (n, e), a function gives."""
        return EdgeTable(shape, lambda edges: read(edges).__getitem__, plan)

    def __len__(self) -> int:
        return self.shape[0]

    def beside(self, look: Callable[[slice], Tile]) -> "EdgeTable":
        """Return another table of the same subjects and edges, in the same blocks."""
        return EdgeTable(self.shape, look, self.plan)

    def read(self, edges: slice) -> NDArray[Any]:
        """Return a block of edges, (n, e), which nobody may change."""
        return self.look(edges)(_EVERYBODY)

    def then(self, function: Callable[..., NDArray[Any]], *others: Any) -> "EdgeTable":
        """Return the table that a function makes of the blocks of this one.

        Parameters
        ----------
        function : callable
            From a block (n, e) of this table, and the same edges of others, to an array (n, e).
        *others
            Tables, arrays whose last axis are edges, or anything that is `PerEdge`.
        """
        return self.of_blocks(self.shape, self._rule(function, others), self.plan)

    def pointwise(self, function: Callable[..., NDArray[Any]], *others: Any) -> "EdgeTable":
        """Return the same for a function that treats every subject by itself.

        It is given the same subjects of all tables, and of others that are `PerSubject`.
        """
        tiles = self._tiles(others)

        def look(edges: slice) -> Tile:
            parts = tiles(edges)
            return lambda rows: function(*(part(rows) for part in parts))

        return self.beside(look)

    def each(self, function: Callable[..., Any], *others: Any) -> Any:
        """Return what a function says of every edge; arguments as for `then`.

        It returns an array, or a tuple of arrays, whose last axis are the edges of the block.
        """
        return _joined(list(self.answers(function, *others)), axis=-1)

    def sums(
        self,
        function: Callable[..., Any],
        *others: Any,
        finish: Callable[..., Any] | None = None,
    ) -> Any:
        """Return sums over subjects of what a function returns; arguments as for `pointwise`.

        It is given bands of subjects, and returns an array, or a tuple of arrays, whose last axis
        are edges. Bands are added up in double precision. `finish` makes something smaller of the
        sums of a block: it is given the edges of the block, a slice, and each of its sums.

        Examples
        --------
        >>> counts = EdgeTable.of(np.array([[1, 2], [3, 4]]))
        >>> weights = PerSubject(np.array([[10], [1]]))
        >>> counts.sums(lambda block, own: (block * own).sum(axis=0), weights).tolist()
        [13.0, 24.0]
        """
        tiles, n = self._tiles(others), len(self)

        def of_block(edges: slice) -> Any:
            parts = tiles(edges)
            found = _sum(function(*(part(rows) for part in parts)) for rows in bands(n))
            return found if finish is None else finish(edges, *found)

        found = self._in_order(of_block, self.plan.blocks(self.shape[1]))
        return _joined(list(found), axis=-1)

    def total(self, function: Callable[..., Any], *others: Any) -> Any:
        """Return the sum over blocks of what a function returns: an array, or a tuple of them."""
        return self._total(self._rule(function, others))

    def total_by_subject(self, function: Callable[..., Any], *others: Any) -> Any:
        """Return the same of a function that treats every subject by itself, as in `pointwise`.

        It is given bands of subjects; the first axis of what it returns are subjects.
        """
        tiles, n = self._tiles(others), len(self)

        def of_block(edges: slice) -> Any:
            parts = tiles(edges)
            found = [function(*(part(rows) for part in parts)) for rows in bands(n)]
            return _joined(found, axis=0)

        return self._total(of_block)

    def answers(self, function: Callable[..., Any], *others: Any) -> Iterator[Any]:
        """Return what a function says of every block, in order."""
        return self._in_order(self._rule(function, others), self.plan.blocks(self.shape[1]))

    def _rule(
        self, function: Callable[..., Any], others: tuple[Any, ...]
    ) -> Callable[[slice], Any]:
        """Return what gives the answer of a block."""
        tiles = self._tiles(others)
        return lambda edges: function(*(part(_EVERYBODY) for part in tiles(edges)))

    def _tiles(self, others: tuple[Any, ...]) -> Callable[[slice], list[Tile]]:
        """Return what gives the parts of this table and of others that belong to a block."""
        look = self.look  # and not the whole table, which may be sent to workers
        return lambda edges: [look(edges), *(_part(other, edges) for other in others)]

    def _in_order(self, work: Callable[[Any], Any], items: list[Any]) -> Iterator[Any]:
        few = 1 if len(items) == 1 else None
        return in_order(work, items, few, shared=self.plan.shared, several=True)

    def _total(self, work: Callable[[slice], Any]) -> Any:
        added = partial(_sum_of, work)
        quarters = self.plan.quarters(self.shape[1])
        groups = [group for quarter in quarters for group in quarter]
        few = 1 if len(groups) == 1 else None
        find = partial(in_order, n=few, shared=self.plan.shared, singly=True)
        if n_together(shared=self.plan.shared) <= len(quarters):
            return _sum(find(partial(_sum_of, added), quarters))
        found = find(added, groups)
        return _sum(_sum(islice(found, len(quarter))) for quarter in quarters)

    def rows(self, subjects: NDArray[np.intp] | slice) -> "EdgeTable":
        """Return the table of some subjects."""
        n = len(np.arange(self.shape[0])[subjects])
        look = self.look

        def read(edges: slice) -> NDArray[Any]:
            tile = look(edges)
            return tile(subjects) if isinstance(subjects, slice) else tile(_EVERYBODY)[subjects]

        return self.of_blocks((n, self.shape[1]), read, self.plan)

    def array(self) -> NDArray[Any]:
        """Return the table as one array (n, E); for those that fit into memory."""
        return np.hstack(list(self.answers(lambda block: block)))

    def stored(self, dtype: DTypeLike = np.float32) -> "StoredTable":
        """Compute all blocks once and keep them."""
        store = self.plan.store(self.shape, dtype)
        blocks = self.plan.blocks(self.shape[1])
        look, shape = self.look, self.shape

        def keep(job: tuple[int, slice]) -> None:
            number, edges = job
            tile = look(edges)
            block = np.empty((shape[0], edges.stop - edges.start), store.dtype)
            for rows in bands(shape[0]):
                block[rows] = tile(rows)
            store.write(number, block)

        n_bytes = store.dtype.itemsize * self.shape[0] * self.shape[1]
        give_back(n_bytes)
        for _ in self._in_order(keep, [*enumerate(blocks)]):
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
        return cls(
            store.shape, lambda edges: store.read(edges.start // width).__getitem__, plan, store
        )

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


def pointwise_of_kind(values: Kind, function: Callable[..., NDArray[Any]], *others: Any) -> Kind:
    """Apply a function as `EdgeTable.pointwise` does: a table to a table, an array to an array."""
    answer: Any
    if isinstance(values, EdgeTable):
        answer = values.pointwise(function, *others)
    else:
        answer = function(values, *(o.values if isinstance(o, PerSubject) else o for o in others))
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


def _sum_of(function: Callable[[Any], Any], items: list[Any]) -> Any:
    return function(items[0]) if len(items) == 1 else _sum(map(function, items))


def _part(values: Any, edges: slice) -> Tile:
    """Return what gives some subjects of a table, of values of subjects, or of what all share."""
    if isinstance(values, EdgeTable):
        return values.look(edges)
    if isinstance(values, PerSubject):
        return values.values.__getitem__
    own = of_edges(values, edges)
    return lambda rows: own


def of_edges(values: Any, edges: slice) -> Any:
    """Return the part of an array, or of anything `PerEdge`, for a block of edges."""
    return values[..., edges] if isinstance(values, np.ndarray) else values.of_edges(edges)


def _joined(answers: list[Any], axis: int) -> Any:
    """Put arrays, or tuples of them, behind each other."""
    if len(answers) == 1:
        return answers[0]
    if isinstance(answers[0], tuple):
        return tuple(np.concatenate(parts, axis=axis) for parts in zip(*answers, strict=True))
    return np.concatenate(answers, axis=axis)
