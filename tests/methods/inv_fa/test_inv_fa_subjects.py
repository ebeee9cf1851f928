"""The subjects that `InvFA.fit` uses, and the validation of its weight and seed."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from moving_people import MovingPeople
from stillome import InvFA
from stillome.exceptions import ConfoundsError, InputError
from stillome.methods.inv_fa.people import People
from stillome.methods.inv_fa.training_subjects import check_seed, check_weight, known_subjects
from stillome.methods.training_data import TrainingData


def subjects(n: int = 40, unknown: int = 0) -> TrainingData:
    rng = np.random.default_rng(0)
    confounds = rng.random((n, 2))
    confounds[:unknown, 1] = np.nan
    return TrainingData(rng.poisson(5, (n, 6)), rng.random((n, 1)), confounds)


def test_only_subjects_whose_confounds_are_known_are_used():
    data = subjects(unknown=7)
    known = known_subjects(data._replace(covariates=np.arange(40.0)[:, None]))
    assert len(known.edges) == len(known.motion) == len(known.traits) == 33
    assert_array_equal(known.covariates[:, 0], np.arange(7, 40))
    assert_array_equal(known.edges, data.edges[7:])
    without = known_subjects(data._replace(traits=None))
    assert without.traits is None and without.covariates is None


def test_what_remains_must_be_enough():
    with pytest.raises(ConfoundsError, match="known for 9 subjects; at least 10"):
        known_subjects(subjects(unknown=31))
    data = subjects(unknown=20)
    data.traits[20:] = 1.0
    with pytest.raises(InputError, match="y of subjects with known confounds: column 0"):
        known_subjects(data)
    data = subjects(unknown=20)
    data.confounds[20:, 0] = 1.0
    with pytest.raises(ConfoundsError, match="column 0 is the same for all 20"):
        known_subjects(data)


@pytest.mark.parametrize("weight", [-0.1, 1.1, np.nan, None, "auto", [1.0]])
def test_weights_that_are_none(weight):
    with pytest.raises(InputError, match="expected a share from 0 to 1"):
        check_weight(weight)


def test_weights_and_seeds():
    assert check_weight(np.float32(0.5)) == 0.5
    assert check_seed(np.int64(3)) == 3
    assert check_seed(np.random.default_rng(1)) == check_seed(np.random.default_rng(1))
    assert check_seed(None) != check_seed(None)
    for seed in (-1, "seed", 0.5):
        with pytest.raises(InputError, match="random_state"):
            check_seed(seed)


@pytest.mark.filterwarnings("ignore::stillome.exceptions.StillomeWarning")
@pytest.mark.parametrize("weight", [0.5, 1.0])
def test_traits_are_learned_from_the_z_that_the_same_subjects_have_later(weight):
    people = MovingPeople()
    motion = people.motion[:, None].copy()
    motion[7] = np.nan
    known = ~np.isnan(motion[:, 0])
    model = InvFA(3, invariance_weight=weight).fit(people.X, people.traits, confounds=motion)
    latent = model.transform(people.X[known], confounds=motion[known])
    anew = People.fit(latent, motion[known], people.traits[known]).to_arrays()
    assert model.people_.latent_sd.max() > 0.1
    for name, values in model.people_.to_arrays().items():
        assert_allclose(values, anew[name], atol=1e-6, err_msg=name)
