"""Steps of variances: far ones arrive at once, and none goes back and forth."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from stillome.methods.stages.convergence import Iterations
from stillome.methods.stages.motion_effect.variance_components import fit_mixed_model
from stillome.methods.stages.motion_effect.variance_steps import Derivatives, next_step

E, Q, NONE = 400, 30, np.array([np.inf])
FLOOR = np.array([-50.0])


def derivatives(variance: float, true: float, precision: float) -> Derivatives:
    """Return those of one variance, of coefficients measured apart with the same precision."""
    known = variance * precision / (1 + variance * precision)
    found = Q * known * (1 + true * precision) / (1 + variance * precision)
    alone = np.array([Q * known**2 / 2])
    return Derivatives(np.array([found]), np.array([Q * known]), np.diag(alone), alone)


@pytest.mark.parametrize("precision", [1e-4, 1e4])
@pytest.mark.parametrize("start", [0.02, 50.0])
def test_a_far_variance_arrives_at_once(precision, start):
    step, _ = next_step(derivatives(start, 1.0, precision), np.zeros(1), FLOOR, NONE)
    assert_allclose(step, -np.log(start), atol=0.02)


def test_a_near_variance_takes_a_newton_step():
    near = derivatives(1.1, 1.0, 5.0)
    step, size = next_step(near, np.zeros(1), FLOOR, NONE)
    score = (near.found - near.expected) / 2
    assert_allclose(step, score / (near.information[0] - score), rtol=1e-6)
    assert_allclose(size, np.sqrt(step[0] ** 2 * (near.information[0, 0] - score[0])))


def test_a_step_back_is_at_most_half_as_long():
    far = derivatives(50.0, 1.0, 1e4)
    step, _ = next_step(far, np.zeros(1), FLOOR, np.array([1.0]))
    assert_allclose(step, -0.5)
    step, _ = next_step(far, np.zeros(1), FLOOR, np.array([-1.0]))
    assert_allclose(step, -np.log(50), atol=0.02)


def test_no_step_leads_below_the_floor():
    far = derivatives(50.0, 1.0, 1e4)
    assert next_step(far, np.zeros(1), np.array([-0.3]), NONE)[0] == -0.3
    # Where it should be smaller still, a variance at its floor stays.
    assert next_step(far, np.zeros(1), np.zeros(1), NONE)[0] == 0


def planted(seed: int, scale: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return effects of some size, noise of variance 1, and a design of two groups."""
    rng = np.random.default_rng(seed)
    design = rng.standard_normal((E, 2 * Q))
    coefficients = scale * rng.standard_normal(2 * Q) * np.repeat([1, 0.1], Q)
    return design @ coefficients + rng.standard_normal(E), np.ones(E), design


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("scale", [0.0, 0.1, 10.0])
@pytest.mark.parametrize("floor", [None, 1e-9])
def test_few_iterations_are_enough_wherever_they_begin(seed, scale, floor):
    groups, floors = [slice(0, Q), slice(Q, 2 * Q)], [floor] * 3
    for start in (None, (1e-7, 1e-7, 1e-7), (1e4, 1e4, 1e4)):
        iterations = Iterations()
        fit_mixed_model(*planted(seed, scale), groups, floors, iterations, start)
        assert iterations.n_iter["variance components"] <= 9


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_variance_that_was_nothing_comes_back(seed):
    groups, floors = [slice(0, Q), slice(Q, 2 * Q)], [1e-9] * 3
    data = planted(seed, 1.0)
    after, usual = (
        fit_mixed_model(*data, groups, floors, start=start) for start in ((1e-9,) * 3, None)
    )
    assert_allclose(after.coefficients, usual.coefficients, atol=0.02)


def test_an_edge_without_noise_does_not_keep_variances_from_converging():
    values, noise, design = planted(0, 0.01)
    noise[:2], values[:2] = 1e-18, 0.0
    iterations = Iterations()
    fit_mixed_model(values, noise, design, [slice(0, 2 * Q)], [None, None], iterations)
    assert iterations.n_iter["variance components"] <= 25
