"""Tables in blocks of edges: the same answers for any width, anywhere, by any number of workers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from stillome.counts.block_plan import BlockPlan, bands
from stillome.counts.column_sums import column_sums
from stillome.counts.edge_tables import EdgeTable, PerSubject
from stillome.counts.workers import in_order, n_workers, working

COUNTS = np.random.default_rng(0).poisson(5, (9, 23)).astype(np.float32)


@pytest.fixture(params=[(1, False), (4, True), (23, False), (40, True)])
def table(request) -> EdgeTable:
    plan = BlockPlan(*request.param)
    return EdgeTable.of_blocks(COUNTS.shape, lambda edges: COUNTS[:, edges], plan)


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


def test_a_table_without_edges_has_answers_without_edges():
    table = EdgeTable.of(np.zeros((5, 0)))
    assert table.each(lambda block: block.sum(axis=0)).shape == (0,)
    assert table.total(lambda block: block.sum(axis=1)).tolist() == [0] * 5


@given(n=st.integers(1, 100_000))
def test_bands_have_every_subject_once(n):
    found = bands(n)
    assert [band.start for band in found] == [0, *(band.stop for band in found[:-1])]
    assert found[-1].stop == n


@given(n_blocks=st.integers(1, 20_000))
def test_groups_have_every_block_once_and_are_about_as_large(n_blocks):
    groups = BlockPlan(1).groups(n_blocks)
    assert [block.start for group in groups for block in group] == list(range(n_blocks))
    sizes = [len(group) for group in groups]
    assert max(sizes) - min(sizes) <= 1
    assert len(groups) % 4 == 0 or n_blocks < 4
    assert len(groups) <= n_blocks**0.5 + 4


@pytest.mark.parametrize("n_edges", [1, 3, 6, 70])
def test_sums_have_the_same_bits_for_many_workers(monkeypatch, n_edges):
    values = np.random.default_rng(n_edges).standard_normal((50, n_edges))
    table = EdgeTable.of_blocks(values.shape, lambda edges: values[:, edges], BlockPlan(1))
    found = []
    for number in (1, 100):
        monkeypatch.setattr("stillome.counts.edge_tables.n_together", lambda shared, n=number: n)
        found.append(table.total(lambda block: block.sum(axis=1)))
    assert_array_equal(*found)
    np.testing.assert_allclose(found[0], values.sum(axis=1), atol=1e-12)


@pytest.mark.parametrize("width", [7, 40])
def test_sums_by_bands_are_those_of_everybody_at_once(width):
    counts = np.random.default_rng(0).poisson(2, (50_000, 7)).astype(np.float32)
    table = EdgeTable.of_blocks(counts.shape, lambda edges: counts[:, edges], BlockPlan(width))
    ages = PerSubject(np.linspace(0, 1, 50_000, dtype=np.float32)[:, None])
    assert len(bands(50_000)) > 1

    doubled = table.pointwise(lambda block, age: 2 * block * age, ages)
    assert_array_equal(doubled.array(), 2 * counts * ages.values)
    assert_array_equal(doubled.stored().array(), doubled.array())

    def each(block, age):
        return column_sums(block), column_sums(block * age)

    found = {}
    for number in (1, 3):
        with working(number):
            found[number] = table.sums(each, ages)
    assert_array_equal(found[1][1], found[3][1])  # the same bits for any number of workers
    whole = counts.astype(np.float64)
    assert_array_equal(found[1][0], whole.sum(axis=0))
    assert_allclose(found[1][1], (whole * ages.values).sum(axis=0), rtol=1e-5)

    def halved(edges, totals, products):
        return totals / 2, products

    assert_array_equal(table.sums(each, ages, finish=halved)[0], whole.sum(axis=0) / 2)

    def of_subjects(block, age):
        return block.sum(axis=1), (block * age).sum(axis=1)

    totals, products = table.total_by_subject(of_subjects, ages)
    assert_array_equal(totals, counts.sum(axis=1))
    assert_allclose(products, (whole * ages.values).sum(axis=1), rtol=1e-5)
