"""Blocks as tasks of Dask, with answers in the order of the blocks.

A task is a path and a few blocks (slices). The function stands in a file that every worker reads
once; it holds paths of tables, never their values. Dask decides where a task runs, and runs it
again if its worker dies; a task that runs twice writes the same bytes twice.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from stillome.cluster.shared_files import SharedFile, no_room, not_seen
from stillome.exceptions import ClusterError, StillomeError
from stillome.threads import one_thread

Item = TypeVar("Item")
Answer = TypeVar("Answer")

MOST_BLOCKS = 16  # of a task: Dask takes about a millisecond for one
_ROUNDS = 4  # tasks of a pass for every thread of the cluster, or some would wait for the last
_WAITING = 2  # tasks that are submitted at a time, for every thread


def tasks_in_order(
    client: Any, function: Callable[[Item], Answer], items: Iterable[Item]
) -> Iterator[Answer]:
    """Apply a function to items on a cluster, and give the answers in order.

    Parameters
    ----------
    client : distributed.Client
    function : callable
        Sent once to every worker.
    items : iterable
        Small.

    Raises
    ------
    ClusterError
        If Dask gave up: the scheduler is gone, or one task killed several workers.
    """
    work = list(items)
    n_threads = max(sum(client.nthreads().values()), 1)
    size = min(max(len(work) // (_ROUNDS * n_threads), 1), MOST_BLOCKS)
    sent = _in_a_file(function)
    left = iter(work)
    waiting: deque[Any] = deque()
    try:
        while some := list(islice(left, size)):
            waiting.append(client.submit(_answers, str(sent.path), some, pure=False))
            if len(waiting) > _WAITING * n_threads:
                yield from _answered(waiting.popleft())
        while waiting:
            yield from _answered(waiting.popleft())
    finally:
        if waiting and client.status == "running":
            client.cancel(list(waiting))


def _in_a_file(function: Callable[..., Any]) -> SharedFile:
    import cloudpickle  # comes with Dask

    sent = SharedFile()
    try:
        with sent.path.open("wb") as stream:
            cloudpickle.dump(function, stream)
    except OSError as error:
        raise no_room(sent.path.parent.parent, error) from error
    return sent


def _answers(path: str, items: list[Any]) -> list[Any]:
    """Return what the function in a file says of some blocks; this runs on a worker."""
    function = _function(path)
    with one_thread():
        return [function(item) for item in items]


@lru_cache(maxsize=2)
def _function(path: str) -> Callable[[Any], Any]:
    import cloudpickle

    try:
        with Path(path).open("rb") as stream:
            function: Callable[[Any], Any] = cloudpickle.load(stream)
    except OSError as error:
        raise not_seen(Path(path), error) from error
    return function


def _answered(future: Any) -> list[Any]:
    from distributed import CancelledError, KilledWorker
    from distributed.comm import CommClosedError

    try:
        answers: list[Any] = future.result()
    except StillomeError:
        raise
    except KilledWorker as error:
        raise ClusterError(
            "The workers of the cluster died again and again over the same blocks. Give each of "
            "them more memory, or use smaller blocks (memory=...)."
        ) from error
    except (CancelledError, CommClosedError) as error:
        raise ClusterError(
            "The connection to the scheduler of the cluster is lost. Start the cluster again, "
            "then run the same again."
        ) from error
    except ModuleNotFoundError as error:
        raise ClusterError(
            f"The workers of the cluster lack a package ({error}). Start them in the environment "
            "in which stillome is called."
        ) from error
    return answers
