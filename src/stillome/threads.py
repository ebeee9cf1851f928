"""How many threads the libraries of linear algebra use: one where ours run, or where they wait."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from threadpoolctl import threadpool_limits

_limited: ContextVar[bool] = ContextVar("limited", default=False)


@contextmanager
def one_thread() -> Iterator[None]:
    """Let matrix products use one thread, so that sums have the same bits on every machine.

    With several threads, the order of summation depends on the number of cores. The matrices of a
    fit are also too small for threads to help, and on busy machines threads that wait for each
    other take many times as long. Used with ``with``, or as a decorator.

    Examples
    --------
    >>> with one_thread():
    ...     pass
    """
    if _limited.get():  # finding the libraries again would take longer than a small fit
        yield
        return
    with threadpool_limits(1):
        before = _limited.set(True)
        try:
            yield
        finally:
            _limited.reset(before)
