"""Temporary files that the workers of a cluster open by their path."""

import contextlib
import os
import shutil
import tempfile
import weakref
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import IO

from stillome.exceptions import FileError
from stillome.locks import PREFIX, lock, sweep, unlock


class SharedFile:
    """A path in a folder of its own, in ``TMPDIR``, which all workers must see.

    The process that made it removes it when nothing refers to it any more. A copy of it in another
    process knows the path and removes nothing. What processes that were killed left behind is
    removed by the next one.

    Examples
    --------
    >>> file = SharedFile()
    >>> _ = file.path.write_text("counts")
    >>> folder = file.path.parent
    >>> del file
    >>> folder.exists()
    False
    """

    def __init__(self) -> None:
        place = Path(tempfile.gettempdir())
        try:
            _sweep_once(place)
            folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=place)).resolve()
        except OSError as error:
            raise no_room(place, error) from error
        self.path = folder / "blocks"
        weakref.finalize(self, _remove, folder, lock(folder), os.getpid())

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return _elsewhere, (str(self.path),)


@contextlib.contextmanager
def written(path: Path) -> Iterator[IO[bytes]]:
    """Write a file beside others of a `SharedFile`; it is there when it is whole.

    So two that write the same at the same time do not disturb who reads it.

    Examples
    --------
    >>> file = SharedFile()
    >>> with written(file.path) as stream:
    ...     _ = stream.write(b"counts")
    >>> file.path.read_bytes()
    b'counts'
    """
    try:
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as stream:
            yield stream
        Path(stream.name).replace(path)
    except OSError as error:
        raise no_room(path.parent.parent, error) from error


def no_room(place: Path, error: OSError) -> FileError:
    """Return the error for a temporary folder that cannot be written to."""
    return FileError(
        f"{place}: cannot be written to ({error.strerror or error}), and a fit keeps its tables "
        "there. Make room there, or set TMPDIR to a larger disk."
    )


def not_seen(path: Path, error: OSError) -> FileError:
    """Return the error for a temporary file that a worker cannot open."""
    return FileError(
        f"{path}: cannot be opened by a worker of the cluster ({error.strerror or error}). Set "
        "TMPDIR to a folder that all workers see."
    )


def _elsewhere(path: str) -> SharedFile:
    copy = object.__new__(SharedFile)
    copy.path = Path(path)
    return copy


def _remove(folder: Path, handle: int | None, process: int) -> None:
    if os.getpid() == process:  # not in a fork of it
        # A task that was given up may still be writing: under another name, nothing is added.
        gone = folder.with_name(f"{folder.name}-gone")
        with contextlib.suppress(OSError):
            folder = folder.rename(gone)
        shutil.rmtree(folder, ignore_errors=True)
        unlock(handle)


@cache
def _sweep_once(place: Path) -> None:
    with contextlib.suppress(OSError):
        sweep(place)
