"""Draws: what is not known is drawn, the same in any company, and covers the truth."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from moving_people import MovingPeople
from stillome.exceptions import InputError
from stillome.methods.graph_vae.inv_vae import InvVAE
from stillome.methods.inv_fa.inv_fa import InvFA
from stillome.simulate import simulate_cohort

DATA = MovingPeople()


Model = InvFA | InvVAE


@pytest.fixture(scope="module", params=[InvFA, InvVAE])
def fitted(request) -> Model:
    return request.param(8).fit(DATA.X, confounds=DATA.motion)


def drawn(model: Model, rows=slice(None), n_draws: int = 3, **options) -> np.ndarray:
    return model.adjust(DATA.X[rows], confounds=DATA.motion[rows], n_draws=n_draws, **options)


def test_draws_differ_from_each_other_and_from_the_estimate(fitted):
    draws = drawn(fitted, n_draws=4)
    for one in range(4):
        for other in range(one):
            assert (draws[one] != draws[other]).mean() > 0.3
    estimate = fitted.adjust(DATA.X, confounds=DATA.motion)
    assert all((draw != estimate).mean() > 0.3 for draw in draws)


def test_a_subject_has_the_same_draws_in_any_company(fitted):
    together = drawn(fitted)
    order = np.random.default_rng(0).permutation(len(DATA.X))[:40]
    assert_array_equal(drawn(fitted, order), together[:, order])
    assert_array_equal(drawn(fitted, slice(7, 8)), together[:, 7:8])
    assert_array_equal(drawn(fitted, n_draws=2), together[:2])


def test_one_subject_with_weights_leaves_the_counts_of_others_alone(fitted):
    X = DATA.X[:12].astype(np.float64)
    whole = fitted.adjust(X, confounds=DATA.motion[:12])
    draws = fitted.adjust(X, confounds=DATA.motion[:12], n_draws=2)
    X[3, 5] += 0.4
    mixed = fitted.adjust(X, confounds=DATA.motion[:12])
    others = np.arange(12) != 3
    assert_array_equal(mixed[others], whole[others])
    again = fitted.adjust(X, confounds=DATA.motion[:12], n_draws=2)
    assert_array_equal(again[:, others], draws[:, others])
    alone = fitted.adjust(X[3:4], confounds=DATA.motion[3:4])
    assert_array_equal(mixed[3:4], alone)


def test_a_kept_model_gives_the_same_draws(fitted, tmp_path):
    again = type(fitted).load(fitted.save(tmp_path / "model"))
    for coupling in ("thinning", "quantile"):
        assert_array_equal(drawn(again, coupling=coupling), drawn(fitted, coupling=coupling))
    one, other = (
        model.adjust(DATA.X[:9], confounds=DATA.motion[:9], interval=0.8)
        for model in (again, fitted)
    )
    assert_array_equal(one.lower, other.lower)
    assert_array_equal(one.upper, other.upper)


def test_a_subject_at_the_reference_is_the_same_in_every_draw(fitted):
    level = DATA.motion[5]
    for coupling in ("thinning", "quantile"):
        draws = drawn(fitted, reference=level, coupling=coupling)
        assert_array_equal(draws[:, 5], np.stack([DATA.X[5]] * 3))


def test_the_seed_decides(fitted):
    assert_array_equal(drawn(fitted, random_state=0), drawn(fitted))
    assert (drawn(fitted, random_state=1) != drawn(fitted)).any()


def test_the_error_of_a_draw_is_shared_by_all_subjects(fitted):
    # The total over all subjects varies more than if each subject had an error of its own.
    totals = drawn(fitted, n_draws=20, coupling="quantile").sum(axis=2)
    logs = np.log(totals)
    independent = np.sqrt(logs.var(axis=0).mean() / logs.shape[1])
    assert logs.mean(axis=1).std() > 3 * independent
    # And those who moved more share more of it.
    errors = logs - logs.mean(axis=0)
    moved = np.argsort(DATA.motion)[-30:]
    assert (
        np.corrcoef(errors[:, moved[:15]].mean(axis=1), errors[:, moved[15:]].mean(axis=1))[0, 1]
        > 0.7
    )


def test_thinning_adds_the_noise_of_lost_streamlines(fitted):
    moved = DATA.motion > np.median(DATA.motion)
    spreads = [
        drawn(fitted, n_draws=10, coupling=coupling)[:, moved].std(axis=0).mean()
        for coupling in ("quantile", "thinning")
    ]
    assert spreads[1] > 1.1 * spreads[0]


def test_another_coupling_is_refused(fitted):
    with pytest.raises(InputError, match=r"^coupling='copula'; expected 'thinning' or"):
        drawn(fitted, coupling="copula")
    with pytest.raises(InputError, match=r"^coupling='copula'; expected"):
        fitted.adjust(DATA.X, confounds=DATA.motion, coupling="copula")


class Covered:
    """Subjects of whom streamlines were lost, with draws and bounds of what they had."""

    def __init__(self) -> None:
        simulated = simulate_cohort(250, "thinning", random_state=11)
        X, motion = simulated.X, simulated.confounds
        model = InvFA(20).fit(X, confounds=motion)
        some = np.arange(40)
        self.free, self.motion = simulated.X_free[some], motion[some, 0]
        self.draws = model.adjust(X[some], confounds=motion[some], n_draws=19)
        self.bounded = model.adjust(X[some], confounds=motion[some], interval=0.9)


@pytest.fixture(scope="module")
def covered() -> Covered:
    return Covered()


def test_draws_cover_the_true_counts(covered):
    # A twentieth of the mass lies beyond the smallest, and beyond the largest, of 19 draws.
    lower, upper = covered.draws.min(axis=0), covered.draws.max(axis=0)
    inside = (lower <= covered.free) & (covered.free <= upper)
    strong = covered.free >= 10
    assert 0.8 < inside[strong].mean() < 0.98
    moved = covered.motion > np.median(covered.motion)
    assert 0.8 < inside[moved][strong[moved]].mean() < 0.98


def test_bounds_cover_the_true_counts(covered):
    _, lower, upper = covered.bounded
    inside = (lower <= covered.free) & (covered.free <= upper)
    assert 0.8 < inside[covered.free >= 10].mean() < 0.98


def test_draws_cover_the_true_totals(covered):
    totals, true = covered.draws.sum(axis=2), covered.free.sum(axis=1)
    inside = (totals.min(axis=0) <= true) & (true <= totals.max(axis=0))
    # Of 40 subjects who share the error of the effect, all can be inside.
    assert inside.mean() >= 0.8
    # And are narrow enough to say something: narrower than totals of subjects differ.
    assert np.median(np.ptp(totals, axis=0)) < np.ptp(true)
