import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stillome.evaluate.separation import group_separation, trait_separation
from stillome.exceptions import InputError

GROUPS = np.repeat(["low", "high"], 40)


def features(seed, shift=0.0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(80, 3)) + shift * (GROUPS == "high")[:, None]


def test_the_distance_is_mahalanobis_of_the_group_means():
    values = features(0, 0.7)
    low, high = values[GROUPS == "low"], values[GROUPS == "high"]
    within = (np.cov(low.T) + np.cov(high.T)) / 2
    gap = high.mean(axis=0) - low.mean(axis=0)
    expected = np.sqrt(gap @ np.linalg.solve(within, gap))
    assert group_separation(values, GROUPS).distance == pytest.approx(expected)


@given(st.integers(0, 99))
def test_turning_and_scaling_change_nothing(seed):
    rng = np.random.default_rng(seed)
    turn = rng.normal(size=(3, 3)) + 3 * np.eye(3)
    before = group_separation(features(seed, 0.5), GROUPS, n_permutations=9)
    after = group_separation(features(seed, 0.5) @ turn + 5, GROUPS, n_permutations=9)
    assert after.r2 == pytest.approx(before.r2)
    assert after.p_value == before.p_value


def test_without_a_difference_p_is_uniform():
    p = [group_separation(features(s), GROUPS, n_permutations=99).p_value for s in range(100)]
    assert 0.01 <= np.mean(np.array(p) <= 0.1) <= 0.22
    assert np.mean(p) == pytest.approx(0.5, abs=0.12)


def test_everybody_alike_is_not_separated():
    found = group_separation(np.ones((80, 3)), GROUPS)
    assert (found.distance, found.r2, found.p_value) == (0.0, 0.0, 1.0)


def test_apart_is_significant():
    assert group_separation(features(1, 2.0), GROUPS).p_value == 0.001


@pytest.mark.parametrize(
    ("values", "groups", "word"),
    [
        (np.ones((4, 1)), [0, 1], "shape"),
        (np.ones((4, 1)), [0, 0, 0, 0], "two"),
        (np.random.default_rng(0).normal(size=(6, 5)), [0, 0, 0, 1, 1, 1], "fewer"),
    ],
)
def test_what_cannot_be_separated_is_refused(values, groups, word):
    with pytest.raises(InputError, match=word):
        group_separation(values, groups)


def test_the_ends_of_a_trait_are_those_of_the_known_scores():
    rng = np.random.default_rng(3)
    latent, trait = rng.normal(size=(90, 6)), rng.normal(size=90)
    latent[:, 2] += 3 * trait  # the first component
    known = trait.copy()
    known[np.argsort(trait)[40:50]] = np.nan
    found = trait_separation(latent, known, n_extremes=20)
    order = np.argsort(trait)
    chosen = np.r_[order[:20], order[-20:]]
    centred = latent - latent.mean(axis=0)
    axes = np.linalg.svd(centred, full_matrices=False)[2][:3]
    expected = group_separation(centred[chosen] @ axes.T, np.repeat([0, 1], 20))
    assert found.distance == pytest.approx(expected.distance)
    assert found.p_value == expected.p_value == 0.001


def test_a_collapsed_latent_separates_nobody():
    found = trait_separation(np.ones((30, 4)), np.arange(30.0), n_extremes=10)
    assert (found.distance, found.p_value) == (0.0, 1.0)


@pytest.mark.parametrize("trait", [np.ones(3), [1.0, 2.0, 3.0] + [np.nan] * 27])
def test_too_few_scores_are_refused(trait):
    with pytest.raises(InputError, match="trait"):
        trait_separation(np.ones((30, 4)), trait)
