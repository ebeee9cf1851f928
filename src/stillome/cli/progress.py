"""A bar for work that counts itself: so many parts done of so many."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tqdm import tqdm


@contextmanager
def counted(name: str, *, quiet: bool = False) -> Iterator[Callable[[int, int], None]]:
    """Show how far something has come, on a terminal only.

    Parameters
    ----------
    name : str
        What is being done.
    quiet : bool, default=False
        Whether nothing is shown at all.

    Yields
    ------
    callable
        To be called with (parts done, parts in all).
    """
    hidden = quiet or not sys.stderr.isatty()
    with tqdm(desc=name, total=1, disable=hidden, leave=False) as bar:

        def progress(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        yield progress
