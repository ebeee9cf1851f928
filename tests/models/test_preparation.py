import numpy as np
import pytest
from numpy.testing import assert_allclose

from stillome.models.confound_distribution import ConfoundDistribution
from stillome.models.preparation import NetworkData, Preparation, Standardizer


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


def test_huge_counts_become_moderate_inputs() -> None:
    edges = np.exp(rng().uniform(0, 14, (40, 6)))
    edges[:, 2] = 0
    data = NetworkData(edges, np.empty((40, 0)), np.empty((40, 0)))
    inputs = Preparation.fit(data).subjects(data).inputs
    assert float(inputs.abs().max()) < 6
    assert inputs[:, 2].tolist() == [0.0] * 40
