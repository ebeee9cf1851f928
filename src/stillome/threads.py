"""How many threads the libraries of linear algebra use: one where ours run, or where they wait."""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import Any

from threadpoolctl import ThreadpoolController

_limited: ContextVar[bool] = ContextVar("limited", default=False)
_changing = threading.Lock()
_inside: list[Any] = []  # what the first of the threads that are inside has limited, for each one


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
    _enter()
    before = _limited.set(True)
    try:
        yield
    finally:
        _limited.reset(before)
        _leave()


def _enter() -> None:
    # The limit holds for the whole process: the last thread that leaves takes it off.
    with _changing:
        _inside.append(_inside[0] if _inside else _libraries(len(sys.modules)).limit(limits=1))


@lru_cache(maxsize=1)
def _libraries(n_modules: int) -> ThreadpoolController:
    """Find the libraries; again only if modules were imported since, which can load others."""
    return ThreadpoolController()


def _leave() -> None:
    with _changing:
        limits = _inside.pop()
        if not _inside:
            limits.restore_original_limits()
