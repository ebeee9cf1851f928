"""Leading eigenvectors against those of a full decomposition."""

import numpy as np
import pytest

from stillome.methods.stages.motion_effect.symmetric_spectrum import SymmetricSpectrum


@pytest.mark.parametrize("n", [1, 5, 33, 150])
@pytest.mark.parametrize("rank", [3, 400])
def test_same_as_a_full_decomposition(n: int, rank: int) -> None:
    table = np.random.default_rng(n).standard_normal((n, rank)) * np.linspace(1, 3, rank)
    matrix = table @ table.T
    values, vectors = np.linalg.eigh(matrix)
    spectrum = SymmetricSpectrum.of(matrix)
    np.testing.assert_allclose(spectrum.values, values, atol=1e-9 * values[-1])
    found = spectrum.leading(min(n, 3))
    cosines = (found * vectors[:, ::-1][:, : min(n, 3)]).sum(axis=0)
    np.testing.assert_allclose(np.abs(cosines), 1, atol=1e-8)


def test_none_and_more_than_all_vectors() -> None:
    matrix = np.diag(np.arange(40.0))
    spectrum = SymmetricSpectrum.of(matrix)
    assert spectrum.leading(0).shape == (40, 0)
    found = spectrum.leading(60)
    np.testing.assert_allclose(np.abs(found), np.eye(40)[:, ::-1], atol=1e-12)


def test_a_constant_matrix_has_vectors() -> None:
    found = SymmetricSpectrum.of(np.zeros((50, 50))).leading(4)
    np.testing.assert_allclose(found.T @ found, np.eye(4), atol=1e-12)
