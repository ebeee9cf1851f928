"""Folders that a process is working in, and what processes that were killed left behind.

A folder is locked by the operating system (``flock``), which releases it when the process ends,
however it ends. Where there is no such lock (Windows), nothing is locked and nothing is swept.
"""

import contextlib
import ctypes
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]

PREFIX = ".stillome-"
_OLD = ".old"
_HERE, _EXCHANGE = -100, 2  # AT_FDCWD and RENAME_EXCHANGE of Linux


def lock(folder: Path) -> int | None:
    """Lock a folder for this process; None if another process has locked it.

    Returns
    -------
    int or None
        To be closed with `unlock`; -1 where there are no locks.
    """
    if fcntl is None:
        return -1
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:  # not ours to read; whoever writes into it will say so
        return -1
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        return None
    except OSError:  # a file system without locks
        os.close(handle)
        return -1
    return handle


def unlock(handle: int | None) -> None:
    """Release what `lock` locked."""
    if handle is not None and handle >= 0:
        os.close(handle)


@contextlib.contextmanager
def holder_beside(target: Path) -> Iterator[Path]:
    """Give a hidden folder beside `target`, which is removed in the end; sweep older ones first."""
    sweep(target.parent)
    holder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=target.parent))
    handle = lock(holder)
    try:
        yield holder
    finally:
        shutil.rmtree(holder, ignore_errors=True)
        unlock(handle)


def sweep(folder: Path) -> None:
    """Remove what processes that were killed had written aside; put back what they had moved.

    Folders of processes that are still running are locked, and stay.
    """
    if fcntl is None:
        return
    for stray in folder.glob(f"{PREFIX}*"):
        if stray.is_symlink() or not stray.is_dir():
            continue
        with contextlib.suppress(OSError):
            handle = lock(stray)
            if handle is None or handle < 0:
                continue
            for moved in stray.glob(f"*{_OLD}"):
                target = folder / moved.name.removesuffix(_OLD)
                if not target.exists():
                    moved.rename(target)
            shutil.rmtree(stray, ignore_errors=True)
            unlock(handle)


def swap(aside: Path, target: Path, holder: Path) -> None:
    """Put `aside` in the place of `target`, a file or a folder; what was there is left in `holder`.

    On Linux folders are exchanged in one step. Elsewhere the old one is renamed first, and renamed
    back if the new one cannot be put in its place, at the latest by `sweep`.
    """
    if not target.is_dir():
        aside.replace(target)
        return
    if _exchanged(aside, target):
        return
    old = holder / f"{target.name}{_OLD}"
    target.rename(old)
    try:
        aside.rename(target)
    except OSError:
        old.rename(target)
        raise


def _exchanged(one: Path, other: Path) -> bool:
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None) if fcntl else None
    if rename is None:
        return False
    answer = rename(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE)
    return bool(answer == 0)
