"""Several jobs at a time; each of their warnings is shown once, in the order of the jobs."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from joblib import Parallel, delayed, parallel_config

from stillome.cluster.engine import jobs_on_cluster
from stillome.exceptions import InputError, StillomeWarning
from stillome.progress import Progress, say_nothing
from stillome.threads import one_thread

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Workers:
    """How many jobs a step may run at a time, and to whom it reports its progress.

    Attributes
    ----------
    n_jobs : int
        See `joblib.Parallel`.
    progress : callable
        Called with (jobs done, jobs in all).

    Raises
    ------
    InputError
        If joblib would not take `n_jobs`.
    """

    n_jobs: int = 1
    progress: Progress = say_nothing

    def __post_init__(self) -> None:
        if isinstance(self.n_jobs, bool) or not isinstance(self.n_jobs, int) or self.n_jobs == 0:
            raise InputError(f"n_jobs={self.n_jobs!r}; expected a whole number other than 0.")

    def run(self, jobs: Sequence[Callable[[], Answer]]) -> list[Answer]:
        """Run callables as `run_jobs` does, and report the progress."""
        return run_jobs(jobs, n_jobs=self.n_jobs, progress=self.progress)


def run_jobs(
    jobs: Sequence[Callable[[], Answer]], *, n_jobs: int = 1, progress: Progress | None = None
) -> list[Answer]:
    """Run callables, `n_jobs` at a time, and return their answers in order.

    Where a Dask client is active, its workers run them, as many at a time as they have threads.

    Parameters
    ----------
    jobs : sequence of callables
        Without arguments; use `functools.partial`.
    n_jobs : int, default=1
        See `joblib.Parallel`.
    progress : callable, optional
        Called with (jobs done, jobs in all).

    Examples
    --------
    >>> from functools import partial
    >>> run_jobs([partial(pow, 2, 3), partial(pow, 2, 4)])
    [8, 16]
    """
    answers: list[Answer] = []
    said: dict[str, None] = {}
    with one_thread_each(n_jobs), jobs_on_cluster():
        runs = Parallel(n_jobs=n_jobs, return_as="generator")(
            delayed(_with_warnings)(job) for job in jobs
        )
        for done, (answer, sentences) in enumerate(runs, start=1):
            answers.append(answer)
            said |= dict.fromkeys(sentences)
            if progress is not None:
                progress(done, len(jobs))
    for sentence in said:
        warnings.warn(sentence, StillomeWarning, stacklevel=2)
    return answers


@contextmanager
def one_thread_each(n_jobs: int = 1) -> Iterator[None]:
    """Let matrix products use one thread, here and in workers; see `one_thread`.

    Parameters
    ----------
    n_jobs : int, default=1
        How many workers are started inside.
    """
    with ExitStack() as stack:
        stack.enter_context(one_thread())
        if n_jobs != 1:
            # Only where workers are started: it would also turn the threads of trees into workers.
            stack.enter_context(parallel_config("loky", inner_max_num_threads=1))
        yield


def _with_warnings(job: Callable[[], Any]) -> tuple[Any, list[str]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", StillomeWarning)
        with one_thread():  # workers of a cluster may have more
            answer = job()
    # Warnings of libraries are for developers; in a worker they would be lost.
    return answer, [str(w.message) for w in caught if issubclass(w.category, StillomeWarning)]
