"""Functions of motion: orthonormal, gentle outside the data, straight for dummies."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from stillome.methods.stages.motion_effect.basis import MotionBasis, MotionFunctions


def skewed(n: int = 200, seed: int = 0, columns: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).lognormal(-1, 0.6, (n, columns))


@given(
    seed=st.integers(0, 1000),
    n=st.integers(12, 300),
    columns=st.integers(1, 3),
    unit=st.sampled_from([1e-9, 1.0, 1e9]),
)
def test_orthonormal_over_the_training_subjects(seed, n, columns, unit):
    confounds = unit * skewed(n, seed, columns)
    basis = MotionBasis.fit(confounds)
    functions = basis(confounds)
    assert functions.shape[1] >= columns
    assume(np.linalg.norm(functions, axis=1).max() < 0.999 * basis.longest)
    assert_allclose(functions.mean(axis=0), 0, atol=1e-6)
    assert_allclose(functions.T @ functions / n, np.eye(functions.shape[1]), atol=1e-5)


def test_the_first_function_is_the_confound_itself():
    confounds = skewed(columns=2)
    functions = MotionBasis.fit(confounds)(confounds)
    standard = (confounds - confounds.mean(axis=0)) / confounds.std(axis=0)
    assert_allclose(functions[:, 0], standard[:, 0], atol=1e-9)
    design = np.column_stack([np.ones(len(functions)), functions])
    rest = standard - design @ np.linalg.lstsq(design, standard, rcond=None)[0]
    assert_allclose(rest, 0, atol=1e-6)


def test_the_part_of_each_confound_does_not_hang_on_their_order():
    site, levels = (np.arange(200) % 2)[:, None], (np.arange(200) % 5)[:, None]
    confounds = np.hstack([site, skewed(), levels, skewed(seed=1) + skewed()])
    turned = confounds[:, ::-1]
    bases = MotionBasis.fit(confounds), MotionBasis.fit(turned)
    effect = np.random.default_rng(2).standard_normal(bases[0].n_functions)
    moved = bases[0](confounds) @ effect
    same = np.linalg.lstsq(bases[1](turned), moved, rcond=None)[0]
    parts = bases[0](confounds) @ bases[0].confound_shares @ effect
    others = bases[1](turned) @ bases[1].confound_shares @ same
    assert_allclose(parts.sum(axis=0), moved, atol=1e-6)
    assert_allclose(others[::-1], parts, atol=1e-4)
    # The part of a site differs by site only.
    assert np.ptp(parts[0][site[:, 0] == 0]) < 1e-6 < np.ptp(parts[0])


def test_more_bends_than_subjects():
    confounds = skewed(10, columns=4)
    assert MotionBasis.fit(confounds)(confounds).shape[1] == 4


def test_nobody_has_more_leverage_than_a_share_of_the_subjects():
    for n, share in ((20, 0.4), (100, 0.5), (400, 1)):
        basis = MotionBasis.fit(skewed(n, columns=2))
        far = basis(np.array([[1e9, 0], [-1e9, 1e9], [0, 0]]))
        assert (far**2).sum(axis=1).max() <= share * n * (1 + 1e-9)


@pytest.mark.parametrize("side", ["below", "above"])
def test_straight_beyond_the_outermost_knots_and_level_beyond_the_limits(side):
    confounds = skewed()
    basis = MotionBasis.fit(confounds)
    ends, limits = basis.knots[0, [0, -1]] * basis.scales[0], basis.limits[:, 0]
    near = ends + np.array([-0.2, 0.3])  # where a subject does not have too much leverage yet
    line = np.linspace(*((near[0], ends[0]) if side == "below" else (ends[1], near[1])), 50)
    bends = np.diff(basis(line[:, None]), n=2, axis=0)
    assert np.abs(bends).max() < 1e-6 * np.abs(basis(line[:, None])).max()
    beyond = np.array([[limits[0] - 1e3], [limits[1] + 1e3]])
    assert_allclose(basis(beyond), basis(limits[:, None]))
    inside = np.linspace(*ends, 50)[:, None]
    assert np.abs(np.diff(basis(inside), n=2, axis=0)).max() > 1e-3


def test_the_limits_cut_off_hardly_anybody_who_only_moved_more():
    for seed in range(20):
        confounds = skewed(1000, seed)
        low, high = MotionBasis.fit(confounds).limits[:, 0]
        assert low < 0 and (confounds > high).sum() <= 1


@pytest.mark.parametrize("factor", [1000, -1000])
def test_one_value_in_another_unit_changes_little_for_the_others(factor):
    confounds, wrong = skewed(), skewed()
    wrong[7] *= factor
    right, robust = MotionBasis.fit(confounds), MotionBasis.fit(wrong)
    others = np.delete(confounds, 7, axis=0)
    for n in range(right.n_functions):  # the same curves, up to turning them
        design = np.column_stack([np.ones(len(others)), robust(others)])
        curve = right(others)[:, n]
        rest = curve - design @ np.linalg.lstsq(design, curve, rcond=None)[0]
        assert rest.std() < 0.05
    assert 0.5 < robust.scales[0] / right.scales[0] < 2


@pytest.mark.parametrize(
    ("n", "columns", "functions"),
    [
        (19, 1, 1),
        (20, 1, 2),
        (30, 1, 3),
        (200, 1, 3),
        (30, 2, 2),
        (40, 2, 4),
        (60, 2, 6),
        (40, 4, 4),
    ],
)
def test_curves_only_where_subjects_suffice_for_them(n, columns, functions):
    assert MotionBasis.fit(skewed(n, columns=columns)).n_functions == functions


def test_dummies_are_straight_lines():
    basis = MotionBasis.fit((np.arange(90) % 2)[:, None].astype(float))
    assert basis.n_functions == 1 and np.isnan(basis.knots).all()
    between = basis(np.array([[0.0], [0.5], [1.0]]))
    assert_allclose(between[1], between[[0, 2]].mean(axis=0), atol=1e-12)


def test_levels_have_an_effect_of_their_own_each():
    levels = np.repeat([0.0, 0.5, 0.9, 0.99], 25)[:, None]
    basis = MotionBasis.fit(levels)
    design = np.column_stack([np.ones(100), basis(levels)])
    assert basis.n_functions == 3 and np.linalg.matrix_rank(design) == 4
    line = basis(np.linspace(0.5, 0.9, 9)[:, None])
    assert_allclose(np.diff(line, n=2, axis=0), 0, atol=1e-9)


def test_a_level_of_few_subjects_is_no_bend():
    levels = np.repeat([0.0, 0.5, 1.0], [50, 3, 50])[:, None]
    assert MotionBasis.fit(levels).n_functions == 1


def test_a_confound_that_is_there_twice_counts_once():
    once = skewed()
    basis = MotionBasis.fit(np.hstack([once, 3 * once]))
    assert basis.n_functions == MotionBasis.fit(once).n_functions
    sites = np.eye(3)[np.arange(60) % 3]
    assert MotionBasis.fit(sites).n_functions == 2


def test_slopes_are_those_at_equal_age():
    rng = np.random.default_rng(1)
    motion = skewed(400)
    age = 2 * motion + rng.standard_normal((400, 1))
    functions = MotionBasis.fit(motion)(motion)[:, :1]
    split = MotionFunctions.given(functions, age)
    outcome = 0.7 * functions[:, 0] - 1.3 * age[:, 0]
    assert_allclose(split.estimating.T @ age, 0, atol=1e-2)
    assert_allclose(split.estimating.std(axis=0), 1, atol=1e-5)
    slope = split.estimating[:, 0] @ outcome / len(outcome) / split.spread[0]
    assert abs(slope - 0.7) < 1e-4


def test_without_covariates_the_functions_estimate_themselves():
    functions = MotionBasis.fit(skewed())(skewed())
    split = MotionFunctions.given(functions, None)
    assert split.estimating is split.values
    assert_allclose(split.spread, 1)


def test_apart_from_motion_nothing_goes_with_it_and_age_stays():
    rng = np.random.default_rng(4)
    confounds = skewed(columns=2, seed=4)
    functions = MotionBasis.fit(confounds)(confounds)
    age = functions[:, :1] + rng.standard_normal((200, 1))
    table = functions @ rng.standard_normal((functions.shape[1], 5)) + 2 * age
    for covariates in (None, age):
        motion = MotionFunctions.given(functions, covariates)
        apart = motion.apart_from(table)
        assert_allclose(motion.estimating.T @ apart / 200, 0, atol=1e-5)
    assert_allclose(np.cov(apart.T, age[:, 0])[-1], np.cov(table.T, age[:, 0])[-1], rtol=1e-4)
