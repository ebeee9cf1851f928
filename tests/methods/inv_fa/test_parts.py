"""The parts of the model as one thing: units, storage, and motion that is missing."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from stillome.methods.inv_fa.model_arrays import from_arrays, to_arrays
from stillome.methods.inv_fa.model_fit import fit_model
from stillome.methods.inv_fa.parts import STAGES, InvariantModel
from stillome.methods.inv_fa.tuning import TUNING

V, N = 12, 150
E = V * (V - 1) // 2


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    motion = rng.lognormal(-1, 0.5, (N, 1))
    differences = rng.standard_normal((N, 3)) @ rng.normal(0, 0.4, (3, E))
    return rng.poisson(np.exp(rng.uniform(1, 4, E) + differences - 0.7 * motion)), motion


@pytest.fixture(scope="module")
def model(data):
    return fitted(*data)


def fitted(edges, motion) -> InvariantModel:
    given = {"n_regions": V, "n_components": 6, "lengths": None, "covariates": None}
    return fit_model(edges, motion, **given)[0]


def test_the_unit_of_weights_does_not_matter(data):
    edges, motion = data
    weights = edges + np.random.default_rng(1).uniform(0.1, 0.4, edges.shape)
    small, large = fitted(weights * 1e-6, motion), fitted(weights * 1e6, motion)
    first, _ = small.encode(weights * 1e-6, motion)
    second, _ = large.encode(weights * 1e6, motion)
    assert_allclose(first, second, atol=1e-3)


def test_arrays_rebuild_the_same_model(model, data):
    again = from_arrays(to_arrays(model))
    assert_array_equal(again.encode(*data)[0], model.encode(*data)[0])
    latent, motion = model.encode(*data)
    for one, other in zip(again.law(latent, motion), model.law(latent, motion), strict=True):
        assert_array_equal(one, other)


def test_missing_motion_is_filled_in_and_known_motion_kept(model, data):
    edges, motion = data
    some = motion.copy()
    some[:40] = np.nan
    latent, filled = model.encode(edges, some)
    known, _ = model.encode(edges, motion)
    assert_array_equal(filled[40:], motion[40:])
    assert_array_equal(filled[:40], model.inference.infer(edges[:40]).mean)
    assert_allclose(latent[40:], known[40:], atol=1e-5)
    assert np.corrcoef(latent[:40].ravel(), known[:40].ravel())[0, 1] > 0.9


def test_a_confound_that_is_known_stays_so_where_another_is_not():
    rng = np.random.default_rng(3)
    motion, site = rng.gamma(2, 0.2, 60), rng.integers(0, 2, 60)
    differences = rng.standard_normal((60, 2)) @ rng.normal(0, 0.4, (2, E))
    edges = rng.poisson(np.exp(4 + differences - motion[:, None] + 0.3 * site[:, None])).astype(
        float
    )
    confounds = np.column_stack([motion, site])
    model = fitted(edges, confounds)
    known, _ = model.encode(edges, confounds)
    off = []
    for column in (0, 1):
        some = confounds.copy()
        some[:, column] = np.nan
        off.append(np.abs(model.encode(edges, some)[0] - known).mean())
    assert max(off) < 0.5 * known.std()  # 0.8 where what is known was corrected for as well


def test_the_weight_decides_how_much_of_the_dependence_goes(model, data):
    edges, motion = data
    whole, nothing, half = (model.weighted(w).encode(edges, motion)[0] for w in (1, 0, 0.5))
    assert_allclose(whole, model.encode(edges, motion)[0])
    assert np.abs(whole - nothing).max() > 0
    assert np.abs(half - nothing).max() < np.abs(whole - nothing).max()


def test_the_effect_is_sure_at_the_same_motion_and_less_sure_further_away(model):
    reference = np.array([0.3])
    latent = np.zeros((3, model.decoder.loadings.shape[0]))
    sd = model.log_ratio_sd(latent, np.array([[0.3], [0.5], [1.5]]), reference)
    assert_allclose(sd[0], 0, atol=1e-9)
    assert (sd[2] > sd[1]).all() and (sd[1] > 0).all()


def test_iterations_of_every_stage_are_recorded_and_stored(model):
    assert set(model.n_iter) == set(STAGES)
    assert min(model.n_iter.values()) >= 1 and max(model.n_iter.values()) < 100
    assert from_arrays(to_arrays(model)).n_iter == model.n_iter


def test_another_tuning_record_is_used(model, data):
    strict = replace(TUNING, least_reliable=0.999)
    other, _ = fit_model(
        *data, n_regions=V, n_components=6, lengths=None, covariates=None, tuning=strict
    )
    assert (other.encoder.weights == 0).all() and model.encoder.weights.any()
