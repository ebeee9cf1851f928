"""Blocks as tasks of Dask, with answers in the order of the blocks.

A task is a path and a few blocks (slices). The function stands in a file that every worker reads
once; it holds paths of tables, never their values. Answers come back in files, too: through the
connections of Dask they would be copied several times, by the one thread in which its scheduler
runs. Dask decides where a task runs, and runs it again if its worker dies; a task that runs twice
writes the same bytes twice.
"""

import pickle
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from copy import copy
from functools import lru_cache
from importlib.metadata import version
from itertools import count, islice
from pathlib import Path
from typing import Any, TypeVar

from stillome.cluster.shared_files import SharedFile, not_seen, written
from stillome.exceptions import ClusterError, StillomeError
from stillome.kept_memory import kept_between_blocks
from stillome.threads import one_thread

_VERSION = version("stillome")
Item = TypeVar("Item")
Answer = TypeVar("Answer")

MOST_BLOCKS = 16  # of a task: Dask needs some milliseconds for each
_ROUNDS = 2  # tasks of a pass for every thread of the cluster, or some would wait for the last
_MOMENT = 0.05  # seconds after which Dask forgets a task
_SUBMITTED = 4  # tasks at a time, for every thread


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


def n_threads(client: Any) -> int:
    """Return how many threads all workers of a cluster have together, at least 1."""
    return max(sum(client.nthreads().values()), 1)


def _in_windows(
    client: Any, function: Callable[[Item], Answer], items: list[Item], most: int
) -> Iterator[Answer]:
    """Submit tasks, and more whenever half of those before have answered."""
    together = n_threads(client)
    size = min(max(len(items) // (_ROUNDS * together), 1), most)
    tasks = iter([items[start : start + size] for start in range(0, len(items), size)])
    window = _SUBMITTED * together
    sent = _in_a_file(function)
    paths = (f"{sent.path}.{number}" for number in count())
    waiting: deque[Any] = deque()
    fetched: list[Any] = []
    try:
        while True:
            if len(waiting) <= window / 2:
                _forget_later(client, fetched)
                fetched = []
                more = list(islice(tasks, window - len(waiting)))
                places = list(islice(paths, len(more)))
                sources = [str(sent.path)] * len(more)
                # Held here only, so that it is this function that lets go of them.
                waiting += zip(
                    client.map(_answers, sources, more, places, pure=False), places, strict=True
                )
            if not waiting:
                return
            fetched.append(waiting.popleft())
            yield from _fetched(*fetched[-1])
    finally:
        _forget_later(client, fetched)
        if waiting and client.status == "running":
            client.cancel([future for future, _ in waiting])


def _forget_later(client: Any, fetched: list[Any]) -> None:
    """Let Dask forget tasks a moment later.

    After a message of the client, such as that it needs a task no more, the next one waits for
    10 ms: the tasks of the next pass would.
    """
    if fetched and client.status == "running":
        client.loop.add_callback(client.loop.call_later, _MOMENT, fetched.clear)


def _in_a_file(function: Callable[..., Any]) -> SharedFile:
    import cloudpickle  # comes with Dask

    sent = SharedFile()
    with written(sent.path) as stream:
        cloudpickle.dump(_VERSION, stream)
        cloudpickle.dump(function, stream)
    return sent


def _answers(path: str, items: list[Any], place: str) -> None:
    """Write what the function in a file says of some blocks; this runs on a worker."""
    function = _function(path)
    with one_thread(), kept_between_blocks():
        answers = [function(item) for item in items]
        with written(Path(place)) as stream:
            pickle.dump(answers, stream, pickle.HIGHEST_PROTOCOL)


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


def _fetched(future: Any, place: str) -> list[Any]:
    """Return the answers of a task, one for every block."""
    try:
        future.result()
    except StillomeError as error:
        # Dask keeps what it raised as long as there is a client. With its traceback it would keep
        # the tables of all callers.
        error.__traceback__ = None
        raise copy(error).with_traceback(None) from None
    path = Path(place)
    try:
        with path.open("rb") as stream:
            answers: list[Any] = pickle.load(stream)  # noqa: S301 - of our workers
        path.unlink()
    except OSError as error:
        raise not_seen(path, error) from error
    return answers


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
