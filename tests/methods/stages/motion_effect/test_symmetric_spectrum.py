"""Eigenvalues and leading eigenvectors against those of a full decomposition."""

import numpy as np
import pytest

from stillome.methods.stages.motion_effect.symmetric_spectrum import SymmetricSpectrum

ROUNDING = 1e-6  # of the largest eigenvalue: in single precision


@pytest.mark.parametrize("n", [1, 5, 33, 150])
@pytest.mark.parametrize("rank", [3, 400])
def test_same_as_a_full_decomposition(n: int, rank: int) -> None:
    table = np.random.default_rng(n).standard_normal((n, rank)) * np.linspace(1, 3, rank)
    matrix = table @ table.T
    values, vectors = np.linalg.eigh(matrix)
    spectrum, off = SymmetricSpectrum.of(matrix), ROUNDING * values[-1]
    for rank_of_one in {0, n // 2, n - 1}:
        assert spectrum.value(rank_of_one) == pytest.approx(values[rank_of_one], abs=off)
    for first in {0, n // 2, n - 1}:
        assert spectrum.median(first) == pytest.approx(np.median(values[first:]), abs=off)
    few = min(n, 3)
    found_values, found = spectrum.leading(few)
    np.testing.assert_allclose(found_values, values[: -few - 1 : -1], atol=off)
    cosines = (found * vectors[:, ::-1][:, :few]).sum(axis=0)
    np.testing.assert_allclose(np.abs(cosines), 1, atol=1e-8)


@pytest.mark.parametrize("n", [20, 60])
def test_weak_factors_keep_their_directions_beside_a_strong_one(n: int) -> None:
    rng = np.random.default_rng(0)
    directions = np.linalg.qr(rng.standard_normal((n, n)))[0]
    values = np.r_[1000, 4, 3, np.linspace(1, 0.5, n - 3)]
    _, found = SymmetricSpectrum.of((directions * values) @ directions.T).leading(3)
    cosines = (found * directions[:, :3]).sum(axis=0)
    np.testing.assert_allclose(np.abs(cosines), 1, atol=1e-6)
    np.testing.assert_allclose(found.T @ found, np.eye(3), atol=1e-12)


@pytest.mark.parametrize("n", [20, 40])
def test_those_above_a_value_are_counted(n: int) -> None:
    spectrum = SymmetricSpectrum.of(np.diag(np.arange(1.0, n + 1)))
    for above, number in ((0.0, n), (n - 3.5, 4), (float(n), 0), (2.0 * n, 0)):
        values, vectors = spectrum.above(above)
        np.testing.assert_allclose(values, np.arange(n, n - number, -1), rtol=1e-6)
        assert vectors.shape == (n, number)


def test_none_and_more_than_all_vectors() -> None:
    spectrum = SymmetricSpectrum.of(np.diag(np.arange(40.0)))
    assert spectrum.leading(0)[1].shape == (40, 0)
    _, found = spectrum.leading(60)
    np.testing.assert_allclose(np.abs(found), np.eye(40)[:, ::-1], atol=1e-6)


def test_a_constant_matrix_has_vectors() -> None:
    values, found = SymmetricSpectrum.of(np.zeros((50, 50))).leading(4)
    np.testing.assert_allclose(values, 0)
    np.testing.assert_allclose(found.T @ found, np.eye(4), atol=1e-12)
