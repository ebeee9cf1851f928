"""Eigenvectors over blocks of edges: exact on either side, and the randomised ones beside them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from stillome.counts.block_plan import BlockPlan
from stillome.counts.edge_tables import EdgeTable
from stillome.methods.stages.motion_effect import spectrum
from stillome.methods.stages.motion_effect.gram_matrices import (
    gram_of_edges,
    gram_of_subjects,
    leading_eigenvectors,
)
from stillome.methods.stages.motion_effect.spectrum import leading_factors


def blocked(values: np.ndarray, width: int = 7) -> EdgeTable:
    return EdgeTable.of_blocks(values.shape, lambda edges: values[:, edges], BlockPlan(width))


def with_factors(n: int, n_edges: int, n_factors: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    sizes = np.linspace(2.0, 0.6, n_factors)
    signal = (rng.standard_normal((n, n_factors)) * sizes) @ rng.standard_normal(
        (n_factors, n_edges)
    )
    table = signal + rng.standard_normal((n, n_edges))
    return table - table.mean(axis=0)


def test_products_of_blocks_are_those_of_the_whole_table(monkeypatch):
    monkeypatch.setattr(
        "stillome.methods.stages.motion_effect.gram_matrices._SLAB_ELEMENTS", 20 * 30
    )
    values = with_factors(30, 50, 2)
    values[:, 11] = 0
    for found, expected in (
        (gram_of_subjects(blocked(values)), values @ values.T),
        (gram_of_edges(blocked(values)), values.T @ values),
    ):
        assert_allclose(found[0], expected, atol=1e-9)
        assert found[1].tolist() == [edge != 11 for edge in range(50)]
    gram, varies = gram_of_edges(blocked(values), 12)[2]
    assert_allclose(gram, values[:12] @ values[:12].T, atol=1e-9)
    assert varies.tolist() == [edge != 11 for edge in range(50)]


@pytest.mark.parametrize("shape", [(300, 500), (500, 300)])
@pytest.mark.parametrize("seed", [0, 1])
def test_randomised_eigenvectors_of_factors_are_the_exact_ones(shape, seed):
    table = with_factors(*shape, 6, seed)
    values, vectors = leading_eigenvectors(blocked(table, 40), 6)
    exact, exact_vectors = np.linalg.eigh(table @ table.T)
    assert_allclose(values, exact[:-7:-1], rtol=1e-10)
    cosines = np.abs((vectors * exact_vectors[:, :-7:-1]).sum(axis=0))
    assert_allclose(cosines, 1, atol=1e-9)


@pytest.mark.parametrize("seed", [0, 1])
def test_factors_just_above_the_noise_are_found_as_well(seed):
    rng = np.random.default_rng(seed)
    n, n_edges, n_factors = 1200, 1600, 30
    # In units of the weakest factor that differs from noise at all.
    strengths = np.geomspace(10, 1.25, n_factors) * np.sqrt(n_edges / n)
    people = np.linalg.qr(rng.standard_normal((n, n_factors)))[0]
    edges = np.linalg.qr(rng.standard_normal((n_edges, n_factors)))[0]
    table = (people * np.sqrt(n * strengths)) @ edges.T + rng.standard_normal((n, n_edges))
    values, vectors = leading_eigenvectors(blocked(table, 400), 60)
    exact, exact_vectors = np.linalg.eigh(table @ table.T)
    assert_allclose(values[:n_factors], exact[: -n_factors - 1 : -1], rtol=1e-3)
    found = (vectors[:, :n_factors].T @ exact_vectors[:, -n_factors:]) ** 2
    assert found.sum(axis=0).min() > 0.98  # 1 where all of a factor is in the span


def test_a_table_of_few_factors_and_no_noise_has_these_alone():
    rng = np.random.default_rng(0)
    table = rng.standard_normal((400, 3)) @ rng.standard_normal((3, 600))
    values, vectors = leading_eigenvectors(blocked(table, 100), 10)
    assert_allclose(values[:3], np.linalg.eigvalsh(table @ table.T)[:-4:-1], rtol=1e-10)
    assert_allclose(values[3:], 0, atol=1e-8 * values[0])
    assert_allclose(vectors.T @ vectors, np.eye(10), atol=1e-9)


@pytest.mark.parametrize("most", [2000, 100], ids=["with all products", "with passes only"])
@pytest.mark.parametrize("shape", [(700, 900), (900, 700)])
def test_a_larger_table_has_the_same_factors_and_noise_as_by_the_exact_way(
    monkeypatch, shape, most
):
    table = with_factors(*shape, 8)
    table[:, 5] = 0  # an edge that nobody has
    exact = leading_factors(table, None)
    monkeypatch.setattr(spectrum, "_EXACT", 100)
    monkeypatch.setattr(spectrum, "_PRODUCT", most)
    monkeypatch.setattr(spectrum, "_SUBJECTS", 400)
    monkeypatch.setattr(spectrum, "_FIRST", 4)  # fewer than there are: more are looked for
    found = leading_factors(blocked(table, 64), None)
    assert found.n_signal == exact.n_signal == 8
    assert found.n_columns == exact.n_columns == shape[1] - 1
    assert found.noise == pytest.approx(exact.noise, rel=0.02)
    # The exact way decomposes products in single precision.
    assert_allclose(found.variances, exact.variances, rtol=1e-6)
    assert_allclose(found.scores, exact.scores, atol=1e-5)


@pytest.mark.parametrize("shape", [(700, 900), (900, 700)])
@pytest.mark.parametrize("n_varying", [60, 300, 600])
def test_edges_that_nobody_has_are_no_noise(monkeypatch, shape, n_varying):
    table = with_factors(*shape, 3)
    table[:, n_varying:] = 0
    exact = leading_factors(table, None)
    monkeypatch.setattr(spectrum, "_EXACT", 100)
    monkeypatch.setattr(spectrum, "_SUBJECTS", 400)
    found = leading_factors(blocked(table, 64), None)
    assert found.n_signal == exact.n_signal == 3
    assert found.noise == pytest.approx(exact.noise, rel=0.1)
