import itertools

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odd_inputs import matrices
from stillome.evaluate import graph_measures
from stillome.evaluate.graph_measures import GRAPH_MEASURES
from stillome.evaluate.modularity import modularity
from stillome.simulate import simulate_cohort


@settings(max_examples=40)
@given(connectomes=matrices(dtype=np.float64, max_regions=7))
def test_graph_measures_are_those_of_networkx(connectomes):
    found = graph_measures(connectomes)
    for matrix, row in zip(connectomes, found.itertuples(), strict=True):
        n_regions = len(matrix)
        network = nx.from_numpy_array(matrix)
        for *_, edge in network.edges(data=True):
            edge["length"] = 1 / edge["weight"]
        paths = dict(nx.all_pairs_dijkstra_path_length(network, weight="length"))
        lengths = [d for u, to in paths.items() for v, d in to.items() if u != v]
        efficiency = sum(1 / d for d in lengths) / (n_regions * (n_regions - 1))
        clustering = nx.average_clustering(network, weight="weight") if network.edges else 0.0
        assert row.density == pytest.approx(nx.density(network))
        assert row.strength == pytest.approx(matrix.sum() / n_regions)
        assert row.efficiency == pytest.approx(efficiency)
        assert row.clustering == pytest.approx(clustering)


def test_measures_do_not_depend_on_how_many_subjects_come_together():
    edges = np.random.default_rng(0).poisson(2.0, (300, 15))
    whole = graph_measures(edges)
    assert whole.loc[290:].equals(graph_measures(edges[290:]).set_axis(range(290, 300)))


@settings(max_examples=40)
@given(connectomes=matrices(max_regions=7))
def test_density_and_modularity_are_shares(connectomes):
    found = graph_measures(connectomes)
    assert found["density"].between(0, 1).all()
    assert found["modularity"].between(0, 1).all()
    assert tuple(found.columns) == GRAPH_MEASURES


@settings(max_examples=40)
@given(seed=st.integers(0, 10**6), n_regions=st.integers(2, 12), rate=st.floats(0.1, 5))
def test_measures_do_not_depend_on_the_order_of_regions(seed, n_regions, rate):
    rng = np.random.default_rng(seed)
    # Weights without ties: of tied merges any may be the first.
    upper = np.triu(rng.poisson(rate, (2, n_regions, n_regions)) * rng.random(n_regions), k=1)
    upper = upper * rng.uniform(0.5, 2, upper.shape)
    networks = upper + np.swapaxes(upper, 1, 2)
    order = rng.permutation(n_regions)
    again = graph_measures(networks[:, order][:, :, order])
    np.testing.assert_allclose(again, graph_measures(networks), rtol=1e-9, atol=1e-12)


def partitions(things):
    if not things:
        yield []
        return
    first, *others = things
    for size in range(len(others) + 1):
        for mates in itertools.combinations(others, size):
            rest = [thing for thing in others if thing not in mates]
            for parts in partitions(rest):
                yield [{first, *mates}, *parts]


def test_two_cliques_are_two_communities():
    clique = np.ones((5, 5)) - np.eye(5)
    bridged = np.kron(np.eye(2), clique)
    bridged[0, 5] = bridged[5, 0] = 1
    network = nx.from_numpy_array(bridged)
    expected = nx.community.modularity(network, [set(range(5)), set(range(5, 10))])
    assert modularity(bridged[None])[0] == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(6))
def test_modularity_is_nearly_that_of_the_best_of_all_partitions(seed):
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.gamma(0.3, 1.0, (7, 7)), k=1)
    matrix = upper + upper.T
    network = nx.from_numpy_array(matrix)
    best = max(nx.community.modularity(network, parts) for parts in partitions(list(range(7))))
    found = modularity(matrix[None])[0]
    assert 0.97 * best <= found <= best + 1e-12


def test_modularity_of_connectomes_is_that_of_louvain():
    connectomes = simulate_cohort(8, random_state=0).cohort.connectomes
    found = modularity(connectomes.astype(float))
    networks = [nx.from_numpy_array(matrix) for matrix in connectomes]
    theirs = [
        nx.community.modularity(network, nx.community.louvain_communities(network, seed=0))
        for network in networks
    ]
    assert (found > np.array(theirs) - 0.01).all()
    assert found.mean() > np.mean(theirs) - 0.002


def test_networks_without_edges_and_huge_weights_have_a_modularity():
    empty = np.zeros((1, 4, 4))
    assert modularity(empty)[0] == 0
    triangle = np.ones((3, 3)) - np.eye(3)
    two = np.kron(np.eye(2), triangle)[None]
    assert modularity(two * 1e308) == pytest.approx(modularity(two))
