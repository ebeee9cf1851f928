"""The fit depends on the data, not on the order in which subjects, confounds or regions stand."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from stillome.cohort.edges import edges_to_matrices, matrices_to_edges
from stillome.methods.inv_fa.canonical_order import confound_order, edge_ranks, subject_order
from stillome.methods.inv_fa.inv_fa import InvFA
from stillome.simulate import simulate_cohort

N_TRAIN = 120


@pytest.fixture(scope="module")
def cohort():
    return simulate_cohort(170, "interaction", random_state=3)


def two_confounds(cohort) -> np.ndarray:
    rng = np.random.default_rng(0)
    motion = cohort.confounds[:, 0]
    return np.column_stack([motion, 0.01 * motion * rng.lognormal(0, 0.5, len(motion))])


def fit(X, confounds) -> InvFA:
    return InvFA(20).fit(X, confounds=confounds)


@pytest.mark.parametrize("scale", [1, 0.013])
def test_permuted_subjects_give_the_same_bits(cohort, scale):
    X, motion = scale * cohort.X, cohort.confounds
    order = np.random.default_rng(1).permutation(N_TRAIN)
    first, second = fit(X[:N_TRAIN], motion[:N_TRAIN]), fit(X[order], motion[order])
    unseen, moved = X[N_TRAIN:], motion[N_TRAIN:]
    assert_array_equal(
        first.transform(unseen, confounds=moved), second.transform(unseen, confounds=moved)
    )
    assert_array_equal(
        first.adjust(unseen, confounds=moved), second.adjust(unseen, confounds=moved)
    )
    unknown = np.full(motion[N_TRAIN:].shape, np.nan)
    assert_array_equal(
        first.transform(unseen, confounds=unknown), second.transform(unseen, confounds=unknown)
    )


def test_permuted_confounds_give_the_same_up_to_rounding(cohort):
    X, confounds = cohort.X, two_confounds(cohort)
    first = fit(X[:N_TRAIN], confounds[:N_TRAIN])
    second = fit(X[:N_TRAIN], confounds[:N_TRAIN, ::-1])
    unseen, moved = X[N_TRAIN:], confounds[N_TRAIN:]
    assert_allclose(
        first.transform(unseen, confounds=moved),
        second.transform(unseen, confounds=moved[:, ::-1]),
        atol=1e-4,
    )
    one, other = (
        model.adjust(unseen, confounds=moved[:, order], reference=[0.1, 0.001][order])
        for model, order in ((first, slice(None)), (second, slice(None, None, -1)))
    )
    assert (one == other).mean() > 0.999
    assert_allclose(
        first.infer_confounds(unseen).mean, second.infer_confounds(unseen).mean[:, ::-1], rtol=1e-6
    )


def test_permuted_regions_give_the_same_up_to_rounding(cohort):
    X, motion = cohort.X, cohort.confounds
    regions = np.random.default_rng(2).permutation(68)
    turned = matrices_to_edges(edges_to_matrices(X)[:, regions][:, :, regions])
    # Where each edge of the permuted cohort was before.
    places = matrices_to_edges(
        edges_to_matrices(np.arange(1, 2279)[None])[:, regions][:, :, regions]
    )[0]
    places = places.astype(int) - 1
    first, second = fit(X[:N_TRAIN], motion[:N_TRAIN]), fit(turned[:N_TRAIN], motion[:N_TRAIN])
    assert_allclose(second.model_.effect.slopes, first.model_.effect.slopes[:, places], atol=1e-5)
    assert_allclose(second.model_.effect.baseline, first.model_.effect.baseline[places], atol=1e-5)
    new = slice(N_TRAIN, None)
    one, other = (
        model.transform(table[new], confounds=motion[new])
        for model, table in ((first, X), (second, turned))
    )
    assert_allclose(one, other, atol=2e-3)
    decoded, also = (
        model.adjust(table[new], confounds=motion[new], method="decode")
        for model, table in ((first, X), (second, turned))
    )
    assert_allclose(np.log(also), np.log(decoded[:, places]), atol=5e-3)
    adjusted, again = (
        model.adjust(table[new], confounds=motion[new])
        for model, table in ((first, X), (second, turned))
    )
    assert (again == adjusted[:, places]).mean() > 0.998


def test_subjects_are_ordered_by_what_they_hold():
    rng = np.random.default_rng(4)
    edges, confounds = rng.poisson(3, (30, 10)), rng.standard_normal((30, 2))
    edges[7], confounds[7] = edges[3], confounds[3]
    ordered = edges[subject_order(edges, confounds)]
    turn = rng.permutation(30)
    assert_array_equal(edges[turn][subject_order(edges[turn], confounds[turn])], ordered)
    turned = edges[:, rng.permutation(10)]
    assert_array_equal(subject_order(turned, confounds), subject_order(edges, confounds))
    assert (ordered != edges).any()


def test_subjects_with_the_same_values_in_other_places_are_ordered_too():
    rng = np.random.default_rng(5)
    edges, confounds = rng.poisson(3, (20, 10)), rng.standard_normal((20, 2))
    edges[7], edges[11] = edges[3][::-1], edges[3]
    ordered = subject_order(edges, confounds)
    turn = rng.permutation(20)
    again = subject_order(edges[turn], confounds[turn])
    assert_array_equal(turn[again], ordered)


def test_ordering_subjects_holds_a_few_of_them_at_a_time(monkeypatch):
    monkeypatch.setattr("stillome.cohort.subject_rows._PART_BYTES", 8 * 2000 * 10)
    edges = np.random.default_rng(0).integers(0, 200, (800, 2000), dtype=np.uint8)
    tracemalloc.start()
    subject_order(edges, np.zeros((800, 1)))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.2 * 8 * edges.size  # of all in double precision


def test_confounds_are_ordered_by_what_they_explain():
    rng = np.random.default_rng(5)
    total = rng.lognormal(0, 1, 50)
    edges = rng.poisson(100 * total[:, None], (50, 6))
    strong, weak = np.log(total), rng.standard_normal(50)
    assert confound_order(edges, np.column_stack([weak, strong])).tolist() == [1, 0]
    assert confound_order(edges, np.column_stack([strong, weak])).tolist() == [0, 1]
    sites = np.eye(2)[rng.integers(0, 2, 50)]
    first = sites[:, confound_order(edges, sites)]
    assert_array_equal(first, sites[:, ::-1][:, confound_order(edges, sites[:, ::-1])])


def test_ranks_follow_the_edges():
    rng = np.random.default_rng(6)
    edges, turn = rng.poisson(3, (40, 12)), rng.permutation(12)
    ranks = edge_ranks(edges)
    assert sorted(ranks) == list(range(12))
    assert_array_equal(edge_ranks(edges[:, turn]), ranks[turn])
