"""InvFA as an estimator: what it promises about any connectomes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from moving_people import E, MovingPeople, N, V
from stillome.cohort.edges import edges_to_matrices, matrices_to_edges
from stillome.exceptions import (
    ConfoundsError,
    InputError,
    StillomeWarning,
)
from stillome.methods.inv_fa.inv_fa import InvFA

DATA = MovingPeople()


@pytest.fixture(scope="module")
def fitted() -> InvFA:
    return InvFA(8).fit(DATA.X, DATA.traits, confounds=DATA.motion)


@pytest.mark.parametrize("dtype", [np.int64, np.uint16, np.float64, np.float32])
def test_counts_stay_counts(fitted, dtype):
    adjusted = fitted.adjust(DATA.X.astype(dtype), confounds=DATA.motion)
    assert adjusted.dtype == dtype and (adjusted >= 0).all()
    assert_array_equal(adjusted, np.round(adjusted))
    assert adjusted.sum() > 1.1 * DATA.X.sum()


def test_counts_that_outgrow_their_dtype_are_not_wrapped():
    small = np.where(DATA.X < 256, DATA.X, DATA.X // 4 % 256).astype(np.uint8)
    model = InvFA(4).fit(small, confounds=DATA.motion)
    adjusted = model.adjust(small, confounds=DATA.motion)
    assert adjusted.max() > 255 and adjusted.dtype == np.int64
    assert_array_equal(adjusted, model.adjust(small.astype(np.int64), confounds=DATA.motion))


@pytest.mark.parametrize("unit", [0.0137, 3.7, np.pi * 1e6])
def test_weights_stay_weights_and_zeros_that_motion_did_not_make_stay(unit):
    weights = unit * np.where(np.arange(E) % 7 == 0, DATA.X > 4, (DATA.X + 0.5) * DATA.grain)
    weights[:, :3] = 0
    model = InvFA(4).fit(weights, confounds=DATA.motion)
    adjusted = model.adjust(weights, confounds=DATA.motion)
    assert adjusted.dtype == weights.dtype and np.isfinite(adjusted).all()
    assert (adjusted >= 0).all() and (adjusted[:, :3] == 0).all()
    assert (adjusted != np.round(adjusted)).any()
    never_empty = (weights > 0).all(axis=0)
    assert (adjusted[:, never_empty] > 0).all()
    assert adjusted.sum() > 1.05 * weights.sum()


def test_who_hardly_moved_is_drawn_as_widely_as_others():
    weights = 0.37 * DATA.X * DATA.grain
    model = InvFA(8).fit(weights, confounds=DATA.motion)
    nearly = np.full_like(DATA.motion[:20], 1e-6)
    still = model.adjust(weights[:20], confounds=nearly, n_draws=30)
    moved = model.adjust(weights[:20], confounds=DATA.motion[:20], n_draws=30)
    with np.errstate(divide="ignore", invalid="ignore"):
        widths = [np.nanmedian(np.log(draws).std(axis=0)) for draws in (still, moved)]
    # A width that told motion would be one more way to read it.
    assert 0.5 < widths[0] / widths[1] <= 1.01


def test_whole_numbers_given_to_a_model_of_weights_are_weights():
    weights = 0.001 * (DATA.X + 0.5) * DATA.grain
    model = InvFA(4).fit(weights, confounds=DATA.motion)
    whole = np.where(weights > 0.05, 1, 0)
    adjusted = model.adjust(whole, confounds=DATA.motion)
    assert adjusted.dtype == np.float64 and (adjusted >= 0).all()
    assert adjusted.mean() < 10
    with pytest.raises(InputError, match="fibre counts only"):
        model.adjust(weights, confounds=DATA.motion, interval=0.9)


@pytest.mark.parametrize("scale", [1, 0.37])
def test_a_subject_at_the_reference_comes_back_unchanged(fitted, scale):
    X = DATA.X * scale
    model = fitted if scale == 1 else InvFA(4).fit(X, confounds=DATA.motion)
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
    seeded = InvFA(8, random_state=1).fit(DATA.X, DATA.traits, confounds=DATA.motion)
    assert_array_equal(seeded.adjust(DATA.X, confounds=DATA.motion), other)


def test_draws_have_their_own_axis(fitted):
    several = fitted.adjust(DATA.X, confounds=DATA.motion, n_draws=3)
    assert several.shape == (3, N, E)
    again = fitted.adjust(DATA.X, confounds=DATA.motion, n_draws=2)
    assert_array_equal(several[:2], again)
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
    assert np.corrcoef(np.log(decoded).ravel(), np.log(true).ravel())[0, 1] > 0.93


def test_reconstruction_is_the_expected_scan(fitted):
    expected = fitted.reconstruct(edges_to_matrices(DATA.X), confounds=DATA.motion)
    assert expected.shape == (N, V, V) and (np.diagonal(expected, axis1=1, axis2=2) == 0).all()
    assert_allclose(expected.sum(), 2 * DATA.X.sum(), rtol=0.03)


def test_motion_may_be_unknown_for_some_in_training():
    some = np.where(np.arange(N) % 3 == 0, np.nan, DATA.motion)
    known = ~np.isnan(some)
    model = InvFA(8).fit(DATA.X, DATA.traits, confounds=some)
    same = InvFA(8).fit(DATA.X[known], DATA.traits[known], confounds=some[known])
    answers = [one.transform(DATA.X, confounds=some) for one in (model, same)]
    assert_array_equal(*answers)
    assert np.isfinite(model.adjust(DATA.X, confounds=some)).all()


def test_motion_may_be_unknown_at_use(fitted):
    nothing = np.full(N, np.nan)
    some = np.where(np.arange(N) < 60, np.nan, DATA.motion)
    adjusted = fitted.adjust(DATA.X, confounds=some)
    known = fitted.adjust(DATA.X, confounds=DATA.motion)
    assert_array_equal(adjusted[60:], known[60:])
    assert_array_equal(adjusted[:60], fitted.adjust(DATA.X, confounds=nothing)[:60])
    assert fitted.predict(DATA.X, confounds=nothing).shape == (N, 2)


def test_nothing_at_all_is_unknown_motion_with_a_warning(fitted):
    nothing = np.full(N, np.nan)
    for method in ("transform", "adjust", "predict", "reconstruct", "log_likelihood"):
        expected = getattr(fitted, method)(DATA.X, confounds=nothing)
        with pytest.warns(StillomeWarning, match="motion is inferred from the con") as told:
            assert_array_equal(getattr(fitted, method)(DATA.X), expected)
        assert len(told) == 1


def test_without_confounds_nothing_is_removed():
    with pytest.warns(StillomeWarning, match=r"InvFA\.fit: no confounds were given"):
        model = InvFA(8).fit(DATA.X, DATA.traits)
    assert model.n_confounds_ == 0
    assert_array_equal(model.adjust(DATA.X), DATA.X)
    with pytest.raises(ConfoundsError, match="this InvFA was fitted without any"):
        model.adjust(DATA.X, confounds=DATA.motion)
    Z = model.transform(DATA.X)
    seen = np.corrcoef(Z[:, Z.any(axis=0)].T, DATA.motion)[-1, :-1]
    assert np.abs(seen).max() > 0.4  # what it does not remove is there


def test_inferred_motion_is_in_the_users_units_and_knows_its_error(fitted):
    new = MovingPeople(300)
    new_people = slice(N, None)
    model = InvFA(8).fit(new.X[:N], confounds=1000 * new.motion[:N])
    inferred = model.infer_confounds(new.X[new_people])
    errors = inferred.mean[:, 0] - 1000 * new.motion[new_people]
    assert errors.std() < 0.6 * 1000 * new.motion.std()
    assert 0.6 < errors.std() / inferred.sd[0, 0] < 1.5


def test_translation_rotation_and_site_together():
    confounds = np.column_stack([DATA.motion, DATA.rotation, DATA.site])
    model = InvFA(8).fit(DATA.X_sites, confounds=confounds)
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
        # In this sample the truth itself happens to correlate with motion, at -0.15.
        truth, adjusted = (
            np.corrcoef(table[:, strong].mean(axis=1), target)[0, 1]
            for table in (np.log1p(np.exp(DATA.free)), logs[0])
        )
        assert abs(adjusted - truth) < 0.12
    assert model.infer_confounds(DATA.X_sites).mean.shape == (N, 3)


def test_traits_in_the_users_units_with_some_missing():
    traits = DATA.traits.copy()
    traits[:30, 1] = np.nan
    model = InvFA(8).fit(DATA.X, traits, confounds=DATA.motion)
    predicted = model.predict(DATA.X, confounds=DATA.motion)
    assert_allclose(predicted.mean(axis=0), 100, atol=5)
    for found, true in zip(predicted.T, DATA.traits.T, strict=True):
        assert np.corrcoef(found, true)[0, 1] > 0.8
    assert model.score(DATA.X, traits, confounds=DATA.motion) > 0.6
    one = InvFA(8).fit(DATA.X, DATA.traits[:, 0], confounds=DATA.motion)
    assert one.predict(DATA.X, confounds=DATA.motion).shape == (N,)
    assert one.sample(5).traits.shape == (5,)


def test_score_without_traits_is_the_likelihood(fitted):
    own = fitted.log_likelihood(DATA.X, confounds=DATA.motion)
    wrong = fitted.log_likelihood(DATA.X, confounds=DATA.motion[::-1].copy())
    empty = (
        InvFA(1).fit(DATA.X, confounds=DATA.motion).log_likelihood(DATA.X, confounds=DATA.motion)
    )
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
    rng = np.random.default_rng(1)
    lengths = rng.uniform(10, 150, E)
    # Motion costs long edges more: an edge of few fibres can be told its effect by its length.
    X = rng.poisson(np.exp(0.5 + DATA.free / 3 - 0.012 * lengths * DATA.motion[:, None]))
    matrix = edges_to_matrices(lengths)
    errors = []
    for given in (matrix, edges_to_matrices(rng.permutation(lengths)), None):
        model = InvFA(8, lengths=given).fit(X, confounds=DATA.motion)
        latent, motion = model.model_.encode(X, DATA.motion[:, None])
        here, there = (model.model_.law(latent, motion + more, motion) for more in (0, 0.1))
        effect = there.log_rates - here.log_rates
        errors.append(np.abs(effect.mean(axis=0) + 0.0012 * lengths).mean())
    assert errors[0] < 0.9 * min(errors[1:])


@pytest.mark.parametrize("weight", [0.17, 40.0])
def test_synthetic_weights_have_the_unit_of_the_training_weights(weight):
    rng = np.random.default_rng(2)
    X = DATA.X * rng.lognormal(0, 0.2, DATA.X.shape) * weight / DATA.X.mean()
    drawn = InvFA(8).fit(X, confounds=DATA.motion).sample(2000)
    edges = matrices_to_edges(drawn.connectomes)
    assert drawn.connectomes.dtype == np.float64 and (edges >= 0).all()
    assert_allclose(edges.mean(), X.mean(), rtol=0.2)
    assert_allclose((edges == 0).mean(), (X == 0).mean(), atol=0.02)
    assert np.corrcoef(edges.mean(axis=0), X.mean(axis=0))[0, 1] > 0.98
    total = np.log(edges.sum(axis=1))
    assert np.corrcoef(total, drawn.confounds[:, 0])[0, 1] < -0.2
