"""Variance components, against a direct maximisation of the restricted likelihood."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from stillome.cohort.edges import edge_indices
from stillome.methods.stages.convergence import Iterations
from stillome.methods.stages.motion_effect.edge_columns import EdgeColumns
from stillome.methods.stages.motion_effect.variance_components import fit_mixed_model
from stillome.methods.stages.stage_tuning import StageTuning

E, FREE, SMALL, LARGE = 150, 2, 12, 20
GROUPS = [slice(FREE, FREE + SMALL), slice(FREE + SMALL, FREE + SMALL + LARGE)]
FLOORS = [None, None, None]


def planted(seed: int, own_sd: float):
    rng = np.random.default_rng(seed)
    design = np.column_stack([np.ones(E), rng.standard_normal((E, FREE - 1 + SMALL + LARGE))])
    coefficients = np.r_[1.0, -2.0, rng.normal(0, 0.5, SMALL), rng.normal(0, 0.1, LARGE)]
    noise = rng.uniform(0.2, 1, E) ** 2
    values = design @ coefficients + rng.normal(0, own_sd, E) + rng.normal(0, np.sqrt(noise))
    return values, noise, design, coefficients


def penalised_deviance(log_variances, values, noise, design) -> float:
    """Return minus the restricted log-likelihood and the log standard deviations."""
    *groups, own = np.exp(log_variances)
    covariance = np.diag(noise + own)
    for group, variance in zip(GROUPS, groups, strict=True):
        covariance += variance * design[:, group] @ design[:, group].T
    free = design[:, :FREE]
    inverse = np.linalg.inv(covariance)
    information = free.T @ inverse @ free
    residual = values - free @ np.linalg.solve(information, free.T @ inverse @ values)
    deviance = np.linalg.slogdet(covariance)[1] + np.linalg.slogdet(information)[1]
    return 0.5 * (deviance + residual @ inverse @ residual - np.sum(log_variances))


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("own_sd", [0.4, 0.0])
def test_variances_maximise_the_penalised_restricted_likelihood(seed, own_sd):
    values, noise, design, _ = planted(seed, own_sd)
    exact = Iterations(StageTuning(tolerance=1e-5))
    model = fit_mixed_model(values, noise, design, GROUPS, FLOORS, exact)
    best = minimize(
        penalised_deviance,
        np.log([0.25, 0.01, 0.1]),
        (values, noise, design),
        method="Nelder-Mead",
        options={"xatol": 1e-6, "fatol": 1e-9, "maxiter": 2000},
    )
    assert_allclose(np.log([*model.group_variances, model.own_variance]), best.x, atol=1e-3)


def test_few_iterations_are_enough():
    iterations = Iterations()
    values, noise, design, coefficients = planted(3, 0.3)
    model = fit_mixed_model(values, noise, design, GROUPS, FLOORS, iterations)
    assert iterations.n_iter["variance components"] < 12
    assert np.corrcoef(model.coefficients, coefficients)[0, 1] > 0.95
    assert_allclose(model.residual, values - design @ model.coefficients)


def test_a_variance_stays_at_its_floor():
    values, noise, design, _ = planted(4, 0.3)
    model = fit_mixed_model(values, noise, design, GROUPS, [None, 0.5, None])
    assert_allclose(model.group_variances[1], 0.5)


def test_a_group_of_one_coefficient_has_a_finite_variance():
    values, noise, design, _ = planted(5, 0.3)
    design = design[:, : FREE + 1]
    model = fit_mixed_model(values, noise, design, [slice(FREE, FREE + 1)], [0.01, None])
    assert 0.01 <= model.group_variances[0] < 10


@pytest.mark.parametrize("distance", [1.0, 1e-3, 0.0])
@pytest.mark.parametrize("chosen", [None, np.arange(0, 1225, 3)])
def test_single_precision_is_enough_also_for_columns_that_are_nearly_alike(distance, chosen):
    rng, pairs = np.random.default_rng(6), edge_indices(50)
    features, others = rng.standard_normal((1225, 2)), rng.standard_normal((1225, 20))
    features[:, 1] = features[:, 0] + distance * features[:, 1]
    others[:, 1] = others[:, 0] + distance * others[:, 1]
    dense = np.hstack([features, others]).astype(np.float32)
    values = 100 * (dense[:, 0] + dense[:, 2:] @ rng.standard_normal(20))
    values += rng.standard_normal(1225)
    arguments = np.ones(1225), [slice(2, 52), slice(52, 72)], FLOORS
    single, double = (
        fit_mixed_model(values, noise, EdgeColumns(table, 2, *pairs, 50, chosen), groups, floors)
        for table in (dense, dense.astype(np.float64))
        for noise, groups, floors in [arguments]
    )
    assert_allclose(single.group_variances, double.group_variances, rtol=0.1)
    assert_allclose(single.residual, double.residual, atol=0.02)
    assert_allclose(np.diag(single.covariance), np.diag(double.covariance), rtol=0.02)
