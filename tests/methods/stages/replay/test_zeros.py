"""Empty edges and motion: only what is beyond doubt is acted upon."""

import numpy as np
import pytest

from stillome.methods.stages.motion_effect.edge_design import EdgeDesign
from stillome.methods.stages.replay.zeros import fit_zero_model

V, N = 14, 300
E = V * (V - 1) // 2


def planted(slope: float, seed: int):
    rng = np.random.default_rng(seed)
    functions = rng.standard_normal((N, 1))
    functions = (functions - functions.mean()) / functions.std()
    baseline = rng.uniform(0.1, 0.6, E)
    shares = np.clip(baseline + slope * functions, 0.01, 0.99)
    weights = np.where(rng.random((N, E)) < shares, 0.0, rng.lognormal(1, 1, (N, E)))
    return weights, functions, shares, EdgeDesign.from_edges(rng.normal(0, 1, E), None, V)


@pytest.mark.parametrize("seed", range(5))
def test_zeros_that_have_nothing_to_do_with_motion_are_left_alone(seed):
    weights, functions, _, design = planted(0.0, seed)
    model = fit_zero_model(weights, functions, design)
    assert (model.slopes == 0).all()
    assert (model.shares(functions) == model.shares(functions[:1])).all()


@pytest.mark.parametrize("seed", range(3))
def test_zeros_that_go_with_motion_are_followed(seed):
    weights, functions, shares, design = planted(0.06, seed)
    model = fit_zero_model(weights, functions, design)
    assert np.abs(model.slopes - 0.06).max() < 0.035
    weights[:, 0] = 0
    assert (fit_zero_model(weights, functions, design).slopes[:, 0] == 0).all()
    found = model.shares(functions)
    assert np.abs(found - shares).mean() < 0.04
    assert ((found > 0) & (found < 1)).all()


def test_weights_without_zeros():
    weights, functions, _, design = planted(0.06, 0)
    model = fit_zero_model(np.maximum(weights, 0.1), functions, design)
    assert (model.slopes == 0).all() and (model.baseline == 0).all()
