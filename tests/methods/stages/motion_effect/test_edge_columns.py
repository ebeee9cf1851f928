"""Columns of regions that are not made: the products are those of the array they stand for."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from stillome.cohort.edges import edge_indices
from stillome.methods.stages.motion_effect.edge_columns import DenseColumns, EdgeColumns
from stillome.methods.stages.motion_effect.shared_errors import SharedErrors

V, E = 9, 36


def made(V):
    rng, E = np.random.default_rng(0), V * (V - 1) // 2
    features, others = rng.standard_normal((E, 3)), rng.standard_normal((E, 4))
    first, second = edge_indices(V)
    regions = np.zeros((E, V))
    regions[np.arange(E), first] = regions[np.arange(E), second] = 1
    dense = np.hstack([features, regions, others])
    return EdgeColumns(np.hstack([features, others]), 3, first, second, V), dense, rng


@pytest.fixture
def both():
    return made(V)


def test_products_are_the_same_where_edges_are_taken_in_pieces():
    columns, dense, rng = made(100)
    weights = rng.uniform(1, 2, len(dense))
    assert_allclose(columns.gram(weights), dense.T @ (weights[:, None] * dense), atol=1e-9)
    assert_allclose(columns.back(weights), dense.T @ weights, atol=1e-9)
    matrix, share, own = rng.standard_normal((107, 107)), *rng.uniform(0, 1, (2, 107))
    rows = dense * (share - weights[:, None])
    expected = ((rows @ matrix) * rows).sum(axis=1) + dense**2 @ own
    assert_allclose(columns.squares(matrix, share, weights, own), expected, atol=1e-9)


def test_products_are_those_of_the_array(both):
    columns, dense, rng = both
    weights, values = rng.uniform(1, 2, E), rng.standard_normal((E, 2))
    coefficients = rng.standard_normal(16)
    for design in (columns, DenseColumns(dense)):
        assert design.n_columns == 16
        assert_allclose(design.gram(weights), dense.T @ (weights[:, None] * dense), atol=1e-12)
        assert_allclose(design.dot(coefficients), dense @ coefficients, atol=1e-12)
        several = rng.standard_normal((16, 3))
        assert_allclose(design.dot(several), dense @ several, atol=1e-12)
        assert_allclose(design.back(values), dense.T @ values, atol=1e-12)
        assert_allclose(design.back(values[:, 0]), dense.T @ values[:, 0], atol=1e-12)
    matrix = rng.standard_normal((16, 16))
    found = columns.squares(matrix, np.ones(16), np.zeros(E), np.zeros(16))
    assert_allclose(found, np.diag(dense @ matrix @ dense.T), atol=1e-12)


def test_errors_that_edges_share_have_the_covariance_of_their_parts(both):
    columns, dense, rng = both
    root = rng.standard_normal((16, 5))
    covariance = root @ root.T
    share, kept = rng.uniform(0, 1, 16), rng.uniform(0, 1, E)
    unknown = np.where(np.arange(16) < 3, 0.5, 0.0)
    errors = SharedErrors(columns, share, kept, covariance, unknown)
    table = dense * share - kept[:, None] * dense
    expected = table @ covariance @ table.T + dense @ np.diag(unknown) @ dense.T
    assert_allclose(errors.variances(), np.diag(expected), atol=1e-9)
    # Eight directions are all there are; the others of the sixteen are 0.
    directions = errors.directions()
    assert directions.shape == (16, E)
    assert_allclose(directions.T @ directions, expected, atol=1e-9)


def test_in_single_precision_products_are_the_same_but_for_rounding():
    double, _, rng = made(100)
    single = replace(double, dense=double.dense.astype(np.float32))
    double = replace(double, dense=single.dense.astype(np.float64))
    weights, kept = rng.uniform(1, 2, (2, len(double.first)))
    expected = double.gram(weights)
    assert_allclose(single.gram(weights, exact=True), expected, atol=1e-9)
    sizes = np.sqrt(np.outer(np.diag(expected), np.diag(expected)))
    assert np.abs(single.gram(weights) - expected).max() > 0
    assert_allclose(single.gram(weights) / sizes, expected / sizes, atol=1e-6)
    # Features and regions can go together exactly: their products always are in double.
    assert_allclose(single.gram(weights)[:103, :103], expected[:103, :103], atol=1e-9)
    root, share, own = rng.standard_normal((107, 107)), *rng.uniform(0, 1, (2, 107))
    assert_allclose(single.dot(share), double.dot(share), atol=1e-5)
    assert_allclose(single.back(weights), double.back(weights), rtol=1e-5, atol=1e-3)
    found, usual = (each.squares(root @ root.T, share, kept, own) for each in (single, double))
    assert_allclose(found, usual, rtol=1e-4)
