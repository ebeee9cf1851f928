"""Start a process that Ctrl-C reaches, also where the test run itself was started with it ignored.

A shell that puts a command into the background, as some continuous integration does, lets it and
its children ignore SIGINT; Python then installs no handler.
"""

import signal
import subprocess
from typing import Any


def start(*command: str, **options: Any) -> subprocess.Popen:
    """Start `command` with SIGINT as a terminal would deliver it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return subprocess.Popen(command, **options)
    finally:
        signal.signal(signal.SIGINT, before)
