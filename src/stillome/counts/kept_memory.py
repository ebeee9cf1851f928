"""Memory that one block has freed is kept for the next one.

The C library of Linux gives large arrays back to the system as soon as they are freed, and the
system has to clear every page that it hands out again. With many thousands of subjects that takes
a good part of the time of a fit.
"""

import ctypes
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

_TRIM, _MAP = -1, -3  # M_TRIM_THRESHOLD and M_MMAP_THRESHOLD of malloc.h
_SMALL = 2**22
_LARGEST = 2**25  # bytes of an array that is not mapped by itself: the most that glibc allows
_KEPT, _USUAL = 2**29, 2**26  # bytes that stay with the process, inside and afterwards
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


@lru_cache(maxsize=1)
def _library() -> Any:
    """Return the C library of this process, if it is one that can be told."""
    if not sys.platform.startswith("linux"):
        return None
    library = ctypes.CDLL(None)
    return library if hasattr(library, "mallopt") and hasattr(library, "malloc_trim") else None
