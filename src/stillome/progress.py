"""How a longer computation reports how far it is."""

from collections.abc import Callable

# Called with (parts done, parts in all).
Progress = Callable[[int, int], None]


def say_nothing(done: int, total: int) -> None:
    """Report no progress."""
