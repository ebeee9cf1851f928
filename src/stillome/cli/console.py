"""What the verbs share: sentences, tables, colours and progress bars."""

import logging
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

import typer
from tqdm import tqdm

from stillome.progress import telling_blocks

if TYPE_CHECKING:
    import pandas as pd


class Stopped(Exception):  # noqa: N818
    """Ctrl-C, with a sentence that says how to continue."""


class StepDisplay(Protocol):
    """What a verb calls when it begins something that takes a while."""

    def __call__(self, name: str) -> None:
        """Name what begins now."""

    def progress(self, done: int, total: int) -> None:
        """Say how many parts of it are done, of how many."""

    def say(self, what: str) -> None:
        """Name what is done now, within the same step."""


def printable(text: str) -> str:
    r"""Return text from a file without codes that would change colours or titles of a terminal.

    Examples
    --------
    >>> print(printable("insula\x1b[31m left"))
    insula\x1b[31m left
    """
    return "".join(
        mark if mark.isprintable() or mark == "\n" else repr(mark)[1:-1] for mark in text
    )


def complain(sentence: str) -> None:
    """Write one sentence to standard error, past any progress bar."""
    tqdm.write(printable(sentence), file=sys.stderr)


def log_to_stderr(asked: bool) -> bool:
    """Show what the library logs, if asked to."""
    if asked:
        logger = logging.getLogger("stillome")
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(logging.Formatter("%(asctime)s %(name)s: %(message)s", "%H:%M:%S"))
        logger.handlers = [handler]
        logger.setLevel(logging.INFO)
    return asked


def heading(text: str) -> str:
    """Return a heading, bold on a terminal unless NO_COLOR is set."""
    plain = (
        not sys.stdout.isatty()
        or bool(os.environ.get("NO_COLOR"))
        or os.environ.get("TERM") == "dumb"
    )
    return text if plain else typer.style(text, bold=True)


def table(values: "pd.DataFrame") -> str:
    """Return a table as aligned text, indented by two blanks.

    Examples
    --------
    >>> import pandas as pd
    >>> print(table(pd.DataFrame({"region": ["insula", "cuneus"], "fibres": ["3", "12"]})))
      region  fibres
      insula       3
      cuneus      12
    """
    text = values.astype(str)
    widths = [max(len(name), *text[name].map(len)) for name in text.columns]
    left = [not text[name].str.fullmatch(r"[-+−±\d.,%/ ]+|n/a").all() for name in text.columns]

    def line(cells: list[str]) -> str:
        padded = [
            cell.ljust(width) if is_left else cell.rjust(width)
            for cell, width, is_left in zip(cells, widths, left, strict=True)
        ]
        return "  " + "  ".join(padded).rstrip()

    return "\n".join([line(list(text.columns)), *(line(list(row)) for row in text.to_numpy())])


class _Bar:
    """A bar over steps, in which the parts of a step count as fractions of it."""

    def __init__(self, bar: Any) -> None:
        self._bar, self._begun, self._named, self._parts, self._passes = bar, 0, "", "", 0

    def __call__(self, name: str) -> None:
        self._show(self._begun)
        self.say(name)
        self._begun += 1

    def progress(self, done: int, total: int) -> None:
        self._parts, self._passes = f"{done} of {total}" if done < total else "", 0
        self._describe(self._parts)
        self._show(self._begun - 1 + done / max(total, 1))

    def say(self, what: str) -> None:
        self._named, self._parts, self._passes = what, "", 0
        self._bar.set_description(what)

    def blocks(self, done: int, total: int) -> None:
        """Say which block of which pass over the data is done; how many passes is not known."""
        if total > 1:
            self._passes += done == 1
            parts = f"{self._parts}; " if self._parts else ""
            self._describe(f"{parts}pass {self._passes}, block {done} of {total}")
            self._bar.update(0)  # draws at most ten times a second

    def _describe(self, where: str) -> None:
        what = f"{self._named} ({where})" if where else self._named
        self._bar.set_description(what, refresh=False)

    def _show(self, n: float) -> None:
        self._bar.update(n - self._bar.n)


@contextmanager
def steps(total: int, *, quiet: bool = False) -> Iterator[StepDisplay]:
    """Show a progress bar over a known number of steps, on a terminal only.

    It names the block of a fit that is done. Its clock shows that work goes on where nothing else
    does, such as in fits by other processes.

    Parameters
    ----------
    total : int
        How many times the step will be called.
    quiet : bool, default=False
        Whether nothing is shown at all.
    """
    hidden = quiet or not sys.stderr.isatty()
    form = "{l_bar}{bar}| {elapsed}"
    with tqdm(total=total, disable=hidden, leave=False, bar_format=form, miniters=0) as line:
        bar = _Bar(line)
        if hidden:
            yield bar
            return
        with telling_blocks(bar.blocks), _ticking(line):
            yield bar


@contextmanager
def _ticking(line: Any) -> Iterator[None]:
    """Draw a bar again every second."""
    ended = threading.Event()

    def tick() -> None:
        while not ended.wait(1.0):
            line.refresh()

    clock = threading.Thread(target=tick, daemon=True)
    clock.start()
    try:
        yield
    finally:
        ended.set()
        clock.join()
