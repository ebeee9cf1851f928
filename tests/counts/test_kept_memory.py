"""Memory that is kept between blocks, and given back afterwards."""

import resource
import threading
from pathlib import Path

import numpy as np
import pytest

from stillome.counts.kept_memory import _library, give_back, kept_memory

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


def block_in_a_thread() -> None:
    small = [np.ones(2**17) for _ in range(40)]  # 1 MB each
    del small


def test_threads_give_back_what_they_have_freed():
    give_back(ARRAY)  # from here on, arrays of this size are not mapped one by one
    before = resident()
    workers = [threading.Thread(target=block_in_a_thread) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert resident() > before + 30
    give_back(ARRAY)
    assert resident() < before + 20


def test_little_memory_is_not_given_back(monkeypatch):
    monkeypatch.setattr("stillome.counts.kept_memory._in_threads", None)
    give_back(1e6)
    with kept_memory(ARRAY):
        give_back(ARRAY)
