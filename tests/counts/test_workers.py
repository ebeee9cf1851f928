"""Blocks on threads: answers in order, and no more of the data than workers need."""

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


def test_an_error_of_a_block_comes_out_and_no_thread_is_left():
    def fail_at_three(block: int) -> int:
        if block == 3:
            raise ValueError("block 3")
        return block

    before = threading.active_count()
    with working(2), pytest.raises(ValueError, match="block 3"):
        list(in_order(fail_at_three, range(20)))
    assert threading.active_count() == before
