"""Scans as a pipeline writes them: like real ones, with a right truth and a right oracle."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.linear_model import Ridge
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from stillome.cohort.edges import matrices_to_edges
from stillome.exceptions import InputError
from stillome.simulate import NUISANCES, simulate_scans
from stillome.simulate.count_writer import CountWriter

N = 100


@pytest.fixture(scope="module", params=list(NUISANCES))
def simulated(request):
    return simulate_scans(N, request.param, random_state=11)


@pytest.fixture(scope="module")
def drawn(simulated):
    return matrices_to_edges(simulated.oracle_adjust(1), check=False)


@pytest.fixture(scope="module")
def truth():
    return simulate_scans(800, "thinned", random_state=2).X_free


def density(edges):
    return (edges > 0).mean(axis=1)


def area_under_curve(edges, target):
    """Return how well a ridge regression on edges tells subjects above the mean of a target."""
    probe = make_pipeline(StandardScaler(), Ridge(2000.0))
    folds = KFold(5, shuffle=True, random_state=0)
    found = cross_val_predict(probe, np.log1p(edges), target, cv=folds)
    return roc_auc_score(target > target.mean(), found)


# What is written.


@settings(max_examples=8, deadline=None)
@given(floor=st.integers(1, 12), seed=st.integers(0, 100))
def test_no_count_lies_between_zero_and_the_floor(floor, seed):
    scans = simulate_scans(4, floor=floor, random_state=seed)
    for edges in (scans.X, scans.X_free, matrices_to_edges(scans.oracle_adjust(seed))):
        assert edges.min() == 0
        assert edges[edges > 0].min() == floor


@settings(max_examples=8, deadline=None)
@given(threshold=st.floats(0.0005, 0.05), seed=st.integers(0, 100))
def test_no_count_lies_below_the_threshold_of_its_subject(threshold, seed):
    scans = simulate_scans(4, threshold=threshold, random_state=seed)
    plain = simulate_scans(4, random_state=seed)
    for edges, unlimited in ((scans.X, plain.X), (scans.X_free, plain.X_free)):
        least = threshold * unlimited.max(axis=1, keepdims=True)
        np.testing.assert_array_equal(edges, np.where(unlimited < least, 0, unlimited))
    edges = matrices_to_edges(scans.oracle_adjust(seed))
    assert ((edges == 0) | (edges >= threshold * edges.max(axis=1, keepdims=True))).all()


@settings(deadline=None)
@given(
    floor=st.integers(1, 9),
    threshold=st.sampled_from([0.0, 0.1, 0.3]),
    raw=st.lists(st.integers(0, 30), min_size=2, max_size=20),
)
def test_raw_counts_are_found_again_in_the_range_of_what_was_written(floor, threshold, raw):
    writer = CountWriter(floor, threshold)
    assert sum(probability for probability, _ in writer.roundings) == pytest.approx(1)
    raw = np.array([[*raw, 40]])
    for _, rounding in writer.roundings:
        written = writer.write(raw, np.full(raw.shape, rounding))
        smallest = np.broadcast_to(writer.smallest_written(written), raw.shape)
        lowest, highest = writer.raw_range(written, smallest, rounding)
        assert ((lowest <= raw) & (raw <= highest)).all()
        # And the range is no wider: its ends are written as the same count.
        for end in (lowest, highest):
            again = writer.write(
                np.append(end, [[40]], axis=1), np.full(raw.shape[1] + 1, rounding)
            )
            np.testing.assert_array_equal(again[:, :-1], written)


# What real scans look like.


def test_zeros_of_a_subject_go_together(truth):
    present = (truth > 0).mean(axis=0)
    independent = np.sqrt((present * (1 - present)).sum()) / truth.shape[1]
    assert density(truth).mean() == pytest.approx(0.53, abs=0.03)
    assert density(truth).std() > 3 * independent


def test_tails_are_heavy_and_small_counts_as_the_pipeline_rounds_them(truth):
    means = truth.mean(axis=0)
    middle = (means > 10) & (means < 100)
    dispersion = (truth.var(axis=0) - means)[middle] / means[middle] ** 2
    assert np.median(dispersion) > 0.9
    assert means.max() > 1000
    share = [(truth == value).mean() for value in range(7)]
    assert 1.5 < share[3] / share[4] < 2.5
    assert share[6] > share[5]


def test_totals_differ_as_they_do_between_people(truth):
    total = truth.sum(axis=1)
    assert 0.09 < total.std() / total.mean() < 0.17
    assert 0.05 < np.corrcoef(density(truth), np.log(total))[0, 1] < 0.6


# What a nuisance does.


@pytest.mark.parametrize("nuisance", list(NUISANCES))
def test_raw_scans_leak_the_nuisance_and_the_truth_does_not(nuisance):
    scans = simulate_scans(800, nuisance, random_state=11)
    values = scans.confounds[:, 0]
    lost = np.log(scans.X.sum(axis=1) / scans.X_free.sum(axis=1))
    assert stats.spearmanr(lost, values).statistic < -0.4
    assert area_under_curve(scans.X, values) > 0.62
    assert area_under_curve(scans.X_free, values) < 0.57


def test_thinning_only_removes_streamlines():
    for floor in (1, 3, 5):
        scans = simulate_scans(30, "thinned", floor=floor, random_state=1)
        assert (scans.X_free >= scans.X).all()
        assert (scans.oracle_adjust(0) >= scans.cohort.connectomes).all()
    moved = simulate_scans(30, "motion", random_state=1)
    assert (moved.X_free > 0)[moved.X == 0].any()  # lost edges
    assert (moved.X_free == 0)[moved.X > 0].any()  # false edges


def test_lost_volumes_add_noise():
    def spread(nuisance):
        scans = simulate_scans(100, nuisance, random_state=6)
        strong = scans.X_free.min(axis=0) > 100
        return np.std(scans.X[:, strong] / scans.X_free[:, strong])

    assert spread("lost-volumes") > 1.2 * spread("motion")


# The oracle.


def test_draws_of_the_oracle_are_distributed_as_the_truth(simulated, drawn):
    free, nuisance = simulated.X_free, simulated.confounds[:, 0]
    more = nuisance > np.median(nuisance) if len(np.unique(nuisance)) > 2 else nuisance > 0
    for statistic in (
        density,
        lambda edges: np.log(edges.sum(axis=1)),
        *(lambda edges, v=value: (edges == v).sum(axis=1) for value in (3, 4, 5, 6)),
    ):
        difference = statistic(drawn) - statistic(free)
        assert abs(stats.ttest_1samp(difference[more], 0).statistic) < 4
    assert abs(np.corrcoef(density(drawn) - density(free), nuisance)[0, 1]) < 4 / np.sqrt(N)


@pytest.mark.parametrize("settings", [{"threshold": 0.002}, {"floor": 1}, {"floor": 5}])
def test_the_oracle_knows_floor_and_threshold(settings):
    scans = simulate_scans(64, random_state=7, **settings)
    drawn = matrices_to_edges(scans.oracle_adjust(0), check=False)
    difference = density(drawn) - density(scans.X_free)
    assert abs(stats.ttest_1samp(difference, 0).statistic) < 4
    assert abs(density(scans.X) - density(scans.X_free)).mean() > abs(difference.mean())


def test_the_oracle_is_nearer_to_the_truth_than_the_raw_scan(simulated, drawn):
    free = simulated.X_free.sum(axis=1)
    raw, oracle = (np.log(edges.sum(axis=1) / free) for edges in (simulated.X, drawn))
    assert (oracle**2).sum() < 0.2 * (raw**2).sum()
    assert (drawn != simulated.X_free).any()  # it does not know the noise


def test_without_the_nuisance_the_oracle_changes_nothing():
    scans = simulate_scans(60, "incomplete", random_state=3)
    complete = scans.confounds[:, 0] == 0
    assert 0 < complete.sum() < 60
    drawn = scans.oracle_adjust(4)
    np.testing.assert_array_equal(drawn[complete], scans.cohort.connectomes[complete])
    np.testing.assert_array_equal(drawn[complete], scans.motion_free[complete])
    assert (drawn[~complete] != scans.cohort.connectomes[~complete]).any()


# Subjects, traits, seeds.


def test_traits_follow_the_factors_and_are_unrelated_to_the_nuisance(simulated):
    population = simulated.oracle.scanner.population
    scores = simulated.latents @ population.trait_weights.T
    nuisance = simulated.confounds[:, 0]
    for name, score in zip(simulated.cohort.traits, scores.T, strict=True):
        values = simulated.cohort.traits[name]
        expected = np.sqrt(simulated.explained[name])
        assert np.corrcoef(values, score)[0, 1] == pytest.approx(expected, abs=4 / np.sqrt(N))
        assert abs(np.corrcoef(values, nuisance)[0, 1]) < 4 / np.sqrt(N)


def test_the_population_does_not_depend_on_the_number_of_subjects():
    few, many = (simulate_scans(n, random_state=9) for n in (3, 70))
    first, second = (vars(scans.oracle.scanner.population) for scans in (few, many))
    assert all((first[name] == second[name]).all() for name in first)


def test_same_seed_same_bits(simulated):
    name = next(
        key for key, value in NUISANCES.items() if value is simulated.oracle.scanner.nuisance
    )
    first, again, other = (simulate_scans(25, name, random_state=seed) for seed in (1, 1, 2))
    assert (first.X == again.X).all()
    assert (first.X_free == again.X_free).all()
    assert first.cohort.traits.equals(again.cohort.traits)
    assert first.cohort.motion.equals(again.cohort.motion)
    assert (first.oracle_adjust(3) == again.oracle_adjust(3)).all()
    assert (first.oracle_adjust(3) != first.oracle_adjust(4)).any()
    assert (first.X != other.X).any()


@pytest.mark.parametrize(
    "arguments",
    [
        {"n_subjects": 0},
        {"n_subjects": 2, "nuisance": "incomplete"},
        {"nuisance": "thinning"},
        {"nuisance": ["motion"]},
        {"floor": 0},
        {"floor": 2.5},
        {"threshold": -0.1},
        {"threshold": 1},
        {"threshold": float("nan")},
        {"threshold": "half"},
        {"n_traits": 0},
        {"random_state": 0.5},
    ],
)
def test_bad_arguments_are_one_sentence(arguments):
    with pytest.raises(InputError, match=f"{next(iter(arguments))}=") as caught:
        simulate_scans(**{"n_subjects": 5, **arguments})
    assert len(str(caught.value).splitlines()) == 1
