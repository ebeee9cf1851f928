"""One guard for all readers: nothing is loaded that does not fit into the memory that is free."""

from pathlib import Path

from stillome.exceptions import FileError


def check_fits(n_bytes: int, label: str) -> None:
    """Refuse to load what does not fit into the memory that is free, whatever a file claims.

    Raises
    ------
    FileError

    Examples
    --------
    >>> check_fits(2**60, "stack.h5")
    Traceback (most recent call last):
    ...
    stillome.exceptions.FileError: stack.h5: needs 1,073,741,824 GiB of memory, more than is free.
    Use a machine with more memory, or check the file: its header may be wrong.
    """
    if n_bytes > _free_bytes():
        raise FileError(
            f"{label}: needs {n_bytes / 2**30:,.0f} GiB of memory, more than is free. Use a "
            "machine with more memory, or check the file: its header may be wrong."
        )


def _free_bytes() -> float:
    try:
        with Path("/proc/meminfo").open(encoding="ascii") as stream:
            lines = dict(line.split(":", 1) for line in stream)
        return 1024.0 * int(lines["MemAvailable"].split()[0])
    except (OSError, KeyError, ValueError):  # not Linux: reading fails when memory is at its end
        return float("inf")
