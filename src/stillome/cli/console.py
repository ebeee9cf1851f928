"""What the verbs share: sentences, tables, colours and progress bars."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

import pandas as pd
import typer
from tqdm import tqdm


class Step(Protocol):
    """What a verb calls when it begins something that takes a while."""

    def __call__(self, name: str) -> None:
        """Name what begins now."""


def complain(sentence: str) -> None:
    """Write one sentence to standard error."""
    print(sentence, file=sys.stderr)


def heading(text: str) -> str:
    """Return a heading, bold on a terminal unless NO_COLOR is set."""
    plain = not sys.stdout.isatty() or "NO_COLOR" in os.environ or os.environ.get("TERM") == "dumb"
    return text if plain else typer.style(text, bold=True)


def table(values: pd.DataFrame) -> str:
    """Return a table as aligned text, indented by two blanks.

    Examples
    --------
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


@contextmanager
def steps(total: int, *, quiet: bool = False) -> Iterator[Step]:
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
        begun = False

        def step(name: str) -> None:
            nonlocal begun
            bar.update(int(begun))
            bar.set_description(name)
            begun = True

        yield step
