"""Memory that one block has freed is kept for the next one.

The C library of Linux gives large arrays back to the system as soon as they are freed, and the
system has to clear every page that it hands out again. With many thousands of subjects that takes
a good part of the time of a fit.
"""

import ctypes
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache, partial
from typing import Any

_TRIM, _MAP = -1, -3  # M_TRIM_THRESHOLD and M_MMAP_THRESHOLD of malloc.h
_SMALL = 2**22
_OF_BLOCKS = 2**23  # bytes of the largest arrays of blocks that need no `kept_memory`
_LARGEST = 2**25  # bytes of an array that is not mapped by itself: the most that glibc allows
_KEPT, _USUAL = 2**29, 2**26  # bytes that stay with the process, inside and afterwards
_PIECE = 2**17  # bytes; what is smaller is kept by the thread
# Of workers (at most 4) and of those that had not quite ended when the next ones began.
_N_ARENAS = 8
_changing = threading.Lock()
_inside: list[Any] = []


@contextmanager
def kept_memory(n_bytes: float) -> Iterator[None]:
    """Keep about 512 MB of freed memory inside, and give it back at the end.

    Arrays of this many bytes come and go inside. Smaller ones than 4 MB are reused anyway, and
    nothing is changed for them. It holds for the whole process, until the last one that is inside
    leaves. Arrays of up to 32 MB are not mapped one by one afterwards, either; the library gets
    there by itself when such arrays are freed. Does nothing without the GNU C library.

    Examples
    --------
    >>> with kept_memory(4 * 100_000 * 32):
    ...     pass
    """
    library = _library()
    if library is None or n_bytes < _SMALL:
        yield
        return
    with _changing:
        _inside.append(library)
        library.mallopt(_MAP, _LARGEST)
        library.mallopt(_TRIM, _KEPT)
    try:
        yield
    finally:
        with _changing:
            _inside.pop()
            if not _inside:
                library.mallopt(_TRIM, _USUAL)
                library.malloc_trim(0)


@contextmanager
def kept_between_blocks() -> Iterator[None]:
    """Keep freed memory while a worker of a cluster computes the blocks of a task.

    Dask has its workers give all memory back at once, so that clearing pages would take them
    longer than computing. About 64 MB stay with a worker afterwards.

    Examples
    --------
    >>> with kept_between_blocks():
    ...     pass
    """
    library = _library()
    if library is None or _inside:  # a fit in this process keeps more, and longer
        yield
        return
    library.mallopt(_MAP, _LARGEST)
    library.mallopt(_TRIM, _KEPT)
    try:
        yield
    finally:
        if not _inside:
            library.mallopt(_TRIM, _USUAL)


def give_back(n_bytes: float) -> None:
    """Give memory that threads have freed back to the system, before or after something large.

    Every thread frees into a place of its own (an arena), which others cannot use, and which the
    next thread of a pool takes over. So threads that are started for it give it back. It takes
    about a millisecond. Does nothing for less than 4 MB, inside `kept_memory` of large arrays, nor
    without the GNU C library.

    Examples
    --------
    >>> give_back(4 * 1000 * 19_900)
    """
    library = _library()
    if library is None or n_bytes < _SMALL or not _changing.acquire(blocking=False):
        return
    try:
        if not _inside:
            # With a threshold of its own, the library no longer finds the other one by itself.
            library.mallopt(_MAP, _OF_BLOCKS)
            library.mallopt(_TRIM, 0)
            _in_threads(partial(_free_some, library))
            library.malloc_trim(0)
    finally:
        if not _inside:
            library.mallopt(_TRIM, _USUAL)
        _changing.release()


def _in_threads(function: Callable[[], None]) -> None:
    """Run a function in as many threads as have an arena of their own, all at the same time."""
    together = threading.Barrier(_N_ARENAS)

    def run() -> None:
        function()
        with suppress(threading.BrokenBarrierError):
            together.wait()

    started = []
    try:
        for _ in range(_N_ARENAS):
            thread = threading.Thread(target=run, daemon=True)
            thread.start()
            started.append(thread)
    except RuntimeError:  # the system allows no more threads; memory then stays where it is
        together.abort()
    for thread in started:
        thread.join()


def _free_some(library: Any) -> None:
    """Free a piece: with a threshold of 0, all memory behind it goes to the system."""
    library.free(library.malloc(_PIECE))


@lru_cache(maxsize=1)
def _library() -> Any:
    """Return the C library of this process, if it is one that can be told."""
    if not sys.platform.startswith("linux"):
        return None
    library = ctypes.CDLL(None)
    library.malloc.restype, library.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
    library.free.restype, library.free.argtypes = None, [ctypes.c_void_p]
    return library if hasattr(library, "mallopt") and hasattr(library, "malloc_trim") else None
