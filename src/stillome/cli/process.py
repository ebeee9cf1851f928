"""What surrounds the process: signals that end it, and an output that can no longer be written."""

import io
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from stillome.cli.console import complain


class Output(io.TextIOBase):
    """Standard output that may be closed, or on a full disk: the work goes on without it."""

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write as far as this is possible; a reader who has had enough is no matter."""
        try:
            if self._stream is not None:
                self._stream.write(text)
        except BrokenPipeError:
            raise
        except OSError as error:
            complain(f"The output cannot be written ({error.strerror}); the work goes on.")
            self._stream = None
        return len(text)

    def flush(self) -> None:
        """Write what is waiting."""
        try:
            if self._stream is not None:
                self._stream.flush()
        except BrokenPipeError:
            raise
        except (OSError, ValueError):
            self._stream = None

    def isatty(self) -> bool:
        """Whether the output is a terminal."""
        return self._stream is not None and self._stream.isatty()

    def fileno(self) -> int:
        """Return the number of the file; that of the null device without an output."""
        return os.open(os.devnull, os.O_WRONLY) if self._stream is None else self._stream.fileno()

    @property
    def encoding(self) -> Any:  # type: ignore[override]
        """The encoding of the output."""
        return getattr(self._stream, "encoding", "utf-8")


@contextmanager
def stopped_by_signals() -> Iterator[None]:
    """Let SIGTERM and SIGHUP end the work as Ctrl-C does: workers end, and how to continue is said.

    Where the process was told to ignore one of them (``nohup``), it still does.
    """

    def stop(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    before = {}
    if threading.current_thread() is threading.main_thread():
        for name in ("SIGTERM", "SIGHUP"):
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) is signal.SIG_DFL:
                before[number] = signal.signal(number, stop)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
