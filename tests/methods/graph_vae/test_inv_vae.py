"""The paper's model as an estimator: inv-VAE as published, and GATE."""

import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal

from stillome.cohort.edges import edges_to_matrices, matrices_to_edges
from stillome.exceptions import (
    ConfoundsError,
    FileError,
    FitError,
    InputError,
    NotFittedError,
    StillomeWarning,
)
from stillome.methods.graph_vae.departures import CHOICES, PUBLISHED
from stillome.methods.graph_vae.gate import GATE
from stillome.methods.graph_vae.inv_vae import InvVAE

QUICK = {"n_components": 3, "hidden": (16,), "n_dimensions": 3, "n_neighbors": 4}
QUICK |= {"learning_rate": 1e-2, "max_epochs": 25, "batch_size": 16}
N, V, E = 90, 7, 21


def make_data(seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    motion = np.column_stack([rng.uniform(0.2, 1.2, N), rng.uniform(-1, 1, N)])
    person = rng.standard_normal((N, 2))
    level = 2.5 + 0.5 * person @ rng.standard_normal((2, E)) - 0.8 * motion[:, :1]
    traits = 100 + 15 * (person @ [[0.9, 0.2], [0.1, 0.8]] + 0.2 * rng.standard_normal((N, 2)))
    traits[:10, 1] = np.nan
    return rng.poisson(np.exp(level)), traits, motion


X, Y, C = make_data()


@pytest.fixture(scope="module")
def inv_vae() -> InvVAE:
    return InvVAE.as_published(**QUICK).fit(X, Y, confounds=C)


@pytest.fixture(scope="module")
def gate() -> GATE:
    return GATE(**QUICK).fit(X, Y)


def test_settings_as_published_are_table_1_and_appendix_e() -> None:
    defaults = InvVAE.as_published().get_params()
    paper = {
        "n_components": 68,
        "hidden": (256,),
        "n_dimensions": 5,
        "n_layers": 2,
        "n_neighbors": 32,
        "learning_rate": 2e-5,
        "batch_size": 32,
        "max_epochs": 200,
        "validation_fraction": 0.1,
        "patience": None,
        "likelihood": "poisson",
        "encoder_input": "log-counts",
        "motion_effect": "concatenated",
        "decoder": "graph",
        "adjusting": "decode",
    }
    assert {name: defaults[name] for name in paper} == paper
    published = InvVAE.as_published()
    assert type(published) is InvVAE and published.get_params() == defaults
    assert {name: PUBLISHED[name] for name in paper} == paper
    simulations = InvVAE.as_published(learning_rate=5e-6).get_params()
    assert simulations == defaults | {"learning_rate": 5e-6}
    shared = GATE().get_params()
    assert shared == {name: defaults[name] for name in shared}
    assert set(defaults) - set(shared) == {"invariance_weight", "memory", *CHOICES}


def test_without_confounds_and_weight_it_is_gate_to_the_bit(gate: GATE) -> None:
    same = InvVAE.as_published(**QUICK, invariance_weight=0.0, motion_effect="none").fit(X, Y)
    assert_array_equal(same.transform(X), gate.transform(X))
    assert_array_equal(same.adjust(X), gate.adjust(X))
    assert_array_equal(same.predict(X), gate.predict(X))
    assert same.history_.equals(gate.history_)


def test_gate_does_not_use_the_confounds_it_is_given(gate: GATE) -> None:
    told = GATE(**QUICK).fit(X, Y, confounds=C)
    assert_array_equal(told.transform(X, confounds=C), gate.transform(X))
    assert_array_equal(told.adjust(X, confounds=C), gate.adjust(X))
    assert_array_equal(gate.adjust(X), gate.reconstruct(X))
    assert gate.sample(3).confounds is None


def test_the_same_seed_gives_the_same_bits_and_leaves_torch_alone(
    inv_vae: InvVAE,
) -> None:
    before = torch.random.get_rng_state()
    again = InvVAE.as_published(**QUICK).fit(X, Y, confounds=C)
    assert torch.equal(before, torch.random.get_rng_state())
    assert_array_equal(again.transform(X), inv_vae.transform(X))
    other = InvVAE.as_published(**QUICK, random_state=1).fit(X, Y, confounds=C)
    assert not np.allclose(other.transform(X), inv_vae.transform(X))


def test_it_learns_who_is_who_and_predicts_traits(inv_vae: InvVAE) -> None:
    assert not inv_vae.diagnostics_.collapsed
    assert inv_vae.diagnostics_.kl_per_dimension.shape == (3,)
    assert 1 <= inv_vae.diagnostics_.active_units <= 3
    history = inv_vae.history_
    assert history["epoch"].tolist() == list(range(1, 26))
    assert history["validation_loss"].iloc[-1] < history["validation_loss"].iloc[0]
    wanted = {"loss", "nll", "kl", "marginal_kl", "trait_nll", "active_units"}
    assert {f"{part}_{t}" for part in ("training", "validation") for t in wanted} <= set(history)
    longer = InvVAE.as_published(**(QUICK | {"max_epochs": 120})).fit(X, Y, confounds=C)
    assert longer.score(X, Y, confounds=C) > 0.3


def test_matrices_and_edges_are_the_same_subjects(inv_vae: InvVAE) -> None:
    matrices = edges_to_matrices(X)
    assert_array_equal(inv_vae.transform(matrices), inv_vae.transform(X))
    adjusted = inv_vae.adjust(matrices, reference=[0.5, 0.0])
    assert adjusted.shape == matrices.shape
    edges = matrices_to_edges(adjusted)
    assert_array_equal(edges, inv_vae.adjust(X, reference=[0.5, 0.0]))


def test_a_subject_answers_alone_as_in_company(inv_vae: InvVAE) -> None:
    assert_allclose(inv_vae.transform(X[:1]), inv_vae.transform(X)[:1], rtol=1e-12)


def test_standard_deviations_come_with_the_means(inv_vae: InvVAE) -> None:
    mean, std = inv_vae.transform(X, return_std=True)
    assert_array_equal(mean, inv_vae.transform(X))
    assert std.shape == mean.shape
    assert ((std > 0) & (std < 2)).all()


def test_adjusting_is_reconstructing_everybody_at_the_reference(
    inv_vae: InvVAE,
) -> None:
    level = [0.4, 0.1]
    adjusted = inv_vae.adjust(X, confounds=C, reference=level)
    assert_allclose(adjusted, inv_vae.reconstruct(X, confounds=np.tile(level, (N, 1))))
    assert not np.allclose(adjusted, inv_vae.reconstruct(X, confounds=C))


def test_units_of_confounds_and_traits_do_not_matter(inv_vae: InvVAE) -> None:
    other = InvVAE.as_published(**QUICK).fit(X, Y / 10 - 3, confounds=1000 * C + 7)
    assert_allclose(other.transform(X), inv_vae.transform(X), atol=2e-3)
    assert_allclose(10 * (other.predict(X) + 3), inv_vae.predict(X), atol=0.1)
    there = other.adjust(X, reference=[507.0, 7.0])
    assert_allclose(there, inv_vae.adjust(X, reference=[0.5, 0.0]), rtol=1e-2)


@pytest.mark.filterwarnings("ignore:The latent has collapsed")
def test_nothing_is_learned_from_the_subjects_held_out() -> None:
    quick = QUICK | {"max_epochs": 1, "validation_fraction": 0.3}
    model = InvVAE.as_published(**quick).fit(X, confounds=C)
    center = model.network_.preparation.edges.center
    order = torch.randperm(N, generator=_generator_of(model)).numpy()
    training = X[np.sort(order[27:])]
    assert_allclose(center, np.log1p(training).mean(0), rtol=1e-6)
    assert not np.allclose(center, np.log1p(X).mean(0), rtol=1e-6)


def _generator_of(model: InvVAE) -> torch.Generator:
    seed = int(np.random.default_rng(model.random_state).integers(2**63 - 1))
    return torch.Generator().manual_seed(seed)


def test_a_reference_outside_the_data_warns_how_far_it_is() -> None:
    model = InvVAE.as_published(**QUICK).fit(X, confounds=C[:, :1])
    assert model.adjust(X).shape == X.shape  # 0 is less than a standard deviation away
    with pytest.warns(StillomeWarning, match=r"reference=9 lies .* standard.* of confound 0"):
        model.adjust(X, reference=9.0)
    assert GATE(**QUICK).fit(X, confounds=C).adjust(X, reference=[-9, -9]).shape == X.shape


def test_an_empty_latent_is_reported() -> None:
    with pytest.warns(StillomeWarning, match=r"collapsed.*looks free of motion"):
        slow = QUICK | {"learning_rate": 1e-6, "max_epochs": 1}
        model = InvVAE.as_published(**slow).fit(X, confounds=C)
    assert model.diagnostics_.collapsed


def test_missing_traits_change_nothing_for_the_others() -> None:
    nobody = np.column_stack([Y[:, 0], np.where(np.arange(N) < 3, Y[:, 0], np.nan)])
    model = InvVAE.as_published(**QUICK).fit(X, nobody, confounds=C)
    assert np.isfinite(model.predict(X)).all()
    one = InvVAE.as_published(**QUICK).fit(X, Y[:, 0], confounds=C)
    assert one.predict(X).shape == (N,)


def test_held_out_likelihood_is_a_bound_that_training_raises(inv_vae: InvVAE) -> None:
    new, _, moved = make_data(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StillomeWarning)
        poor = InvVAE.as_published(**(QUICK | {"max_epochs": 1})).fit(X, confounds=C)
    assert inv_vae.log_likelihood(new, confounds=moved) > poor.log_likelihood(new, confounds=moved)
    assert inv_vae.log_likelihood(new, confounds=moved) == inv_vae.log_likelihood(
        new, confounds=moved
    )
    rate = inv_vae.reconstruct(new, confounds=moved)
    best = torch.distributions.Poisson(torch.from_numpy(rate))
    ceiling = float(best.log_prob(torch.from_numpy(new).double()).sum(1).mean())
    assert inv_vae.log_likelihood(new, confounds=moved) < ceiling


def test_samples_look_like_the_training_cohort(inv_vae: InvVAE) -> None:
    drawn = inv_vae.sample(4000, random_state=1)
    assert drawn.connectomes.shape == (4000, V, V)
    assert drawn.connectomes.dtype == np.int64
    assert drawn.traits.shape == (4000, 2)
    assert_allclose(drawn.confounds.mean(0), C.mean(0), atol=0.1)
    assert C.min() <= drawn.confounds.min() and drawn.confounds.max() <= C.max()
    edges = matrices_to_edges(drawn.connectomes)
    assert_allclose(edges.mean(0), X.mean(0), rtol=0.35)
    assert np.corrcoef(edges.sum(1), drawn.confounds[:, 0])[0, 1] < -0.1  # motion costs fibres
    assert_allclose(drawn.traits.mean(0), 100, atol=5)
    again = inv_vae.sample(4000, random_state=1)
    assert_array_equal(again.connectomes, drawn.connectomes)


def test_a_fit_that_breaks_off_keeps_the_last_good_weights() -> None:
    quick = QUICK | {"learning_rate": 1e4, "max_epochs": 50}
    model = InvVAE.as_published(**quick)
    with pytest.raises(FitError, match=r"not finite in epoch \d+.*Lower learning_rate"):
        model.fit(X, Y, confounds=C)
    assert np.isfinite(model.transform(X)).all()
    assert np.isfinite(model.reconstruct(X, confounds=C)).all()


def test_training_again_goes_on_from_the_checkpoint(tmp_path: Path, inv_vae: InvVAE) -> None:
    seen: list[int] = []

    def stop(record: object) -> None:
        seen.append(record.epoch)
        if record.epoch == 7:
            raise KeyboardInterrupt

    quick = QUICK | {"checkpoint_dir": tmp_path}
    with pytest.raises(KeyboardInterrupt):
        InvVAE.as_published(**quick, callback=stop).fit(X, Y, confounds=C)
    resumed = InvVAE.as_published(**quick, callback=lambda r: seen.append(r.epoch))
    resumed.fit(X, Y, confounds=C)
    assert seen == list(range(1, 26))
    assert_array_equal(resumed.transform(X), inv_vae.transform(X))
    assert resumed.history_.equals(inv_vae.history_)
    InvVAE.as_published(**quick).fit(X[::-1], confounds=C)  # another run, another file
    assert len(list(tmp_path.iterdir())) == 2


def test_saved_models_answer_with_the_same_bits(tmp_path: Path, inv_vae: InvVAE) -> None:
    loaded = InvVAE.load(inv_vae.save(tmp_path / "model"))
    assert_array_equal(loaded.transform(X), inv_vae.transform(X))
    assert_array_equal(loaded.predict(X), inv_vae.predict(X))
    assert_array_equal(loaded.adjust(X, reference=[0.5, 0]), inv_vae.adjust(X, reference=[0.5, 0]))
    assert loaded.log_likelihood(X, confounds=C) == inv_vae.log_likelihood(X, confounds=C)
    assert_array_equal(loaded.sample(5).connectomes, inv_vae.sample(5).connectomes)
    assert loaded.history_.equals(inv_vae.history_)
    assert loaded.training_hash_ == inv_vae.training_hash_
    assert_array_equal(loaded.diagnostics_.kl_per_dimension, inv_vae.diagnostics_.kl_per_dimension)
    with pytest.raises(FileError, match=r"holds a InvVAE.*InvVAE\.load"):
        GATE.load(tmp_path / "model")


def test_neighbours_come_from_lengths_when_they_are_given() -> None:
    lengths = np.random.default_rng(3).uniform(10, 90, (V, V))
    lengths = lengths + lengths.T
    quick = QUICK | {"n_neighbors": (1, 2, 3)}
    model = InvVAE.as_published(**quick, lengths=lengths).fit(X, confounds=C)
    np.fill_diagonal(lengths, np.inf)
    closest = model.network_.mask[0]
    for region in range(V):
        assert closest[region, lengths[region].argmin()]


@pytest.mark.parametrize(
    ("parameters", "named"),
    [
        ({"n_components": 0}, "n_components=0"),
        ({"hidden": 256}, "hidden=256"),
        ({"n_neighbors": (1, 2)}, "n_neighbors: 2 values"),
        ({"learning_rate": 0}, "learning_rate=0"),
        ({"learning_rate": "fast"}, "learning_rate='fast'"),
        ({"invariance_weight": -1}, "invariance_weight=-1"),
        ({"validation_fraction": 1.0}, "validation_fraction=1.0"),
        ({"batch_size": 1}, "batch_size=1"),
        ({"patience": 0}, "patience=0"),
        ({"random_state": "seed"}, "random_state='seed'"),
        ({"device": "abacus"}, "device='abacus'"),
        ({"lengths": np.ones((3, 3))}, r"lengths: shape \(3, 3\)"),
    ],
)
def test_parameters_that_cannot_be_used_are_named(parameters: dict, named: str) -> None:
    with pytest.raises(InputError, match=named):
        InvVAE.as_published(**(QUICK | parameters)).fit(X, confounds=C)


def test_what_is_missing_is_named(inv_vae: InvVAE) -> None:
    with pytest.raises(NotFittedError, match="Call fit first"):
        InvVAE.as_published().transform(X)
    with pytest.warns(StillomeWarning, match=r"InvVAE\.fit: no confounds were given"):
        without = InvVAE.as_published(**QUICK).fit(X)
    assert_array_equal(without.adjust(X), without.reconstruct(X))
    with pytest.raises(ConfoundsError, match="needs the confounds"):
        inv_vae.reconstruct(X)
    with pytest.raises(ConfoundsError, match="fitted with 2"):
        inv_vae.transform(X, confounds=C[:, :1])
    with pytest.raises(InputError, match="fitted without traits"):
        InvVAE.as_published(**QUICK).fit(X, confounds=C).predict(X)
