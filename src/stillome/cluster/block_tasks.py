"""Blocks as tasks of Dask, with answers in the order of the blocks.

A task is a path and a few blocks (slices). The function stands in a file that every worker reads
once; it holds paths of tables, never their values. Dask decides where a task runs, and runs it
again if its worker dies; a task that runs twice writes the same bytes twice.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from copy import copy
from functools import lru_cache
from importlib.metadata import version
from itertools import chain, islice
from pathlib import Path
from typing import Any, TypeVar

from stillome.cluster.shared_files import SharedFile, no_room, not_seen
from stillome.exceptions import ClusterError, StillomeError
from stillome.kept_memory import kept_between_blocks
from stillome.threads import one_thread

_VERSION = version("stillome")
Item = TypeVar("Item")
Answer = TypeVar("Answer")

MOST_BLOCKS = 16  # of a task: Dask needs some milliseconds for each
_ROUNDS = 3  # tasks of a pass for every thread of the cluster, or some would wait for the last
_SUBMITTED = 4  # tasks at a time, for every thread
_FETCHED = 4  # tasks whose answers are fetched at a time, and are in memory here


def tasks_in_order(
    client: Any,
    function: Callable[[Item], Answer],
    items: Iterable[Item],
    most: int = MOST_BLOCKS,
) -> Iterator[Answer]:
    """Apply a function to items on a cluster, and give the answers in order.

    Parameters
    ----------
    client : distributed.Client
    function : callable
        Sent once to every worker.
    items : iterable
        Small.
    most : int, default=16
        Items of a task; 1 where answers are large.

    Raises
    ------
    ClusterError
        If Dask gave up: the scheduler is gone, or one task killed several workers.
    """
    with _in_a_sentence(client):
        yield from _in_windows(client, function, list(items), most)


def _in_windows(
    client: Any, function: Callable[[Item], Answer], items: list[Item], most: int
) -> Iterator[Answer]:
    """Submit tasks, and more whenever the answers of the oldest were fetched."""
    n_threads = max(sum(client.nthreads().values()), 1)
    size = min(max(len(items) // (_ROUNDS * n_threads), 1), most)
    tasks = iter([items[start : start + size] for start in range(0, len(items), size)])
    window = _SUBMITTED * n_threads
    sent = _in_a_file(function)
    waiting: deque[Any] = deque()
    try:
        while True:
            if len(waiting) <= window / 2:
                more = list(islice(tasks, window - len(waiting)))
                waiting += client.map(_answers, [str(sent.path)] * len(more), more, pure=False)
            if not waiting:
                return
            first = [waiting.popleft() for _ in range(min(_FETCHED, len(waiting)))]
            yield from _fetched(client, first)
    finally:
        if waiting and client.status == "running":
            client.cancel(list(waiting))


def _in_a_file(function: Callable[..., Any]) -> SharedFile:
    import cloudpickle  # comes with Dask

    sent = SharedFile()
    try:
        with sent.path.open("wb") as stream:
            cloudpickle.dump(_VERSION, stream)
            cloudpickle.dump(function, stream)
    except OSError as error:
        raise no_room(sent.path.parent.parent, error) from error
    return sent


def _answers(path: str, items: list[Any]) -> list[Any]:
    """Return what the function in a file says of some blocks; this runs on a worker."""
    function = _function(path)
    with one_thread(), kept_between_blocks():
        return [function(item) for item in items]


@lru_cache(maxsize=2)
def _function(path: str) -> Callable[[Any], Any]:
    import cloudpickle

    try:
        with Path(path).open("rb") as stream:
            sent = cloudpickle.load(stream)
            if sent != _VERSION:
                raise _other_environment(f"it has {_VERSION}, and {sent} is called")
            function: Callable[[Any], Any] = cloudpickle.load(stream)
    except OSError as error:
        raise not_seen(Path(path), error) from error
    return function


def _fetched(client: Any, futures: list[Any]) -> Iterator[Any]:
    """Give the answers of some tasks, one block after the other."""
    try:
        answers: list[list[Any]] = client.gather(futures)
    except StillomeError as error:  # the first that came; told is the first in order, as on threads
        told = next((one for one in map(_error_of, futures) if one is not None), error)
        # Dask keeps what it raised as long as there is a client. With its traceback it would keep
        # the tables of all callers.
        error.__traceback__ = None
        raise copy(told).with_traceback(None) from None
    return chain.from_iterable(answers)


def _error_of(future: Any) -> StillomeError | None:
    error = future.exception()
    return error if isinstance(error, StillomeError) else None


@contextmanager
def _in_a_sentence(client: Any) -> Iterator[None]:
    """Say what Dask raises where it gives up; errors of a block come as they were raised."""
    from distributed import CancelledError, KilledWorker

    try:
        yield
    except StillomeError:
        raise
    except KilledWorker as error:
        raise ClusterError(
            "The workers of the cluster died again and again over the same blocks. Give each of "
            "them more memory, or use smaller blocks (memory=...)."
        ) from error
    except Exception as error:  # of Dask, or of a block
        if isinstance(error, CancelledError) or client.status != "running":
            raise ClusterError(
                "The connection to the scheduler of the cluster is lost. Start the cluster again, "
                "then run the same again."
            ) from error
        if isinstance(error, ImportError) or "deserializ" in str(error):
            raise _other_environment(f"{error.__cause__ or error}") from error
        raise


def _other_environment(why: str) -> ClusterError:
    return ClusterError(
        f"The cluster does not run this stillome ({why}). Start its scheduler and its workers in "
        "the environment in which stillome is called."
    )
