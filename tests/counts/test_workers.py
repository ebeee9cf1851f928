"""Blocks on threads: answers in order, and no more of the data than workers need."""

import os
import subprocess
import sys
import threading

import pytest

from stillome.counts.workers import in_order, working


@pytest.mark.parametrize("number", [1, 2, 4])
def test_items_are_taken_as_workers_are_free(number):
    taken = []

    def parts():
        for part in range(50):
            taken.append(part)
            yield part

    with working(number):
        for done, answer in enumerate(in_order(lambda part: 2 * part, parts())):
            assert answer == 2 * done
            assert len(taken) <= done + number + 1
    assert taken == list(range(50))


@pytest.mark.parametrize("number", [1, 2, 4])
def test_small_answers_come_in_order_from_tasks_of_several_items(number):
    done = []

    def square(item: int) -> int:
        done.append(item)
        return item**2

    with working(number):
        for position, answer in enumerate(in_order(square, range(99), several=True)):
            assert answer == position**2
            assert len(done) <= position + 4 * (number + 2)
    assert sorted(done) == list(range(99))


def test_an_error_of_a_block_comes_out_and_no_thread_is_left():
    def fail_at_three(block: int) -> int:
        if block == 3:
            raise ValueError("block 3")
        return block

    before = threading.active_count()
    with working(2), pytest.raises(ValueError, match="block 3"):
        list(in_order(fail_at_three, range(20)))
    assert threading.active_count() == before


@pytest.mark.parametrize(("asked", "expected"), [("1", 1), ("", 4), ("none", 4)])
def test_the_environment_at_the_start_can_ask_for_fewer_workers(asked, expected):
    # A LocalCluster of Dask sets the variable later; it means its workers.
    script = """if True:
        import os
        from stillome.counts.workers import _n_processors, n_workers
        os.environ["OMP_NUM_THREADS"] = "1"
        print(n_workers(), _n_processors())
    """
    told = subprocess.run(
        [sys.executable, "-c", script],
        env=os.environ | {"OMP_NUM_THREADS": asked},
        capture_output=True,
        text=True,
        check=True,
    )
    n_workers, n_processors = map(int, told.stdout.split())
    assert n_workers == min(expected, n_processors)
