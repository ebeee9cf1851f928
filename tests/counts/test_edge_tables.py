"""Tables in blocks of edges: the same answers for any width, anywhere, by any number of workers."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from stillome.counts.edge_tables import BlockPlan, EdgeTable
from stillome.counts.workers import in_order, n_workers, working

COUNTS = np.random.default_rng(0).poisson(5, (9, 23)).astype(np.float32)


@pytest.fixture(params=[(1, False), (4, True), (23, False), (40, True)])
def table(request) -> EdgeTable:
    plan = BlockPlan(*request.param)
    return EdgeTable(COUNTS.shape, lambda edges: COUNTS[:, edges], plan)


def test_blocks_put_together_are_the_table(table):
    assert_array_equal(table.array(), COUNTS)
    assert_array_equal(table.each(lambda block: block.sum(axis=0)), COUNTS.sum(axis=0))
    rows, total = table.total(lambda block: (block.sum(axis=1), block.sum()))
    assert_array_equal(rows, COUNTS.sum(axis=1))
    assert total == COUNTS.sum()


def test_other_tables_and_arrays_come_along_edge_by_edge(table):
    doubled = table.then(lambda block: 2 * block)
    weights = np.arange(23.0)
    found = doubled.then(lambda block, first, weight: block - first * weight, table, weights)
    assert_array_equal(found.array(), 2 * COUNTS - COUNTS * weights)


def test_stored_blocks_are_kept_and_read_by_subject(table):
    calls = []
    counted = table.then(lambda block: calls.append(1) or block + 1)
    stored = counted.stored(np.float32)
    n_calls = len(calls)
    assert_array_equal(stored.array(), COUNTS + 1)
    assert_array_equal(stored.subjects(slice(2, 5)), COUNTS[2:5] + 1)
    assert_array_equal(stored.rows(np.array([3, 0])).array(), COUNTS[[3, 0]] + 1)
    assert len(calls) == n_calls


def test_subjects_are_written_a_few_at_a_time_and_put_into_order(table):
    store = table.plan.store(COUNTS.shape, np.uint8)
    for start in range(0, 9, 4):
        store.write_rows(start, COUNTS[start : start + 4])
    order = np.random.default_rng(1).permutation(9)
    store.reorder(order)
    assert_array_equal(store.read_rows(slice(0, 9)), COUNTS[order])


def test_little_memory_means_narrow_blocks_in_a_file():
    shape = (1000, 20_000)
    plenty, little = BlockPlan.of(shape, 1e10), BlockPlan.of(shape, 1e7)
    assert not plenty.on_disk and little.on_disk
    assert little.width < plenty.width == BlockPlan.of(shape).width


def test_answers_come_in_order_and_errors_come_through():
    with working(3):
        assert list(in_order(lambda number: number**2, range(20))) == [n**2 for n in range(20)]
        with pytest.raises(ZeroDivisionError):
            list(in_order(lambda number: 1 / number, [1, 0, 2]))
        assert list(in_order(lambda _: n_workers(), [0])) == [1]  # a block of a block


def test_the_environment_can_ask_for_fewer_workers(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert n_workers() == 1


def test_a_table_without_edges_has_answers_without_edges():
    table = EdgeTable.of(np.zeros((5, 0)))
    assert table.each(lambda block: block.sum(axis=0)).shape == (0,)
    assert table.total(lambda block: block.sum(axis=1)).tolist() == [0] * 5
