"""How a longer computation reports how far it is."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

Answer = TypeVar("Answer")

# Called with (parts done, parts in all).
Progress = Callable[[int, int], None]

_listeners: list[Progress] = []  # the last one is told
_passes: list[int] = []  # that are being told: one, or none


def say_nothing(done: int, total: int) -> None:
    """Report no progress."""


@contextmanager
def telling_blocks(listener: Progress) -> Iterator[None]:
    """Tell a listener of the blocks of every pass over data inside; see `told_blocks`.

    Examples
    --------
    >>> with telling_blocks(lambda done, total: print(f"{done} of {total}")):
    ...     squares = [value**2 for value in told_blocks([3, 4], 2)]
    1 of 2
    2 of 2
    """
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


def told_blocks(answers: Iterable[Answer], total: int) -> Iterator[Answer]:
    """Give the answers of a pass over blocks as they come, and tell the listener of each.

    A pass inside another one, such as the blocks of a block, is not told.

    Parameters
    ----------
    answers : iterable
        One for each block.
    total : int
        How many there will be.
    """
    if not _listeners or _passes:
        yield from answers
        return
    _passes.append(total)
    try:
        for done, answer in enumerate(answers, start=1):
            if _listeners:
                _listeners[-1](done, total)
            yield answer
    finally:
        _passes.clear()
