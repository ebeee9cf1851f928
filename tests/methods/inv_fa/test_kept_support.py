"""Adjusted and synthetic connectomes have no value that the pipeline could not have written."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from moving_people import E, MovingPeople
from stillome.cohort.edges import matrices_to_edges
from stillome.methods.inv_fa.inv_fa import InvFA
from stillome.simulate import simulate_scans

DATA = MovingPeople(80)


def written(counts: np.ndarray, rule: str) -> np.ndarray:
    """Write counts (n, E) as a pipeline with this rule does."""
    if rule == "floor 3":
        return np.where(counts < 3, 0, counts)
    if rule == "floor 5":
        return np.where(counts < 5, 0, counts)
    if rule == "even":
        return 2 * counts
    if rule == "halves":
        return np.where(counts < 3, 0, counts) / 2
    if rule == "rounded":
        return np.round(counts * 1.1, 1)
    if rule == "capped":
        return np.minimum(counts, 255)
    if rule == "thresholded":
        return np.where(counts < 0.02 * counts.max(axis=1, keepdims=True), 0, counts)
    return np.where(counts < 0.001 * counts.sum(axis=1, keepdims=True), 0, counts)


RULES = ("floor 3", "floor 5", "even", "halves", "rounded", "capped", "thresholded", "of total")


def is_allowed(values: np.ndarray, rule: str, model: InvFA) -> bool:
    present = values > 0
    smallest = np.where(present, values, np.inf).min(axis=1)
    if rule in ("floor 3", "floor 5"):
        return bool((smallest >= int(rule[-1])).all())
    if rule == "even":
        return bool((values % 2 == 0).all())
    if rule == "halves":
        return bool((values % 0.5 == 0).all() and (smallest >= 1.5).all())
    if rule == "rounded":
        return bool((np.abs(values - np.round(values, 1)) < 1e-9).all())
    if rule == "capped":
        return bool((values <= 255).all() and (values == np.round(values)).all())
    support = model.model_.support
    if rule == "thresholded":
        return bool((smallest >= float(support.of_largest) * values.max(axis=1) - 1e-9).all())
    return bool((smallest >= float(support.of_total) * values.sum(axis=1) - 1e-9).all())


@cache
def fitted(rule: str) -> InvFA:
    return InvFA(5).fit(written(DATA.X, rule), confounds=DATA.motion)


@pytest.mark.parametrize("rule", RULES)
def test_what_is_adjusted_could_have_been_scanned(rule):
    X, model = written(DATA.X, rule), fitted(rule)
    support = model.model_.support
    assert is_allowed(X, rule, model)
    assert support.is_relative == (rule in ("thresholded", "of total"))
    adjusted = model.adjust(X, confounds=DATA.motion)
    drawn = model.adjust(X, confounds=DATA.motion, n_draws=2)
    sampled = matrices_to_edges(model.sample(50).connectomes)
    for values in (adjusted, *drawn, sampled):
        assert is_allowed(values, rule, model)
    assert adjusted.dtype == X.dtype and adjusted.sum() > 1.05 * X.sum() * (rule != "capped")


@settings(max_examples=15)
@given(
    rule=st.sampled_from(RULES),
    seed=st.integers(0, 10**6),
    size=st.floats(0.05, 3),
    motion=st.floats(0.1, 1.5),
    reference=st.sampled_from([0.0, 0.3, 1.2]),
)
def test_unseen_subjects_keep_to_the_rule_too(rule, seed, size, motion, reference):
    rng = np.random.default_rng(seed)
    X = written(rng.poisson(size * rng.gamma(0.8, 40.0, (3, E))), rule)
    model = fitted(rule)
    if not is_allowed(X, rule, model):
        return  # a share of the total that is left has changed with the values left out
    confounds = np.full(3, motion)
    adjusted = model.adjust(X, confounds=confounds, reference=reference)
    drawn = model.adjust(X, confounds=confounds, reference=reference, n_draws=1)[0]
    assert is_allowed(adjusted, rule, model) and is_allowed(drawn, rule, model)


def test_a_subject_with_smaller_values_than_in_training_keeps_its_own_floor():
    model = fitted("floor 3")
    X = DATA.X[:20].copy()
    X[:10] = written(X[:10], "floor 3")
    X[10:, :5] = 2
    adjusted = model.adjust(X, confounds=DATA.motion[:20])
    smallest = np.where(adjusted > 0, adjusted, 99).min(axis=1)
    own = np.where(X > 0, X, 99).min(axis=1)
    assert (smallest >= np.minimum(own, 3)).all() and (smallest[:10] >= 3).all()


def test_no_ones_and_twos_in_scans_without_them():
    scans = simulate_scans(80, random_state=1)
    model = InvFA(5).fit(scans.X, confounds=scans.confounds)
    adjusted = model.adjust(scans.X, confounds=scans.confounds)
    drawn = model.adjust(scans.X, confounds=scans.confounds, n_draws=1)
    assert adjusted.dtype == drawn.dtype == scans.X.dtype
    answer = model.adjust(scans.X[:8], confounds=scans.confounds[:8], interval=0.9)
    for values in (adjusted, drawn, answer.lower, answer.upper):
        assert not np.isin(values, (1, 2)).any()
        assert (values == 3).any() and (values == 0).any()
    sampled = model.sample(20).connectomes
    assert sampled.dtype == np.int64 and not np.isin(sampled, (1, 2)).any()
    # About as many zeros as scans without motion have, and as many fibres.
    free = scans.X_free
    assert (adjusted == 0).mean() == pytest.approx((free == 0).mean(), abs=0.08)
    assert adjusted.sum() == pytest.approx(free.sum(), rel=0.1)


def test_halves_stay_halves_in_any_float():
    X = written(DATA.X, "halves")
    for dtype in (np.float32, np.float64):
        adjusted = fitted("halves").adjust(X.astype(dtype), confounds=DATA.motion)
        assert adjusted.dtype == dtype
        assert_array_equal(adjusted % 0.5, 0)
        assert ((adjusted % 1) == 0.5).any()


@pytest.mark.parametrize(("dtype", "wide"), [(np.uint8, np.int64), (np.float16, np.float64)])
def test_values_that_outgrow_their_dtype_get_a_wider_one(dtype, wide):
    top = 255 if dtype == np.uint8 else 65_000
    rng = np.random.default_rng(0)
    shrink = np.exp(-2.0 * DATA.motion[:, None])
    X = rng.poisson(np.minimum(np.exp(DATA.free) * shrink, 100)).clip(0, 254)
    X = (X * (top // 255)).astype(dtype)
    adjusted = InvFA(4).fit(X, confounds=DATA.motion).adjust(X, confounds=DATA.motion)
    assert adjusted.max() > top and adjusted.dtype == wide


def test_an_almost_empty_connectome_is_adjusted_like_any_other():
    for rule in RULES:
        X = written(DATA.X[:6], rule)
        X[2, np.argsort(X[2])[:-1]] = 0
        adjusted = fitted(rule).adjust(X, confounds=DATA.motion[:6])
        assert np.isfinite(adjusted).all() and is_allowed(adjusted, rule, fitted(rule))


def test_a_high_threshold_does_not_make_rare_edges_explode():
    cohort = simulate_scans(160, threshold=0.01, random_state=5)
    model = InvFA().fit(cohort.X[:120], confounds=cohort.confounds[:120])
    adjusted = model.adjust(cohort.X[120:], confounds=cohort.confounds[120:])
    truth = cohort.X_free[120:]
    assert adjusted.max() < 2 * truth.max()
    assert abs((adjusted == 0).mean() - (truth == 0).mean()) < 0.03
