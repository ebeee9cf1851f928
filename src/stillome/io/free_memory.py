"""One guard for all readers: nothing is loaded that does not fit into the memory that is free."""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from stillome.counts.available_memory import free_bytes
from stillome.exceptions import FileError

_TIMES = 3  # reading takes at most this many times the memory of what it answers with
_WORTH_ASKING = 2**24  # bytes; less is there on any machine
_allowed: ContextVar[float] = ContextVar("allowed", default=math.inf)


class TooLargeError(FileError):
    """Reading would take more memory than is free, or than is allowed to look at a file.

    Attributes
    ----------
    n_bytes : int
        What it would take.
    """

    def __init__(self, message: str, n_bytes: int) -> None:
        super().__init__(message)
        self.n_bytes = n_bytes


@contextmanager
def memory_limited_to(n_bytes: float) -> Iterator[None]:
    """Refuse whatever takes more than this many bytes, where a file is looked at only.

    Examples
    --------
    >>> with memory_limited_to(1000):
    ...     check_fits(2000, "stack.h5")
    Traceback (most recent call last):
    ...
    stillome.io.free_memory.TooLargeError: stack.h5: takes 0.0 GiB of memory to read. ...
    """
    token = _allowed.set(n_bytes)
    try:
        yield
    finally:
        _allowed.reset(token)


def check_fits(n_bytes: int, label: str) -> None:
    """Refuse to load what does not fit into the memory that is free, whatever a file claims.

    Raises
    ------
    TooLargeError

    Examples
    --------
    >>> check_fits(2**60, "stack.h5")
    Traceback (most recent call last):
    ...
    stillome.io.free_memory.TooLargeError: stack.h5: needs 1,073,741,824 GiB of memory, more than is
    free. Use a machine with more memory, or check the file: its header may be wrong.
    """
    size = n_bytes / 2**30
    if n_bytes > _allowed.get():
        raise TooLargeError(
            f"{label}: takes {size:,.1f} GiB of memory to read. Check whether it is what you "
            "expect before you use it.",
            n_bytes,
        )
    if n_bytes > _WORTH_ASKING and n_bytes > free_bytes():
        raise TooLargeError(
            f"{label}: needs {size:,.0f} GiB of memory, more than is free. Use a machine with more "
            "memory, or check the file: its header may be wrong.",
            n_bytes,
        )


def check_array(shape: Sequence[int], label: str, *, itemsize: int = 8) -> None:
    """Refuse arrays of numbers whose reading does not fit into the memory that is free.

    Raises
    ------
    TooLargeError
    """
    check_fits(_TIMES * itemsize * math.prod(int(length) for length in shape), label)
