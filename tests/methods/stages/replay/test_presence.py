"""Presence: empty edges with a motion effect of their own, found where it is planted."""

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import special

from stillome.cohort.edges import edge_indices
from stillome.methods.stages.motion_effect.basis import MotionFunctions
from stillome.methods.stages.motion_effect.edge_design import EdgeDesign
from stillome.methods.stages.replay.count_law import probability_below
from stillome.methods.stages.replay.presence import Presence
from stillome.methods.stages.replay.presence_fit import fit_presence

N, V = 400, 20
E = V * (V - 1) // 2


@dataclass
class Planted:
    """Subjects whose edges are empty as often as planted, which is not how small counts are."""

    deviation: float = 0.0
    slope: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        rng = np.random.default_rng(self.seed)
        motion = rng.standard_normal((N, 1))
        self.functions = (motion - motion.mean()) / motion.std()
        baseline = rng.uniform(-1, 4, E)
        person = rng.standard_normal((N, 2)) @ rng.normal(0, 0.3, (2, E))
        average = baseline - 0.2 * self.functions
        phi = np.full((N, E), 0.5)
        self.usual = probability_below(average, phi, 1.0)
        self.below = probability_below(average + person, phi, 1.0)
        self.deviations = rng.normal(0, self.deviation, E)
        # By region, as lengths or noise of a scanner would have it.
        rows, columns = edge_indices(V)
        regions = rng.standard_normal(V)
        self.slopes = self.slope * (1 + 0.5 * (regions[rows] + regions[columns]))
        probits = special.ndtri(self.below) + self.deviations + self.functions * self.slopes
        self.shares = special.ndtr(probits)
        self.empty = (rng.random((N, E)) < self.shares).astype(np.float64)
        self.design = EdgeDesign.from_edges(baseline, None, V)
        share = self.empty.mean(axis=0)
        self.informative = (share > 0.05) & (share < 0.95)

    def fit(self, start: Presence | None = None) -> Presence:
        motion = MotionFunctions.given(self.functions, None)
        below, usual = special.logit(self.below), special.logit(self.usual)
        found, _ = fit_presence(self.empty, below, usual, motion, self.design, start=start)
        return found

    def error(self, found: np.ndarray, true: np.ndarray | float) -> float:
        return float(np.sqrt(((found - true)[..., self.informative] ** 2).mean()))


@pytest.mark.parametrize("seed", range(3))
def test_where_the_negative_binomial_is_enough_hardly_anything_is_added(seed):
    data = Planted(seed=seed)
    found = data.fit()
    assert data.error(found.slopes, 0) < 0.04
    assert data.error(found.deviations, 0) < 0.08
    assert found.reliance == pytest.approx(1, abs=0.08)
    off = found.probabilities(data.below, data.usual, data.functions) - data.below
    assert np.abs(off).mean() < 0.012


@pytest.mark.parametrize("seed", range(3))
def test_planted_deviations_and_slopes_are_found(seed):
    data = Planted(deviation=0.5, slope=0.3, seed=seed)
    found = data.fit()
    assert data.error(found.deviations, data.deviations) < 0.12
    assert data.error(found.slopes, data.slopes) < 0.07
    probabilities = found.probabilities(data.below, data.usual, data.functions)
    missed = np.abs(data.below - data.shares).mean()
    assert np.abs(probabilities - data.shares).mean() < 0.25 * missed
    # Errors are as large as they are said to be.
    sizes = (found.slopes[0] - data.slopes)[data.informative] / found.uncertainties[0][
        data.informative
    ]
    assert 0.5 < np.sqrt((sizes**2).mean()) < 2


def test_differences_between_subjects_may_count_more_or_less():
    data = Planted(seed=5)
    rng = np.random.default_rng(0)
    average = special.ndtri(data.usual)
    half = special.ndtr(average + 0.5 * (special.ndtri(data.below) - average))
    data.empty = (rng.random((N, E)) < half).astype(np.float64)
    assert data.fit().reliance == pytest.approx(0.5, abs=0.1)


def test_edges_that_are_always_or_never_empty_do_no_harm():
    data = Planted(deviation=0.3, slope=0.3, seed=1)
    plain = data.fit()
    data.empty[:, :20], data.empty[:, 20:40] = 1, 0
    data.below[:, :20] = data.usual[:, :20] = 1 - 1e-13
    data.below[:, 20:40] = data.usual[:, 20:40] = 1e-200
    found = data.fit()
    for array in vars(found).values():
        assert np.isfinite(array).all()
    probabilities = found.probabilities(data.below, data.usual, data.functions)
    assert probabilities[:, :20].min() > 0.99 and probabilities[:, 20:40].max() < 0.01
    rest = slice(40, None)
    close = np.abs(found.slopes - plain.slopes)[0, rest][data.informative[rest]]
    assert close.mean() < 0.05


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_without_any_change_there_is_nothing_to_learn(value):
    data = Planted()
    data.empty = np.full((N, E), value)
    found = data.fit()
    assert not found.slopes.any() and not found.deviations.any() and found.reliance == 1
    assert_allclose(
        found.probabilities(data.below, data.usual, data.functions), data.below, atol=1e-9
    )


def test_starting_from_an_earlier_fit_ends_at_the_same_place():
    data = Planted(deviation=0.5, slope=0.3)
    first = data.fit()
    again = data.fit(start=first)
    assert data.error(again.slopes, first.slopes) < 0.3 * first.uncertainties.mean()
    assert data.error(again.deviations, first.deviations) < 0.02


def test_draws_have_the_spread_of_the_uncertainty():
    found = Planted(slope=0.3).fit()
    drawn = np.stack([found.drawn(np.random.default_rng(seed)).slopes[0] for seed in range(400)])
    assert_allclose(drawn.std(axis=0), found.uncertainties[0], rtol=0.25)
    assert_allclose(drawn.mean(axis=0), found.slopes[0], atol=5 * found.uncertainties.max() / 20)
    same = found.drawn(np.random.default_rng(3)).slopes[0]
    assert_array_equal(same, drawn[3])
    # A part of the error is common to edges, so that a mean over edges is less sure than of
    # independent ones.
    independent = np.sqrt((found.uncertainties[0] ** 2).mean() / E)
    assert drawn.mean(axis=1).std() > 2 * independent


def test_probabilities_stay_below_one_far_outside_the_data():
    found = Planted(slope=0.5).fit()
    for far in (-1e6, 1e6):
        shares = found.probabilities(np.array([[0.5] * E]), np.array([[0.5] * E]), [[far]])
        assert ((shares >= 0) & (shares < 1)).all()
