"""Factors of individual differences, where some edges have nobody's fibres."""

import numpy as np
import pytest

from stillome.methods.inv_fa.encoder import fit_encoder
from stillome.methods.stages.motion_effect.basis import MotionFunctions
from stillome.methods.stages.motion_effect.edge_design import EdgeDesign
from stillome.methods.stages.motion_effect.individual_differences import IndividualDifferences

N, V, N_EMPTY = 5000, 12, 30
E = V * (V - 1) // 2


@pytest.fixture(scope="module")
def residuals() -> np.ndarray:
    """Return residuals (n, E) with two factors, those of the first edges the same in everybody.

    In single precision, a sum of so many copies of a number is off by more than rounding errors.
    """
    rng = np.random.default_rng(0)
    table = rng.standard_normal((N, 2)) @ rng.choice([-1.0, 1.0], (2, E))
    table += rng.standard_normal((N, E))
    table[:, :N_EMPTY] = -np.exp(rng.uniform(-12, 0, N_EMPTY))
    return table.astype(np.float32)


def test_edges_that_are_the_same_in_everybody_have_no_loadings(residuals):
    found = IndividualDifferences.find(residuals)
    assert found.loadings.shape[1] == 2
    assert not found.loadings[:N_EMPTY].any() and found.loadings[N_EMPTY:].all()


def test_the_encoder_does_not_read_them(residuals):
    motion = np.random.default_rng(1).standard_normal((N, 1))
    functions = MotionFunctions.given((motion - motion.mean()) / motion.std(), None)
    design = EdgeDesign.from_edges(np.zeros(E), None, V)
    encoder = fit_encoder(residuals, functions, design, 4)
    assert not encoder.weights[:N_EMPTY].any() and (encoder.scale[:N_EMPTY] == 1).all()
    assert (encoder.posterior_sd < 1).sum() == 2
