"""Several jobs at a time; what they warn of reaches the reader once, in the order of the jobs."""

import warnings
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from joblib import Parallel, delayed

from stillome.exceptions import StillomeWarning
from stillome.pipeline.work import Progress

Answer = TypeVar("Answer")


def run_jobs(
    jobs: Sequence[Callable[[], Answer]], *, n_jobs: int = 1, progress: Progress | None = None
) -> list[Answer]:
    """Run callables, `n_jobs` at a time, and return their answers in order.

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
    runs = Parallel(n_jobs=n_jobs, return_as="generator")(delayed(_heard)(job) for job in jobs)
    for done, (answer, sentences) in enumerate(runs, start=1):
        answers.append(answer)
        said |= dict.fromkeys(sentences)
        if progress is not None:
            progress(done, len(jobs))
    for sentence in said:
        warnings.warn(sentence, StillomeWarning, stacklevel=2)
    return answers


def _heard(job: Callable[[], Any]) -> tuple[Any, list[str]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", StillomeWarning)
        answer = job()
    # Those of libraries were the developers' business; in a worker nobody would see them.
    return answer, [str(w.message) for w in caught if issubclass(w.category, StillomeWarning)]
