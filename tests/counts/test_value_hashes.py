"""Hashes by which subjects and edges are told apart."""

import numpy as np
from numpy.testing import assert_array_equal

from stillome.counts.value_hashes import hashes_of_columns, hashes_of_sets


def test_small_counts_in_all_places_are_told_apart():
    rng = np.random.default_rng(0)
    table = np.unique(rng.integers(0, 3, (30, 20_000)), axis=1).astype(np.float64)
    assert len(np.unique(hashes_of_columns(table))) == table.shape[1]
    sets = np.unique(np.sort(rng.integers(0, 8, (20_000, 30)), axis=1), axis=0).astype(np.float64)
    assert len(np.unique(hashes_of_sets(sets))) == len(sets)


def test_types_of_whole_numbers_do_not_matter():
    counts = np.random.default_rng(1).integers(0, 200, (40, 30))
    for dtype in (np.uint8, np.float32, np.float64):
        assert_array_equal(hashes_of_columns(counts.astype(dtype)), hashes_of_columns(counts))
        assert_array_equal(hashes_of_sets(counts.astype(dtype)), hashes_of_sets(counts))


def test_order_of_values_matters_for_columns_only():
    values = np.random.default_rng(2).lognormal(0, 1, (50, 40))
    turn = np.random.default_rng(3).permutation(40)
    assert_array_equal(hashes_of_sets(values[:, turn]), hashes_of_sets(values))
    assert_array_equal(hashes_of_columns(values[:, turn]), hashes_of_columns(values)[turn])
    assert (hashes_of_columns(values[::-1]) != hashes_of_columns(values)).all()


def test_negative_zero_is_zero():
    zeros = np.array([[0.0, -0.0]])
    first, second = hashes_of_columns(zeros)
    assert first == second
