"""inv-VAE on the stages of inv-FA: it starts at the factors, and each departure has a name."""

from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal

from moving_people import MovingPeople, N, V
from stillome.exceptions import FitError, InputError, StillomeWarning
from stillome.methods.graph_vae.departures import CHOICES, PUBLISHED
from stillome.methods.graph_vae.frozen_stages import frozen_stages
from stillome.methods.graph_vae.inv_vae import InvVAE
from stillome.methods.inv_fa.inv_fa import InvFA
from stillome.methods.registry import make_method
from stillome.simulate import simulate_cohort

DATA = MovingPeople()
QUICK = {"n_components": 6, "hidden": (16,), "n_dimensions": 2, "n_neighbors": 4}
QUICK |= {"learning_rate": 1e-2, "max_epochs": 6}


@pytest.fixture(scope="module")
def fitted() -> InvVAE:
    return InvVAE(**QUICK).fit(DATA.X, DATA.traits, confounds=DATA.motion)


def test_without_a_better_epoch_it_is_the_factor_model_to_the_last_bit() -> None:
    # No weight in single precision moves by so small a step, so that epoch 0 stays the best.
    still = InvVAE(6, learning_rate=1e-30, max_epochs=2)
    still.fit(DATA.X, DATA.traits, confounds=DATA.motion)
    factors = InvFA(6).fit(DATA.X, DATA.traits, confounds=DATA.motion)
    given = {"confounds": DATA.motion}
    for ask in ("transform", "adjust", "predict", "reconstruct"):
        answers = (getattr(model, ask)(DATA.X, **given) for model in (still, factors))
        assert_array_equal(*answers, err_msg=ask)
    unknown = {"confounds": np.full(N, np.nan)}
    assert_array_equal(*(model.transform(DATA.X, **unknown) for model in (still, factors)))
    one, other = (model.adjust(DATA.X, **given, n_draws=2) for model in (still, factors))
    # The spread of z came through single precision: a few counts at the edge of a step differ.
    assert (one != other).mean() < 1e-3
    assert still.log_likelihood(DATA.X, **given) == factors.log_likelihood(DATA.X, **given)


def test_the_network_trains_on_the_rates_that_the_model_answers_with(fitted: InvVAE) -> None:
    model = fitted.model_
    latent, motion = model.encode(DATA.X, DATA.motion[:, None])
    functions = model.basis(motion)
    z = model.decoder_input(latent, functions, functions)
    stages = frozen_stages(model, pooled=True)
    rates = stages.log_rates(*(torch.from_numpy(a).float() for a in (z, functions)))
    expected = model.law(latent, motion, motion).log_rates - model.person.deviation(z, motion)
    assert_allclose(rates.numpy(), expected, atol=1e-4)


def test_the_course_of_the_training_starts_at_the_factors(fitted: InvVAE) -> None:
    history = fitted.history_
    assert history["epoch"].tolist() == list(range(len(history))) and len(history) == 7
    best = history["validation_loss"].idxmin()
    assert best > 0  # something was learned that holds for subjects whom nothing was fitted to
    assert not fitted.diagnostics_.collapsed


def test_traits_of_the_objective_are_predicted(fitted: InvVAE) -> None:
    predicted = fitted.predict(DATA.X, confounds=DATA.motion)
    for found, true in zip(predicted.T, DATA.traits.T, strict=True):
        assert np.corrcoef(found, true)[0, 1] > 0.8


def test_the_order_of_subjects_does_not_matter(fitted: InvVAE) -> None:
    order = np.random.default_rng(0).permutation(N)
    other = InvVAE(**QUICK).fit(DATA.X[order], DATA.traits[order], confounds=DATA.motion[order])
    assert_array_equal(
        other.transform(DATA.X, confounds=DATA.motion),
        fitted.transform(DATA.X, confounds=DATA.motion),
    )


def test_motion_may_be_unknown(fitted: InvVAE) -> None:
    some = np.where(np.arange(N) % 4 == 0, np.nan, DATA.motion)
    adjusted = fitted.adjust(DATA.X, confounds=some)
    known = fitted.adjust(DATA.X, confounds=DATA.motion)
    assert_array_equal(adjusted[~np.isnan(some)], known[~np.isnan(some)])
    assert fitted.infer_confounds(DATA.X).mean.shape == (N, 1)
    assert not hasattr(InvVAE.as_published(), "infer_confounds")


def test_weights_and_sites(tmp_path: Path) -> None:
    confounds = np.column_stack([DATA.motion, DATA.rotation, DATA.site])
    weights = 0.37 * (DATA.X_sites + 0.5) * DATA.grain
    model = InvVAE(**QUICK).fit(weights, confounds=confounds)
    adjusted = model.adjust(weights, confounds=confounds)
    assert np.isfinite(adjusted).all() and (adjusted >= 0).all()
    loaded = InvVAE.load(model.save(tmp_path / "model"))
    assert_array_equal(loaded.adjust(weights, confounds=confounds), adjusted)


def test_a_stored_model_answers_with_the_same_bits(fitted: InvVAE, tmp_path: Path) -> None:
    loaded = InvVAE.load(fitted.save(tmp_path / "model"))
    for options in ({}, {"n_draws": 2}, {"method": "decode"}):
        assert_array_equal(
            loaded.adjust(DATA.X, confounds=DATA.motion, **options),
            fitted.adjust(DATA.X, confounds=DATA.motion, **options),
        )
    mean, sd = loaded.transform(DATA.X, confounds=DATA.motion, return_std=True)
    assert_array_equal(sd, fitted.transform(DATA.X, confounds=DATA.motion, return_std=True)[1])
    assert mean.shape == sd.shape == (N, 6) and (sd > 0).all()
    unknown = {"confounds": np.full(N, np.nan)}
    assert_array_equal(loaded.predict(DATA.X, **unknown), fitted.predict(DATA.X, **unknown))
    assert loaded.history_.equals(fitted.history_)
    assert loaded.log_likelihood(DATA.X, confounds=DATA.motion) == fitted.log_likelihood(
        DATA.X, confounds=DATA.motion
    )


def test_a_stopped_training_goes_on_to_the_same_bits(fitted: InvVAE, tmp_path: Path) -> None:
    seen: list[int] = []

    def stop(record: object) -> None:
        seen.append(record.epoch)
        if record.epoch == 2:
            raise KeyboardInterrupt

    quick = QUICK | {"checkpoint_dir": tmp_path}
    with pytest.raises(KeyboardInterrupt):
        InvVAE(**quick, callback=stop).fit(DATA.X, DATA.traits, confounds=DATA.motion)
    resumed = InvVAE(**quick, callback=lambda record: seen.append(record.epoch))
    resumed.fit(DATA.X, DATA.traits, confounds=DATA.motion)
    assert seen == [1, 2, 3, 4, 5, 6]
    known = {"confounds": DATA.motion}
    assert_array_equal(resumed.transform(DATA.X, **known), fitted.transform(DATA.X, **known))
    assert resumed.history_.equals(fitted.history_)


RUNGS = [
    {"adjusting": "replay"},
    {"adjusting": "replay", "likelihood": "negative-binomial"},
    {"adjusting": "replay", "encoder_input": "residual"},
    {"adjusting": "replay", "motion_effect": "pooled"},
    {"likelihood": "negative-binomial", "encoder_input": "residual", "motion_effect": "pooled"},
]


@pytest.mark.parametrize("departures", RUNGS, ids="+".join)
@pytest.mark.filterwarnings("ignore:The latent has collapsed")
def test_every_departure_from_the_paper_can_be_taken_alone(departures: dict) -> None:
    model = InvVAE.as_published(**(QUICK | departures))
    model.fit(DATA.X, DATA.traits, confounds=DATA.motion)
    assert model.transform(DATA.X, confounds=DATA.motion).shape == (N, 6)
    adjusted = model.adjust(DATA.X, confounds=DATA.motion)
    if model.adjusting == "replay":
        assert adjusted.dtype == DATA.X.dtype and (adjusted >= 0).all()
        near = np.corrcoef(np.log1p(adjusted).ravel(), np.log1p(DATA.X).ravel())[0, 1]
        assert near > 0.9  # of the same person
    else:
        assert (adjusted > 0).all() and (adjusted != np.round(adjusted)).any()
    assert model.history_["epoch"].iloc[0] == 1  # no factors to start at
    assert model.sample(3).connectomes.shape == (3, V, V)


@pytest.mark.parametrize(
    ("parameters", "named"),
    [
        ({"likelihood": "normal"}, "likelihood='normal'; expected 'negative-binomial' or"),
        ({"decoder": "deep"}, "decoder='deep'"),
        ({"likelihood": "poisson"}, r"starts at the factors.*likelihood='negative-binomial'"),
        ({"motion_effect": "none"}, r"starts at the factors.*motion_effect='pooled'"),
        ({"motion_effect": "none", "decoder": "graph"}, "nothing to replay"),
        ({"learning_rate": -1}, "learning_rate=-1"),
    ],
)
def test_settings_that_do_not_go_together_are_named(parameters: dict, named: str) -> None:
    with pytest.raises(InputError, match=named):
        InvVAE(**(QUICK | parameters)).fit(DATA.X, confounds=DATA.motion)
    with pytest.raises(InputError, match=named):
        InvVAE(**(QUICK | parameters)).check_parameters()


@pytest.mark.parametrize("preset", [{}, PUBLISHED])
def test_a_diverged_training_is_no_result(preset: dict) -> None:
    model = InvVAE(**(preset | QUICK | {"learning_rate": 30.0}))
    with pytest.raises(FitError, match=r"(diverged|not finite).*Lower learning_rate \(now 30\)"):
        model.fit(DATA.X, confounds=DATA.motion)


def test_batches_larger_than_the_cohort_are_told() -> None:
    with pytest.warns(StillomeWarning, match="batch_size=500 is larger than the 120 subjects"):
        InvVAE(**QUICK, batch_size=500).fit(DATA.X, confounds=DATA.motion)
    with pytest.raises(InputError, match="at least 10"):
        InvVAE(**QUICK).fit(DATA.X[:1], confounds=DATA.motion[:1])


def test_as_published_nothing_is_drawn() -> None:
    model = InvVAE.as_published(**QUICK).fit(DATA.X, confounds=DATA.motion)
    with pytest.raises(InputError, match=r"as published: it decodes.*adjusting='replay'"):
        model.adjust(DATA.X, n_draws=3)


def test_a_preset_is_a_way_to_make_the_method() -> None:
    made = make_method("inv-vae", preset="published", max_epochs=7)
    assert made.get_params() == InvVAE.as_published(max_epochs=7).get_params()
    assert set(CHOICES) <= set(PUBLISHED)
    with pytest.raises(InputError, match="'inv-vae' has no preset 'mine'; it has published"):
        make_method("inv-vae", preset="mine")
    with pytest.raises(InputError, match="'combat' has no preset 'published'; it has none"):
        make_method("combat", preset="published")


def test_people_on_the_curved_surface_differ_by_three_numbers() -> None:
    simulated = simulate_cohort(30, "curved", random_state=0)
    population, regime = simulated.oracle.population, simulated.oracle.regime
    others = simulated.latents.copy()
    others[:, 3:] = 0
    motion = simulated.confounds[:, 0]
    rates = [population.rates(regime, z, motion).free for z in (simulated.latents, others)]
    assert_array_equal(*rates)
