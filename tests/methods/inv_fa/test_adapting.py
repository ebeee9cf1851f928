"""A site that training never saw: its effects, how sure they are, and what is refused."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from moving_people import MovingPeople
from stillome.exceptions import InputError, StillomeWarning
from stillome.methods.graph_vae.inv_vae import InvVAE
from stillome.methods.inv_fa.inv_fa import InvFA
from stillome.methods.storage import load_model

N_TRAIN, N_NEW = 160, 60


class Scanners:
    """People of two trained sites and of a third, at which all edges have more fibres."""

    def __init__(self, seed: int = 4) -> None:
        people, rng = MovingPeople(N_TRAIN + N_NEW, seed), np.random.default_rng(seed)
        n_edges = people.X.shape[1]
        self.effect = rng.normal(0.5, 0.1, n_edges)
        new = np.arange(len(people.X)) >= N_TRAIN
        site = np.where(new, 0, people.site)
        factor = np.exp(new[:, None] * self.effect + 0.4 * site[:, None])
        self.X = rng.poisson(people.X * factor)
        self.confounds = np.column_stack([people.motion, site])
        self.traits = people.traits
        self.free = people.X
        self.model = InvFA(4).fit(
            self.X[:N_TRAIN], self.traits[:N_TRAIN], confounds=self.confounds[:N_TRAIN]
        )

    def of_new(self, k):
        rows = slice(N_TRAIN, N_TRAIN + k)
        return self.X[rows], self.confounds[rows]


@pytest.fixture(scope="module")
def scanners():
    return Scanners()


def adapted(scanners, k, **more):
    X, confounds = scanners.of_new(k)
    return scanners.model.adapt(X, confounds=confounds, **more)


def test_effects_of_the_new_site_are_found_within_their_interval(scanners):
    strong = scanners.free.mean(axis=0) > 3
    errors = {}
    for k in (10, 60):
        found = adapted(scanners, k).site_effect_
        away = (found.effects - scanners.effect)[strong]
        errors[k] = np.sqrt((away**2).mean())
        assert (np.abs(away) < 1.96 * found.sd[strong]).mean() > 0.9
        assert found.low < scanners.effect.mean() < found.high
        assert found.n_subjects == k
    assert errors[60] < 0.12  # the effect itself is 0.5


def test_weak_edges_do_not_seem_to_gain_where_few_people_have_them(scanners):
    weak = scanners.free.mean(axis=0) < 1
    assert weak.sum() >= 5
    found = adapted(scanners, 10).site_effect_.effects
    assert abs((found - scanners.effect)[weak].mean()) < 0.15


def test_the_reference_site_is_known_no_better_with_more_people_of_the_new_one(scanners):
    """The effect is a difference, and the other side of it was estimated from the training."""
    model = scanners.model.model_
    there = model.basis(scanners.confounds[N_TRAIN:]).mean(axis=0)
    least = np.sqrt(there**2 @ model.effect.uncertainties**2)
    assert (adapted(scanners, 60).site_effect_.sd > least).all()


def test_a_network_on_the_factors_learns_a_site_as_they_do(scanners):
    quick = {"max_epochs": 2, "hidden": (4,), "n_neighbors": 3, "validation_fraction": 0.0}
    train = slice(0, N_TRAIN)
    network = InvVAE(4, **quick).fit(scanners.X[train], confounds=scanners.confounds[train])
    X, confounds = scanners.of_new(30)
    model = network.adapt(X, confounds=confounds)
    assert model.site_effect_.low < scanners.effect.mean() < model.site_effect_.high
    there, before = (
        np.column_stack([confounds, np.ones(30)]),
        network.adjust(X, confounds=confounds),
    )
    after = model.adjust(X, confounds=there)
    assert np.log(before.sum() / after.sum()) == pytest.approx(0.5, abs=0.12)
    elsewhere = np.column_stack([confounds, np.zeros(30)])
    assert_array_equal(model.adjust(X, confounds=elsewhere), before)
    assert network.n_confounds_ == 2 and model.n_confounds_ == 3
    assert not hasattr(InvVAE.as_published(), "adapt")


def test_adjusting_takes_the_new_site_out_of_others_of_it(scanners):
    model = adapted(scanners, 30)
    rest = slice(N_TRAIN + 30, None)
    X, confounds = scanners.X[rest], scanners.confounds[rest]
    there = np.column_stack([confounds, np.ones(len(X))])
    before = np.log(scanners.model.adjust(X, confounds=confounds).sum(axis=1))
    after = np.log(model.adjust(X, confounds=there).sum(axis=1))
    assert before.mean() - after.mean() == pytest.approx(0.5, abs=0.12)
    wide = model.adjust(X, confounds=there, interval=0.9)
    assert (wide.upper >= wide.lower).all()


def test_trained_sites_get_the_answers_of_the_trained_model(scanners):
    model = adapted(scanners, 30)
    X, confounds = scanners.X[:20], scanners.confounds[:20]
    elsewhere = np.column_stack([confounds, np.zeros(20)])
    old, new = (
        one.transform(X, confounds=c)
        for one, c in ((scanners.model, confounds), (model, elsewhere))
    )
    assert_allclose(new, old, rtol=1e-9, atol=1e-9)
    assert_array_equal(
        model.adjust(X, confounds=elsewhere), scanners.model.adjust(X, confounds=confounds)
    )
    assert scanners.model.n_confounds_ == 2  # the model itself is as it was
    assert model.n_confounds_ == 3


def test_an_adapted_model_is_saved_and_draws_people_of_one_site(scanners, tmp_path):
    model = adapted(scanners, 20)
    model.save(tmp_path / "model")
    again = load_model(tmp_path / "model")
    X, confounds = scanners.of_new(20)
    there = np.column_stack([confounds, np.ones(20)])
    assert_array_equal(again.adjust(X, confounds=there), model.adjust(X, confounds=there))
    drawn = model.sample(400).confounds
    assert (drawn[:, 1:].sum(axis=1) <= 1).all()


def test_the_order_of_the_people_does_not_matter(scanners):
    X, confounds = scanners.of_new(25)
    order = np.random.default_rng(0).permutation(25)
    first = scanners.model.adapt(X, confounds=confounds).site_effect_
    second = scanners.model.adapt(X[order], confounds=confounds[order]).site_effect_
    assert_allclose(first.effects, second.effects, rtol=1e-5, atol=1e-6)


def test_few_people_and_people_unlike_the_trained_ones_are_noticed(scanners):
    X, confounds = scanners.of_new(9)
    with pytest.raises(InputError, match=r"9 people of the new site; at least 10"):
        scanners.model.adapt(X, confounds=confounds)
    X, confounds = scanners.of_new(20)
    person = np.repeat(np.arange(5), 4)
    with pytest.raises(InputError, match=r"5 people"):
        scanners.model.adapt(X, confounds=confounds, groups=person)
    with pytest.warns(StillomeWarning, match="cannot be told apart"):
        scanners.model.adapt(X, scanners.traits[:20] + 40, confounds=confounds)
    untold = InvFA(4).fit(scanners.X[:N_TRAIN], confounds=scanners.confounds[:N_TRAIN])
    with pytest.warns(StillomeWarning, match="the model was fitted without traits"):
        untold.adapt(X, scanners.traits[:20], confounds=confounds)


def test_two_scans_of_a_person_are_less_sure_than_scans_of_two(scanners):
    X, confounds = scanners.of_new(30)
    X, confounds = np.repeat(X, 2, axis=0), np.repeat(confounds, 2, axis=0)
    alone = scanners.model.adapt(X, confounds=confounds).site_effect_
    groups = np.repeat(np.arange(30), 2)
    told = scanners.model.adapt(X, confounds=confounds, groups=groups).site_effect_
    assert told.high - told.low > alone.high - alone.low
