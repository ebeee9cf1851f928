"""Motion read from connectomes, against leaving every subject out by hand."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import Ridge
from sklearn.model_selection import LeaveOneOut, cross_val_predict

from stillome.methods.inv_fa.inference import _PENALTIES, ConfoundInference


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    confounds = rng.lognormal(-1, 0.5, (40, 2))
    level = rng.uniform(1, 4, 60) - confounds @ rng.uniform(0, 1, (2, 60))
    return rng.poisson(np.exp(level)), confounds


def test_left_out_predictions_are_those_of_models_that_never_saw_the_subject(data):
    counts, confounds = data
    model, left_out = ConfoundInference.fit(counts, confounds)
    features = np.log1p(counts) / model.scale / np.sqrt(counts.shape[1])
    centred = features - features.mean(axis=0)
    tried = []
    for penalty in _PENALTIES * np.linalg.eigvalsh(centred @ centred.T).mean():
        ridge = Ridge(penalty)
        tried.append(cross_val_predict(ridge, features, confounds, cv=LeaveOneOut()))
    best = min(tried, key=lambda predictions: ((confounds - predictions) ** 2).mean())
    assert_allclose(left_out, best, atol=1e-4)
    assert_allclose(model.sd, np.sqrt(((confounds - best) ** 2).mean(axis=0)), rtol=1e-3)


def test_unseen_motion_is_read_as_surely_as_it_says():
    rng = np.random.default_rng(1)
    confounds = rng.lognormal(-1, 0.5, (600, 1))
    differences = 0.3 * rng.standard_normal((600, 4)) @ rng.standard_normal((4, 100))
    counts = rng.poisson(np.exp(rng.uniform(1, 4, 100) + differences - confounds))
    model, _ = ConfoundInference.fit(counts[:300], confounds[:300])
    inferred = model.infer(counts[300:])
    errors = confounds[300:] - inferred.mean
    assert inferred.mean.shape == inferred.sd.shape == (300, 1)
    assert errors.std() < 0.5 * confounds.std()
    assert 0.7 < errors.std() / inferred.sd[0, 0] < 1.4


def test_connectomes_that_say_nothing_give_the_mean(data):
    rng = np.random.default_rng(2)
    model, _ = ConfoundInference.fit(rng.poisson(20, (40, 60)), data[1])
    inferred = model.infer(rng.poisson(20, (40, 60)))
    assert (np.abs(inferred.mean - data[1].mean(axis=0)) < data[1].std(axis=0)).all()
    assert_allclose(inferred.sd[0], data[1].std(axis=0), rtol=0.15)
