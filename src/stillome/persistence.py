"""Write aside, then rename: nothing a user made is overwritten or half-written."""

import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from stillome.exceptions import FileError


@contextlib.contextmanager
def written_aside(path: str | os.PathLike[str], *, overwrite: bool = False) -> Iterator[Path]:
    """Give a temporary path beside `path`; rename it to `path` when the block succeeds.

    What is written to the temporary path may be a file or a folder. When the block raises, or the
    process dies, `path` is as it was before.

    Parameters
    ----------
    path : path-like
        Where the result should stand in the end.
    overwrite : bool, default=False
        Whether something that already stands there may be replaced.

    Yields
    ------
    pathlib.Path
        A path in the same folder that does not exist yet.

    Raises
    ------
    FileError
        If `path` exists and `overwrite` is false, or the folder cannot be written to.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> with written_aside(f"{folder}/answer.txt") as aside:
    ...     _ = aside.write_text("42")
    >>> Path(folder, "answer.txt").read_text()
    '42'
    """
    target = Path(path)
    if target.exists() and not overwrite:
        raise FileError(f"{target} exists already. Choose another name or allow overwriting.")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        holder = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    except OSError as error:
        raise FileError(
            f"{target.parent}: cannot be written to ({error.strerror or error}). "
            "Choose a folder you may write to."
        ) from error
    try:
        aside = holder / target.name
        yield aside
        if target.exists():
            # A folder cannot be renamed over another one: the old one steps aside first.
            target.rename(holder / f"{target.name}.old")
        aside.rename(target)
    except OSError as error:
        raise FileError(f"{target}: could not be written ({error.strerror or error}).") from error
    finally:
        shutil.rmtree(holder, ignore_errors=True)


def write_json(path: str | os.PathLike[str], content: dict[str, Any]) -> None:
    """Write `content` as indented JSON with a final newline."""
    Path(path).write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", "utf-8")


def read_json(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read a JSON object.

    Raises
    ------
    FileError
        If the file is missing, unreadable, or holds something other than an object.
    """
    try:
        content = json.loads(Path(path).read_text("utf-8"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise FileError(f"{path}: cannot be read as JSON ({error}).") from error
    if not isinstance(content, dict):
        raise FileError(f"{path}: holds a {type(content).__name__}, expected a JSON object.")
    return content
