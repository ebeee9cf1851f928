"""Section 4 and Appendix H: the facts the paper states."""

import numpy as np
import pytest

from stillome.exceptions import InputError
from stillome.simulate import simulate_communities, simulate_extreme_motion
from stillome.simulate.communities import _community_graphs


@pytest.fixture(scope="module")
def section_4():
    return simulate_communities(random_state=0)


def test_block_densities():
    graphs = _community_graphs(400, 68, np.random.default_rng(0))
    mean = graphs.mean(axis=0)
    off = ~np.eye(34, dtype=bool)
    assert mean[:34, :34][off].mean() == pytest.approx(0.25, abs=0.005)
    assert mean[34:, 34:][off].mean() == pytest.approx(0.25, abs=0.005)
    assert mean[:34, 34:].mean() == pytest.approx(0.01, abs=0.001)
    assert np.unique(graphs).tolist() == [0.0, 1.0]
    assert (graphs == graphs.transpose(0, 2, 1)).all()


def test_common_neighbours_have_the_expected_means(section_4):
    # AᵀA counts common neighbours: within a block 32 of the same kind and 34 of the other.
    mean = section_4.motion_free.mean(axis=0)
    off = ~np.eye(34, dtype=bool)
    assert mean[:34, :34][off].mean() == pytest.approx(32 * 0.25**2 + 34 * 0.01**2, rel=0.02)
    assert mean[:34, 34:].mean() == pytest.approx(2 * 33 * 0.25 * 0.01, rel=0.05)


def test_motion_multiplies_by_s_squared(section_4):
    motion = section_4.cohort.motion
    scale = motion["s"].to_numpy()
    np.testing.assert_array_equal(motion["c"], 1 - scale)
    np.testing.assert_allclose(
        section_4.cohort.connectomes, scale[:, None, None] ** 2 * section_4.motion_free
    )
    assert section_4.motion_free.dtype == section_4.cohort.connectomes.dtype
    assert not np.diagonal(section_4.motion_free, axis1=1, axis2=2).any()


def test_a_fifth_moves(section_4):
    scale = section_4.cohort.motion["s"]
    moved = scale < 0.85
    assert section_4.cohort.connectomes.shape == (1000, 68, 68)
    assert moved.sum() == 200
    assert scale[moved].mean() == pytest.approx(0.6, abs=0.015)
    assert scale[moved].std() == pytest.approx(0.05, abs=0.01)
    assert scale[~moved].mean() == pytest.approx(1, abs=0.002)
    assert scale[~moved].std() == pytest.approx(0.01, abs=0.002)


@pytest.mark.parametrize("design", ["levels", "paired"])
def test_extreme_designs(design):
    simulated = simulate_extreme_motion(design=design, random_state=1)
    traits, motion = simulated.cohort.traits, simulated.cohort.motion
    assert simulated.cohort.n_subjects == 1200
    assert (traits["level"].value_counts() == 200).all()
    assert traits["level"].nunique() == 6
    by_network = simulated.motion_free.reshape(6, 200, 68, 68)
    assert (by_network == by_network[0]).all()
    assert (traits["network"].to_numpy().reshape(6, 200) == np.arange(200)).all()
    assert (motion["c"][:200] == 0).all()
    np.testing.assert_array_equal(simulated.oracle_adjust(), simulated.motion_free)


def test_extreme_levels_spread_and_pairs_do_not():
    paired = simulate_extreme_motion(50, "paired").cohort
    assert (paired.motion["c"] == paired.traits["level"]).all()
    levels = simulate_extreme_motion(2000, "levels", n_regions=4).cohort
    for level, scale in levels.motion["s"].groupby(levels.traits["level"].to_numpy()):
        if level < 1:
            assert scale.mean() == pytest.approx(level, rel=0.15)
            assert scale.std() == pytest.approx(level, rel=0.15)


def test_same_seed_same_bits():
    for simulate in (simulate_communities, simulate_extreme_motion):
        first, again, other = (simulate(20, random_state=seed) for seed in (5, 5, 6))
        assert (first.X == again.X).all()
        assert (first.confounds == again.confounds).all()
        assert (first.X != other.X).any()


@pytest.mark.parametrize(
    ("simulate", "arguments"),
    [
        (simulate_communities, {"n_subjects": 0}),
        (simulate_communities, {"n_subjects": 2.5}),
        (simulate_communities, {"n_regions": 1}),
        (simulate_communities, {"random_state": "seed"}),
        (simulate_extreme_motion, {"n_networks": -1}),
        (simulate_extreme_motion, {"design": "pairs"}),
        (simulate_extreme_motion, {"design": None}),
        (simulate_extreme_motion, {"random_state": -3}),
    ],
)
def test_bad_arguments(simulate, arguments):
    with pytest.raises(InputError, match=f"{next(iter(arguments))}="):
        simulate(**arguments)
