"""Families and people stay together in every division that a fit makes inside itself."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from moving_people import MovingPeople
from stillome.cohort.groups import group_levels
from stillome.methods.graph_vae import person_fit
from stillome.methods.graph_vae.graph_training import GraphTraining
from stillome.methods.inv_fa import decoder_fit, inference
from stillome.methods.inv_fa.inference import ConfoundInference
from stillome.methods.registry import METHODS, make_method
from stillome.methods.stages.motion_effect import chance_effects
from stillome.methods.stages.motion_effect.chance_effects import EdgeScores
from stillome.methods.trait_regression import TraitRegression

pytestmark = pytest.mark.filterwarnings("ignore::stillome.exceptions.StillomeWarning")
N = 60
QUICK = {"max_epochs": 2, "hidden": (4,), "n_neighbors": 3, "learning_rate": 1e-2}


class Twins:
    """Pairs with the same motion and trait, so that these tell the pair apart from all others."""

    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        self.family = rng.permutation(np.repeat(np.arange(N // 2), 2))
        people = MovingPeople(N // 2)
        self.motion = people.motion[self.family][:, None]
        self.X = rng.poisson(people.X[self.family] + 1)
        self.trait = rng.standard_normal(N // 2)[self.family]

    def fit(self, name, **given):
        known = make_method(name).get_params()
        quick = {key: value for key, value in QUICK.items() if key in known}
        method = make_method(name, n_components=2, **quick)
        return method.fit(self.X, self.trait, confounds=self.motion, **given)


@pytest.fixture(scope="module")
def twins() -> Twins:
    return Twins()


def apart(values, one, other) -> bool:
    """Whether no row of a table is both in one part and in the other."""
    return not {tuple(row) for row in values[one]} & {tuple(row) for row in values[other]}


def test_halves_left_out_subjects_and_permutations_keep_families(twins, monkeypatch):
    seen = dict.fromkeys(("halves", "left out", "permuted"), 0)
    confirm = decoder_fit._DecoderFit.confirm_susceptibility
    ridge, permuted = inference._ridge, chance_effects._permuted

    def confirming(self, halves):
        seen["halves"] += 1
        assert apart(self.functions, *halves)
        assert abs(len(halves[0]) - len(halves[1])) <= 2
        return confirm(self, halves)

    def left_out(kernel, targets, penalty, labels):
        seen["left out"] += 1
        for label in np.unique(labels):
            assert apart(targets, labels == label, labels != label)
        return ridge(kernel, targets, penalty, labels)

    def exchanged(functions, rng, groups=None):
        seen["permuted"] += 1
        answer = permuted(functions, rng, groups)
        pairs = np.hstack([functions, answer])
        assert len(np.unique(pairs, axis=0)) == len(np.unique(functions, axis=0)) == N // 2
        return answer

    monkeypatch.setattr(decoder_fit._DecoderFit, "confirm_susceptibility", confirming)
    monkeypatch.setattr(inference, "_ridge", left_out)
    monkeypatch.setattr(chance_effects, "_permuted", exchanged)
    twins.fit("inv-fa", groups=twins.family)
    assert min(seen.values()) >= 1


@pytest.mark.parametrize("name", ["inv-vae", "gate"])
def test_the_validation_part_of_a_network_divides_no_family(twins, monkeypatch, name):
    seen = []
    trained, prepare = person_fit.PersonFit._trained, GraphTraining.prepare

    def training(self, fit, base, counts, rows, generator):
        seen.append((fit.confounds, rows))
        return trained(self, fit, base, counts, rows, generator)

    def preparing(data, *given):
        run = prepare(data, *given)
        seen.append((data.traits, (run.training_rows, run.validation_rows)))
        return run

    monkeypatch.setattr(person_fit.PersonFit, "_trained", training)
    monkeypatch.setattr(GraphTraining, "prepare", preparing)
    twins.fit(name, groups=twins.family)
    with_validation = [(values, rows) for values, rows in seen if len(rows[1])]
    assert with_validation
    for values, rows in with_validation:
        assert apart(values, *rows)
        assert len(rows[1]) == 6


def test_left_out_predictions_are_those_of_models_without_the_family(twins):
    levels = group_levels(twins.family, N)
    _, left_out = ConfoundInference.fit(twins.X, twins.motion, groups=levels)
    logs = np.log1p(twins.X.astype(np.float32))
    standard = (logs - logs.mean(axis=0)) / logs.std(axis=0)
    kernel = (standard @ standard.T).astype(np.float64) / standard.shape[1]
    mean = np.maximum(np.linalg.eigvalsh(kernel), 0).mean()
    errors = []
    for penalty in inference._PENALTIES * mean:
        predicted = np.empty_like(twins.motion)
        for family in range(N // 2):
            test, train = twins.family == family, twins.family != family
            center = kernel[np.ix_(train, train)]
            rows, total = center.mean(axis=0), center.mean()
            inner = center - rows - rows[:, None] + total
            outer = kernel[np.ix_(test, train)]
            outer = outer - rows - outer.mean(axis=1, keepdims=True) + total
            middle = twins.motion[train].mean(axis=0)
            solved = np.linalg.solve(
                inner + penalty * np.eye(train.sum()), twins.motion[train] - middle
            )
            predicted[test] = outer @ solved + middle
        errors.append(np.abs(predicted - left_out).max())
    assert min(errors) < 1e-6


@pytest.mark.parametrize("name", [name for name in METHODS if name not in ("inv-vae", "gate")])
def test_the_order_of_subjects_does_not_matter(twins, name):
    model = twins.fit(name, groups=twins.family)
    order = np.random.default_rng(1).permutation(N)
    other = twins.__class__()
    other.X, other.motion, other.trait = twins.X[order], twins.motion[order], twins.trait[order]
    again = other.fit(name, groups=twins.family[order])
    answers = [one.predict(twins.X, confounds=twins.motion) for one in (model, again)]
    assert_allclose(*answers, rtol=1e-6, atol=1e-8)


def test_the_penalty_for_traits_is_chosen_without_the_twin():
    """Noise that twins share predicts the twin, and nobody else."""
    rng = np.random.default_rng(0)
    family = np.repeat(np.arange(40), 2)
    latent = rng.standard_normal((40, 30))[family] + 0.01 * rng.standard_normal((80, 30))
    trait = rng.standard_normal((40, 1))[family]
    alone = TraitRegression.fit(latent, trait)
    together = TraitRegression.fit(latent, trait, group_levels(family, 80))
    assert np.abs(alone.coefficients).sum() > 2 * np.abs(together.coefficients).sum()


def test_repeated_scans_are_less_evidence_than_as_many_people():
    """The same scans twice are no more evidence on the motion effect than once."""
    rng = np.random.default_rng(0)
    residual, functions = rng.standard_normal((200, 500)), rng.standard_normal((200, 2))
    given = {"variances": np.ones((3, 500)), "information": np.ones(500)}
    given["least_variances"] = np.zeros(500)
    once = EdgeScores.of(residual, functions, **given)
    twice = EdgeScores.of(
        *(np.repeat(part, 2, axis=0) for part in (residual, functions)),
        **given,
        groups=group_levels(np.repeat(np.arange(200), 2), 400),
    )
    assert once.n_independent == 200
    assert twice.n_independent == pytest.approx(200, rel=0.02)
    assert_allclose(twice.variances, 2, rtol=0.02)
