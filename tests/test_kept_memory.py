"""Memory that is kept between blocks, and given back afterwards."""

import os
import resource
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from stillome.kept_memory import _library, give_back, kept_memory

pytestmark = pytest.mark.skipif(_library() is None, reason="only the GNU C library can be told")
BLOCK = (100_000, 32)
ARRAY = 4 * 100_000 * 32  # bytes in single precision


def one_block() -> float:
    values = np.full(BLOCK, 2.0, np.float32)
    return float((1 / (1 + values * 3) - values).sum())


def new_pages(n_blocks: int) -> int:
    before = resource.getrusage(resource.RUSAGE_THREAD).ru_minflt
    for _ in range(n_blocks):
        one_block()
    return resource.getrusage(resource.RUSAGE_THREAD).ru_minflt - before


def resident() -> float:
    pages = Path("/proc/self/statm").read_text().split()[1]
    return int(pages) * resource.getpagesize() / 1e6


def test_blocks_use_the_memory_of_the_block_before():
    with kept_memory(ARRAY):
        one_block()
        assert new_pages(10) < 200


def test_memory_is_given_back_at_the_end():
    with kept_memory(ARRAY):
        blocks = [np.ones(BLOCK, np.float32) for _ in range(20)]
        del blocks
        inside = resident()
    assert resident() < inside - 150


def test_it_holds_until_the_outermost_leaves():
    with kept_memory(ARRAY):
        with kept_memory(ARRAY):
            one_block()
        one_block()
        assert new_pages(10) < 200


OF_THREADS = """
import os, threading
from pathlib import Path
import numpy as np
from stillome.kept_memory import give_back

def resident():
    pages = Path("/proc/self/statm").read_text().split()[1]
    return int(pages) * os.sysconf("SC_PAGESIZE") / 1e6

def blocks():
    small = [np.ones(2**17) for _ in range(40)]  # 1 MB each
    del small

give_back(2**23)  # from here on, arrays of this size are not mapped one by one
before = resident()
workers = [threading.Thread(target=blocks) for _ in range(2)]
[worker.start() for worker in workers]
[worker.join() for worker in workers]
freed = resident()
give_back(2**23)
print(freed - before, resident() - before)
"""


def test_threads_give_back_what_they_have_freed():
    # In a process of its own: threads of other tests have left memory that these would use.
    done = subprocess.run(
        [sys.executable, "-c", OF_THREADS], capture_output=True, text=True, check=True
    )
    freed, left = map(float, done.stdout.split())
    assert freed > 30
    assert left < 20


def test_little_memory_is_not_given_back(monkeypatch):
    given = []
    monkeypatch.setattr("stillome.kept_memory._in_threads", given.append)
    give_back(1e6)
    with kept_memory(ARRAY):
        give_back(ARRAY)
    assert given == []
    give_back(ARRAY)
    assert len(given) == 1


def test_a_system_without_threads_keeps_the_memory(monkeypatch):
    start, started = threading.Thread.start, []

    def start_five(thread: threading.Thread) -> None:
        if len(started) == 5:
            raise RuntimeError("can't start new thread")
        started.append(thread)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", start_five)
    give_back(ARRAY)
    assert len(started) == 5
    assert not any(thread.is_alive() for thread in started)


OF_A_WORKER = """
import resource, sys
import numpy as np
from stillome.kept_memory import kept_between_blocks

def new_pages():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(10):
        values = np.ones(2**19, np.float32)  # 2 MB, 512 pages
        values = values * 3 + 1
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

outside = new_pages()
with kept_between_blocks():
    new_pages()
    print(outside, new_pages())
"""


def test_workers_of_dask_use_the_memory_of_the_block_before():
    # With the setting that Dask gives to its workers.
    environment = os.environ | {"MALLOC_TRIM_THRESHOLD_": "65536"}
    done = subprocess.run(
        [sys.executable, "-c", OF_A_WORKER],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
    )
    outside, inside = map(int, done.stdout.split())
    assert inside < 0.1 * outside
