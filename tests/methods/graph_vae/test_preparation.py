import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from stillome.methods.confound_distribution import ConfoundDistribution
from stillome.methods.graph_vae.preparation import NetworkData, Preparation, Standardizer


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_standardizing_is_undone() -> None:
    values = rng().normal(50, 9, (30, 2))
    values[::4, 1] = np.nan
    scale = Standardizer.fit(values)
    assert_allclose(np.nanmean(scale.apply(values), axis=0), 0, atol=1e-12)
    assert_allclose(np.nanstd(scale.apply(values), axis=0), 1)
    assert_allclose(scale.undo(scale.apply(values)), values)


def test_a_column_without_spread_or_values_stays_finite() -> None:
    scale = Standardizer.fit(np.array([[3.0, np.nan], [3.0, np.nan]]))
    assert scale.scale.tolist() == [1.0, 1.0]
    assert scale.center.tolist() == [3.0, 0.0]


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_drawn_confounds_are_distributed_as_the_training_ones(seed: int) -> None:
    base = rng(seed).standard_normal((2000, 2)) @ [[1, 0.8], [0, 0.6]]
    confounds = np.column_stack([np.exp(base[:, 0]), base[:, 1], base[:, 1] > 0.3])
    drawn = ConfoundDistribution.fit(confounds).draw(20_000, rng(seed + 10))
    middle = [0.1, 0.5, 0.9]
    assert_allclose(
        np.quantile(drawn, middle, axis=0)[:, :2],
        np.quantile(confounds, middle, axis=0)[:, :2],
        atol=0.12,
    )
    assert set(np.unique(drawn[:, 2])) == {0.0, 1.0}
    assert_allclose(drawn[:, 2].mean(), confounds[:, 2].mean(), atol=0.03)
    log_drawn, log_known = (np.column_stack([np.log(c[:, 0]), c[:, 1]]) for c in (drawn, confounds))
    assert_allclose(np.corrcoef(log_drawn.T)[0, 1], np.corrcoef(log_known.T)[0, 1], atol=0.05)


def test_one_confound_can_be_drawn() -> None:
    assert ConfoundDistribution.fit(rng().random((50, 1))).draw(7, rng()).shape == (7, 1)


def at_sites(seed: int, n: int = 3000) -> tuple[np.ndarray, np.ndarray]:
    """Confounds of subjects who move differently at four sites, two of which have two scanners."""
    draw = rng(seed)
    site = draw.choice(4, n, p=[0.45, 0.3, 0.245, 0.005])
    motion = np.exp(draw.standard_normal(n) / 4 + np.array([0.0, 1.0, -0.5, 0.0])[site])
    scanner = np.where(site < 2, draw.integers(0, 3, n), 0)
    dummies = [site == 1, site == 2, site == 3, scanner == 1, scanner == 2]
    return site, np.column_stack([motion, *dummies]).astype(float)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_nobody_is_drawn_at_two_sites(seed: int) -> None:
    site, confounds = at_sites(seed)
    known = ConfoundDistribution.fit(confounds)
    drawn = known.draw(20_000, rng(seed + 10))
    seen = {tuple(row) for row in confounds[:, 1:]}
    assert {tuple(row) for row in drawn[:, 1:]} == seen
    assert_allclose(drawn[:, 1:].mean(axis=0), confounds[:, 1:].mean(axis=0), atol=0.02)
    # Sites keep their motion: it was drawn with them.
    for column, level in ((1, 1), (2, 2)):
        medians = np.median(drawn[drawn[:, column] == 1, 0]), np.median(confounds[site == level, 0])
        assert_allclose(*medians, rtol=0.15)
    assert_array_equal(known.bounds, [confounds.min(axis=0), confounds.max(axis=0)])
    assert_array_equal(known.draw(50, rng(1)), known.draw(50, rng(1)))


def test_what_earlier_versions_kept_is_drawn_from_as_before() -> None:
    sites = np.arange(90) % 3
    confounds = np.column_stack([rng().random(90), sites == 1, sites == 2]).astype(float)
    names = ("quantiles", "correlation", "few_values")
    assert ConfoundDistribution._fields == names  # files of models have an array for each
    quantiles = np.quantile(confounds, np.linspace(0, 1, 101), axis=0, method="nearest")
    kept = ConfoundDistribution(quantiles, np.corrcoef(confounds.T), np.array([False, True, True]))
    drawn = kept.draw(3000, rng())
    assert_allclose(drawn.mean(axis=0), confounds.mean(axis=0), atol=0.03)
    assert_array_equal(kept.bounds, [confounds.min(axis=0), confounds.max(axis=0)])


def test_dummies_alone_can_be_drawn() -> None:
    sites = np.eye(4)[rng().integers(0, 4, 80)][:, 1:]
    drawn = ConfoundDistribution.fit(sites).draw(500, rng())
    assert_array_equal(np.unique(drawn, axis=0), np.unique(sites, axis=0))


def test_huge_counts_become_moderate_inputs() -> None:
    edges = np.exp(rng().uniform(0, 14, (40, 6)))
    edges[:, 2] = 0
    data = NetworkData(edges, np.empty((40, 0)), np.empty((40, 0)))
    inputs = Preparation.fit(data).subjects(data).inputs
    assert float(inputs.abs().max()) < 6
    assert inputs[:, 2].tolist() == [0.0] * 40
