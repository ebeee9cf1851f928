"""How much memory is free."""

from pathlib import Path


def free_bytes() -> float:
    """Return how many bytes of memory are free; infinitely many where nobody can say."""
    try:
        with Path("/proc/meminfo").open(encoding="ascii") as stream:
            lines = dict(line.split(":", 1) for line in stream)
        return 1024.0 * int(lines["MemAvailable"].split()[0])
    except (OSError, KeyError, ValueError):  # not Linux: reading fails when memory is at its end
        return float("inf")
