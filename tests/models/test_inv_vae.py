"""InvVAE as an estimator: what it promises about any connectomes."""

import json
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from stillome.edges import edges_to_matrices
from stillome.exceptions import (
    ConfoundsError,
    FileError,
    InputError,
    NotFittedError,
    StillomeWarning,
)
from stillome.models.inv_vae import InvVAE

N, V = 120, 12
E = V * (V - 1) // 2


class Data:
    """People of whom motion takes fibres, some more at the second site."""

    def __init__(self, n: int = N, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self.motion = rng.lognormal(-1, 0.5, n)
        self.rotation = 0.01 * self.motion * rng.lognormal(0, 0.3, n)
        self.site = (np.arange(n) % 2).astype(float)
        self.people = rng.standard_normal((n, 3))
        person = self.people @ rng.normal(0, 0.4, (3, E))
        self.free = rng.uniform(0, 5, E) + person
        effect = rng.normal(-0.8, 0.2, E) * self.motion[:, None]
        noise = rng.gamma(10, 0.1, (n, E))
        self.X = rng.poisson(np.exp(self.free + effect) * noise)
        self.X_sites = rng.poisson(np.exp(self.free + effect + 0.4 * self.site[:, None]) * noise)
        self.traits = 100 + 15 * (self.people[:, :2] + 0.3 * rng.standard_normal((n, 2)))


DATA = Data()


@pytest.fixture(scope="module")
def fitted() -> InvVAE:
    return InvVAE(8).fit(DATA.X, DATA.traits, confounds=DATA.motion)


@pytest.mark.parametrize("dtype", [np.int64, np.uint16, np.float64, np.float32])
def test_counts_stay_counts(fitted, dtype):
    adjusted = fitted.adjust(DATA.X.astype(dtype), confounds=DATA.motion)
    assert adjusted.dtype == dtype and (adjusted >= 0).all()
    assert_array_equal(adjusted, np.round(adjusted))
    assert adjusted.sum() > 1.1 * DATA.X.sum()


def test_counts_that_outgrow_their_dtype_are_not_wrapped():
    small = np.minimum(DATA.X, 255).astype(np.uint8)
    model = InvVAE(4).fit(small, confounds=DATA.motion)
    adjusted = model.adjust(small, confounds=DATA.motion)
    assert adjusted.max() > 255
    assert_array_equal(adjusted, model.adjust(small.astype(np.int64), confounds=DATA.motion))


@pytest.mark.parametrize("unit", [0.0137, 3.7, np.pi * 1e6])
def test_weights_stay_weights_and_zeros_that_motion_did_not_make_stay(unit):
    weights = unit * np.where(np.arange(E) % 7 == 0, DATA.X > 4, DATA.X + 0.5)
    weights[:, :3] = 0
    model = InvVAE(4).fit(weights, confounds=DATA.motion)
    adjusted = model.adjust(weights, confounds=DATA.motion)
    assert adjusted.dtype == weights.dtype and np.isfinite(adjusted).all()
    assert (adjusted >= 0).all() and (adjusted[:, :3] == 0).all()
    assert (adjusted != np.round(adjusted)).any()
    never_empty = (weights > 0).all(axis=0)
    assert (adjusted[:, never_empty] > 0).all()
    assert adjusted.sum() > 1.05 * weights.sum()


def test_whole_numbers_given_to_a_model_of_weights_are_weights():
    weights = 0.001 * (DATA.X + 0.5)
    model = InvVAE(4).fit(weights, confounds=DATA.motion)
    whole = np.where(weights > 0.05, 1, 0)
    adjusted = model.adjust(whole, confounds=DATA.motion)
    assert adjusted.dtype == np.float64 and (adjusted >= 0).all()
    assert adjusted.mean() < 10
    with pytest.raises(InputError, match="whole-number counts only"):
        model.adjust(weights, confounds=DATA.motion, interval=0.9)


@pytest.mark.parametrize("scale", [1, 0.37])
def test_a_subject_at_the_reference_comes_back_unchanged(fitted, scale):
    X = DATA.X * scale
    model = fitted if scale == 1 else InvVAE(4).fit(X, confounds=DATA.motion)
    level = DATA.motion[5]
    adjusted = model.adjust(X, confounds=DATA.motion, reference=level, n_draws=2)
    assert_array_equal(adjusted[:, 5], np.stack([X[5], X[5]]))
    assert (adjusted[0] != X).any(axis=1).sum() > N - 10


def test_the_same_seed_gives_the_same_draws_and_another_seed_others(fitted):
    first = fitted.adjust(DATA.X, confounds=DATA.motion)
    assert_array_equal(fitted.adjust(DATA.X, confounds=DATA.motion, random_state=0), first)
    other = fitted.adjust(DATA.X, confounds=DATA.motion, random_state=1)
    share = (other != first).mean()
    assert 0.05 < share < 0.95
    seeded = InvVAE(8, random_state=1).fit(DATA.X, DATA.traits, confounds=DATA.motion)
    assert_array_equal(seeded.adjust(DATA.X, confounds=DATA.motion), other)


def test_draws_have_their_own_axis(fitted):
    several = fitted.adjust(DATA.X, confounds=DATA.motion, n_draws=3)
    assert several.shape == (3, N, E)
    assert_array_equal(several[0], fitted.adjust(DATA.X, confounds=DATA.motion))
    assert (several[0] != several[1]).any() and (several[1] != several[2]).any()
    matrices = edges_to_matrices(DATA.X[:4])
    assert fitted.adjust(matrices, confounds=DATA.motion[:4], n_draws=2).shape == (2, 4, V, V)


def test_nobody_depends_on_who_else_is_adjusted(fitted):
    order = np.random.default_rng(0).permutation(N)[:50]
    together = fitted.adjust(DATA.X, confounds=DATA.motion)
    assert_array_equal(fitted.adjust(DATA.X[order], confounds=DATA.motion[order]), together[order])
    alone = fitted.adjust(DATA.X[7:8], confounds=DATA.motion[7:8])
    assert_array_equal(alone[0], together[7])


def test_bounds_have_the_shape_of_the_input_and_hold_the_answer(fitted):
    matrices = edges_to_matrices(DATA.X)
    answer = fitted.adjust(matrices, confounds=DATA.motion, interval=0.9)
    assert answer.lower.shape == answer.upper.shape == answer.connectomes.shape == (N, V, V)
    inside = (answer.lower <= answer.connectomes) & (answer.connectomes <= answer.upper)
    assert inside.mean() > 0.9 and (answer.lower >= 0).all()
    wider = fitted.adjust(matrices, confounds=DATA.motion, interval=0.99)
    assert (wider.upper >= answer.upper).all() and (wider.lower <= answer.lower).all()


def test_the_reference_is_the_motion_decoded_at(fitted):
    totals = [
        fitted.adjust(DATA.X, confounds=DATA.motion, reference=level).sum()
        for level in (0.1, 0.4, 0.8)
    ]
    assert totals[0] > 1.1 * totals[1] > 1.2 * totals[2]
    with pytest.warns(StillomeWarning, match=r"reference=9 lies .* outside"):
        fitted.adjust(DATA.X, confounds=DATA.motion, reference=9)


def test_decoding_keeps_only_what_z_holds(fitted):
    decoded = fitted.adjust(DATA.X, confounds=DATA.motion, method="decode")
    replayed = fitted.adjust(DATA.X, confounds=DATA.motion)
    assert decoded.shape == DATA.X.shape and (decoded > 0).all()
    assert_allclose(decoded.sum(), replayed.sum(), rtol=0.05)
    true = np.exp(DATA.free)
    assert np.corrcoef(np.log(decoded).ravel(), np.log(true).ravel())[0, 1] > 0.95


def test_reconstruction_is_the_expected_scan(fitted):
    expected = fitted.reconstruct(edges_to_matrices(DATA.X), confounds=DATA.motion)
    assert expected.shape == (N, V, V) and (np.diagonal(expected, axis1=1, axis2=2) == 0).all()
    assert_allclose(expected.sum(), 2 * DATA.X.sum(), rtol=0.03)


def test_motion_may_be_unknown_for_some_in_training():
    some = np.where(np.arange(N) % 3 == 0, np.nan, DATA.motion)
    known = ~np.isnan(some)
    model = InvVAE(8).fit(DATA.X, DATA.traits, confounds=some)
    same = InvVAE(8).fit(DATA.X[known], DATA.traits[known], confounds=some[known])
    assert_array_equal(model.transform(DATA.X), same.transform(DATA.X))
    assert np.isfinite(model.adjust(DATA.X, confounds=some)).all()


def test_motion_may_be_unknown_at_use(fitted):
    nothing = np.full(N, np.nan)
    assert_array_equal(fitted.transform(DATA.X), fitted.transform(DATA.X, confounds=nothing))
    some = np.where(np.arange(N) < 60, np.nan, DATA.motion)
    adjusted = fitted.adjust(DATA.X, confounds=some)
    known = fitted.adjust(DATA.X, confounds=DATA.motion)
    assert_array_equal(adjusted[60:], known[60:])
    assert_array_equal(adjusted[:60], fitted.adjust(DATA.X)[:60])
    assert fitted.predict(DATA.X).shape == (N, 2)


def test_inferred_motion_is_in_the_users_units_and_knows_its_error(fitted):
    new = Data(300, seed=0)
    new_people = slice(N, None)
    model = InvVAE(8).fit(new.X[:N], confounds=1000 * new.motion[:N])
    inferred = model.infer_confounds(new.X[new_people])
    errors = inferred.mean[:, 0] - 1000 * new.motion[new_people]
    assert errors.std() < 0.6 * 1000 * new.motion.std()
    assert 0.6 < errors.std() / inferred.sd[0, 0] < 1.5


def test_translation_rotation_and_site_together():
    confounds = np.column_stack([DATA.motion, DATA.rotation, DATA.site])
    model = InvVAE(8).fit(DATA.X_sites, confounds=confounds)
    logs = []
    for site in (0, 1):
        reference = [0.3, 0.003, site]
        adjusted = model.adjust(DATA.X_sites, confounds=confounds, reference=reference)
        logs.append(np.log1p(adjusted))
    strong = DATA.X_sites.mean(axis=0) > 10
    shift = (logs[1] - logs[0])[:, strong].mean()
    assert abs(shift - 0.4) < 0.1
    raw = np.log1p(DATA.X_sites)[:, strong].mean(axis=1)
    for target in (DATA.motion, DATA.site):
        assert abs(np.corrcoef(raw, target)[0, 1]) > 0.15
        assert abs(np.corrcoef(logs[0][:, strong].mean(axis=1), target)[0, 1]) < 0.12
    assert model.infer_confounds(DATA.X_sites).mean.shape == (N, 3)


def test_traits_in_the_users_units_with_some_missing():
    traits = DATA.traits.copy()
    traits[:30, 1] = np.nan
    model = InvVAE(8).fit(DATA.X, traits, confounds=DATA.motion)
    predicted = model.predict(DATA.X, confounds=DATA.motion)
    assert_allclose(predicted.mean(axis=0), 100, atol=5)
    assert all(
        np.corrcoef(p, t)[0, 1] > 0.8 for p, t in zip(predicted.T, DATA.traits.T, strict=True)
    )
    assert model.score(DATA.X, traits, confounds=DATA.motion) > 0.6
    one = InvVAE(8).fit(DATA.X, DATA.traits[:, 0], confounds=DATA.motion)
    assert one.predict(DATA.X, confounds=DATA.motion).shape == (N,)
    assert one.sample(5).traits.shape == (5,)


def test_score_without_traits_is_the_likelihood(fitted):
    own = fitted.score(DATA.X, confounds=DATA.motion)
    wrong = fitted.score(DATA.X, confounds=DATA.motion[::-1].copy())
    empty = InvVAE(1).fit(DATA.X, confounds=DATA.motion).score(DATA.X, confounds=DATA.motion)
    assert own > wrong and own > empty


def test_synthetic_people_are_like_the_real_ones(fitted):
    drawn = fitted.sample(2000, random_state=3)
    assert drawn.connectomes.shape == (2000, V, V) and drawn.connectomes.dtype == np.int64
    assert_array_equal(drawn.connectomes, np.swapaxes(drawn.connectomes, 1, 2))
    assert drawn.confounds.shape == (2000, 1) and drawn.traits.shape == (2000, 2)
    real = edges_to_matrices(DATA.X).mean(axis=0)
    assert np.corrcoef(drawn.connectomes.mean(axis=0).ravel(), real.ravel())[0, 1] > 0.98
    assert_allclose(drawn.connectomes.mean(), real.mean(), rtol=0.1)
    assert_allclose(drawn.confounds.mean(), DATA.motion.mean(), rtol=0.1)
    assert_allclose(drawn.traits.mean(axis=0), DATA.traits.mean(axis=0), atol=3)
    assert_allclose(drawn.traits.std(axis=0), DATA.traits.std(axis=0), rtol=0.15)
    total = np.log(drawn.connectomes.sum(axis=(1, 2)))
    assert np.corrcoef(total, drawn.confounds[:, 0])[0, 1] < -0.2
    assert_array_equal(fitted.sample(3).connectomes, fitted.sample(3).connectomes)


def test_posterior_sd_is_given_when_asked_for(fitted):
    z, sd = fitted.transform(DATA.X, confounds=DATA.motion, return_std=True)
    assert z.shape == sd.shape == (N, 8)
    assert ((sd > 0) & (sd <= 1)).all()
    assert fitted.diagnostics_.active_units >= 3 and not fitted.diagnostics_.collapsed


def test_known_lengths_are_used():
    lengths = edges_to_matrices(np.linspace(10, 150, E))
    told = InvVAE(8, lengths=lengths).fit(DATA.X, confounds=DATA.motion)
    slopes = InvVAE(8).fit(DATA.X, confounds=DATA.motion).model_.effect.slopes
    assert np.abs(told.model_.effect.slopes - slopes).max() > 0


def test_the_published_model_is_one_call_away():
    from stillome.models.published import PublishedInvVAE

    paper = InvVAE.as_published()
    assert isinstance(paper, PublishedInvVAE)
    assert paper.get_params() == PublishedInvVAE().get_params()
    assert InvVAE.as_published(max_epochs=3).max_epochs == 3


def test_a_kept_model_answers_with_the_same_bits(fitted, tmp_path):
    again = InvVAE.load(fitted.save(tmp_path / "model"))
    for method in ("transform", "adjust", "predict", "reconstruct"):
        for confounds in (DATA.motion, None):
            assert_array_equal(
                getattr(again, method)(DATA.X, confounds=confounds),
                getattr(fitted, method)(DATA.X, confounds=confounds),
            )
    one, other = again.sample(4), fitted.sample(4)
    assert_array_equal(one.connectomes, other.connectomes)
    assert_array_equal(one.traits, other.traits)
    assert again.score(DATA.X) == fitted.score(DATA.X)
    assert again.diagnostics_.kl == fitted.diagnostics_.kl
    assert again.frontier_ is None and again.invariance_weight_ == 1


def cut_arrays(folder):
    path = folder / "arrays.safetensors"
    path.write_bytes(path.read_bytes()[:-9])


def lose_a_value(folder):
    path = folder / "model.json"
    header = json.loads(path.read_text())
    del header["state"]["n_regions_"]
    path.write_text(json.dumps(header))


def change_a_parameter(folder):
    path = folder / "model.json"
    header = json.loads(path.read_text())
    header["parameters"]["n_heads"] = 2
    path.write_text(json.dumps(header))


@pytest.mark.parametrize("damage", [cut_arrays, lose_a_value, change_a_parameter])
def test_a_damaged_folder_is_one_error(fitted, tmp_path, damage):
    folder = fitted.save(tmp_path / "model")
    damage(folder)
    with pytest.raises(FileError, match="damaged"):
        InvVAE.load(folder)


@pytest.mark.parametrize("n", [12, 30])
@pytest.mark.parametrize("scale", [1, 0.37], ids=["counts", "weights"])
def test_small_cohorts(n, scale):
    X, motion = DATA.X[:n] * scale, DATA.motion[:n]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The latent has collapsed", StillomeWarning)
        model = InvVAE().fit(X, DATA.traits[:n], confounds=motion)
    adjusted = model.adjust(X, confounds=motion, reference=float(np.median(motion)))
    assert np.isfinite(adjusted).all() and (adjusted >= 0).all()
    assert abs(np.log(adjusted.sum() / X.sum())) < 0.3
    assert np.isfinite(model.predict(X)).all()


def test_edges_that_never_vary():
    X = DATA.X.copy()
    X[:, :5], X[:, 5:10] = 0, 4
    model = InvVAE(8).fit(X, confounds=DATA.motion)
    adjusted = model.adjust(X, confounds=DATA.motion)
    assert adjusted[:, :5].mean() < 0.01
    assert abs(adjusted[:, 5:10].mean() - 4) < 1.5
    assert np.isfinite(model.transform(X)).all() and np.isfinite(model.score(X))


@pytest.mark.parametrize("value", [0, 3])
def test_connectomes_that_are_all_the_same_are_nobody(value):
    X = np.full((40, E), value)
    with pytest.warns(StillomeWarning, match="collapsed"):
        model = InvVAE(8).fit(X, confounds=DATA.motion[:40])
    assert np.abs(model.adjust(X, confounds=DATA.motion[:40]) - value).mean() < 0.5


def test_fibres_in_millions():
    X = DATA.X.astype(np.int64) * 40_000
    model = InvVAE(8).fit(X, confounds=DATA.motion)
    adjusted = model.adjust(X, confounds=DATA.motion)
    strong = X.mean(axis=0) > 2e6
    change = np.log(adjusted[:, strong] + 1) - np.log(X[:, strong] + 1)
    assert strong.sum() > 5
    assert np.corrcoef(change.mean(axis=1), DATA.motion)[0, 1] > 0.9


def test_motion_far_from_any_seen_gives_numbers(fitted):
    adjusted = fitted.adjust(DATA.X, confounds=DATA.motion * 50)
    assert (adjusted >= 0).all() and np.isfinite(
        fitted.transform(DATA.X, confounds=[1e6] * N)
    ).all()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"method": "encode"}, "method='encode'; expected 'counterfactual' or 'decode'"),
        ({"interval": 1.5}, "interval=1.5; expected a share above 0 and below 1"),
        ({"interval": "most"}, "interval='most'"),
        ({"n_draws": 0}, "n_draws=0; expected a whole number ≥ 1"),
        ({"method": "decode", "n_draws": 2}, "method='decode' draws nothing"),
        ({"method": "decode", "interval": 0.9}, "method='decode' draws nothing"),
        ({"reference": [0, 0]}, "reference: .* expected 1 finite value"),
        ({"random_state": -1}, "random_state=-1"),
        ({"confounds": DATA.motion[:3]}, "confounds: 3 rows for 120 subjects"),
    ],
)
def test_what_adjust_cannot_do_it_says(fitted, arguments, sentence):
    with pytest.raises(InputError, match=sentence):
        fitted.adjust(DATA.X, **({"confounds": DATA.motion} | arguments))


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"n_components": 0}, "n_components=0"),
        ({"invariance_weight": 2}, "invariance_weight=2; expected a share"),
        ({"invariance_weight": "much"}, "invariance_weight='much'"),
        ({"lengths": np.ones((3, 3))}, r"lengths: shape \(3, 3\)"),
        ({"random_state": "x"}, "random_state='x'"),
    ],
)
def test_settings_that_make_no_sense_are_named(parameters, sentence):
    with pytest.raises(InputError, match=sentence):
        InvVAE(**parameters).fit(DATA.X, confounds=DATA.motion)


def test_too_little_to_learn_from():
    with pytest.raises(ConfoundsError, match=r"InvVAE\.fit needs confounds"):
        InvVAE().fit(DATA.X)
    with pytest.raises(InputError, match="9"):
        InvVAE().fit(DATA.X[:9], confounds=DATA.motion[:9])
    with pytest.raises(ConfoundsError, match="known for 4 subjects"):
        InvVAE().fit(DATA.X, confounds=np.where(np.arange(N) < 4, DATA.motion, np.nan))
    with pytest.raises(ConfoundsError, match="covariates_to_keep: 3 rows"):
        InvVAE().fit(DATA.X, confounds=DATA.motion, covariates_to_keep=[1, 2, 3])
    without = InvVAE(4).fit(DATA.X, confounds=DATA.motion)
    with pytest.raises(NotFittedError, match="fitted without traits"):
        without.predict(DATA.X)
    assert without.sample(2).traits is None
    with pytest.raises(InputError, match="n_subjects=0"):
        without.sample(0)
