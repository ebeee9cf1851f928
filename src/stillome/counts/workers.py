"""Blocks of a computation on threads or on a cluster, with answers in the order of the blocks."""

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sized
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import islice
from typing import TypeVar

from stillome.cluster.block_tasks import MOST_BLOCKS, n_threads, tasks_in_order
from stillome.cluster.engine import active_client
from stillome.progress import told_blocks

Item = TypeVar("Item")
Answer = TypeVar("Answer")

MOST_WORKERS = 4
_ROUNDS = 4  # tasks of a pass for every thread, at least, or some would wait for the last
_MOST_ITEMS = 4  # of a task, whose answers wait together
# As it is when this is imported: a LocalCluster of Dask sets it for its workers, but in the process
# that starts it, and leaves it there.
_ASKED = os.environ.get("OMP_NUM_THREADS", "")
_here = threading.local()  # whether this thread is one of ours
_chosen: list[int] = []


def n_workers() -> int:
    """Return how many blocks are computed at a time.

    As many as there are processors, at most 4; fewer where ``OMP_NUM_THREADS`` says so, which
    schedulers of clusters and tools that start several processes set.
    """
    if getattr(_here, "busy", False):
        return 1  # a block of a block
    if _chosen:
        return _chosen[-1]
    allowed = int(_ASKED) if _ASKED.isdigit() and int(_ASKED) > 0 else MOST_WORKERS
    return max(1, min(_n_processors(), allowed, MOST_WORKERS))


def _n_processors() -> int:
    """Return how many processors this process may use; of all where the system cannot say."""
    if hasattr(os, "sched_getaffinity"):  # not on macOS
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def on_a_cluster() -> bool:
    """Whether blocks are computed by the workers of a Dask client."""
    return not getattr(_here, "busy", False) and active_client() is not None


def n_together(*, shared: bool) -> int:
    """Return how many blocks are computed at a time, by a cluster if it may (see `in_order`)."""
    return n_threads(active_client()) if shared and on_a_cluster() else n_workers()


@contextmanager
def working(number: int) -> Iterator[None]:
    """Compute this many blocks at a time inside; answers have the same bits for any number."""
    _chosen.append(number)
    try:
        yield
    finally:
        _chosen.pop()


def in_order(
    function: Callable[[Item], Answer],
    items: Iterable[Item],
    n: int | None = None,
    *,
    shared: bool = False,
    singly: bool = False,
    several: bool = False,
) -> Iterator[Answer]:
    """Apply a function to items, several at a time, and give the answers in order.

    Only a few answers wait at any time, so that large ones can be added up as they come.

    Parameters
    ----------
    function : callable
    items : iterable
        Taken one after the other as workers are free, so that they may be parts of large data.
    n : int, optional
        How many at a time; `n_workers` without.
    shared : bool, default=False
        Whether the function changes nothing here and holds no large array, so that the workers of
        a cluster can do it where a Dask client is active.
    singly : bool, default=False
        Whether every item is a task of its own there, as its answer is large.
    several : bool, default=False
        Whether a thread may take several items at a time, as answers are small.

    Examples
    --------
    >>> list(in_order(abs, [-2, 1, -3]))
    [2, 1, 3]
    """
    number = n_workers() if n is None else n
    answers: Iterable[Answer]
    if shared and n is None and on_a_cluster():
        most = 1 if singly else MOST_BLOCKS
        answers = tasks_in_order(active_client(), function, items, most)
    elif number == 1:
        answers = map(function, items)
    else:
        answers = _on_threads(function, _tasks(items, number, several), number)
    yield from told_blocks(answers, len(items)) if isinstance(items, Sized) else answers


def _tasks(items: Iterable[Item], number: int, several: bool) -> Iterator[list[Item]]:
    """Give items a few at a time, where it is known how many there are.

    Threads of Python stop each other when one begins or ends, so that fewer and longer tasks take
    less time.
    """
    n_items = len(items) if several and isinstance(items, Sized) else 0
    size = min(max(n_items // (_ROUNDS * number), 1), _MOST_ITEMS)
    rest = iter(items)
    while task := list(islice(rest, size)):
        yield task


def _on_threads(
    function: Callable[[Item], Answer], tasks: Iterable[list[Item]], number: int
) -> Iterator[Answer]:
    def work(task: list[Item]) -> list[Answer]:
        return [function(item) for item in task]

    # The functions spend their time in compiled loops, which leave other threads free.
    with ThreadPoolExecutor(number, initializer=_mark) as pool:
        waiting: deque[Future[list[Answer]]] = deque()
        try:
            for task in tasks:
                waiting.append(pool.submit(work, task))
                if len(waiting) > number:
                    yield from waiting.popleft().result()
            while waiting:
                yield from waiting.popleft().result()
        finally:
            for left in waiting:
                left.cancel()


def _mark() -> None:
    _here.busy = True
