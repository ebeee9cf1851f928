"""What the verbs share: sentences, tables, colours and progress bars."""

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

import typer
from tqdm import tqdm

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
        self._bar, self._begun = bar, 0

    def __call__(self, name: str) -> None:
        self._show(self._begun)
        self._bar.set_description(name)
        self._begun += 1

    def progress(self, done: int, total: int) -> None:
        self._show(self._begun - 1 + done / max(total, 1))

    def say(self, what: str) -> None:
        self._bar.set_description(what)

    def _show(self, n: float) -> None:
        self._bar.update(n - self._bar.n)


@contextmanager
def steps(total: int, *, quiet: bool = False) -> Iterator[StepDisplay]:
    """Show a progress bar over a known number of steps, on a terminal only.

    Parameters
    ----------
    total : int
        How many times the step will be called.
    quiet : bool, default=False
        Whether nothing is shown at all.
    """
    hidden = quiet or not sys.stderr.isatty()
    with tqdm(
        total=total, disable=hidden, leave=False, bar_format="{l_bar}{bar}| {elapsed}"
    ) as bar:
        yield _Bar(bar)
