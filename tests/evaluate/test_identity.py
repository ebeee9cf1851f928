import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from odd_inputs import matrices
from stillome.cohort.edges import matrices_to_edges
from stillome.evaluate import identification_rate, mean_subject_correlation
from stillome.exceptions import InputError


def counts(seed=0, n=30, n_edges=45):
    rng = np.random.default_rng(seed)
    return rng.poisson(rng.gamma(2.0, 10.0, n_edges), (n, n_edges))


def test_people_are_recognised_despite_noise_and_a_common_loss():
    truth = counts()
    worn = np.random.default_rng(1).binomial(truth, 0.9) // 2
    assert identification_rate(worn, truth) == 1.0
    assert mean_subject_correlation(worn, truth) > 0.6


def test_the_rate_is_the_share_of_nearest_neighbours():
    truth, found = np.log1p(counts(0)), np.log1p(counts(0) + 3 * counts(2))
    truth_parts, found_parts = truth - truth.mean(axis=0), found - found.mean(axis=0)
    similarity = np.corrcoef(found_parts, truth_parts)[:30, 30:]
    expected = (similarity.argmax(axis=1) == np.arange(30)).mean()
    assert 0.1 < expected < 1
    adjusted = counts(0) + 3 * counts(2)
    assert identification_rate(adjusted, counts(0)) == pytest.approx(expected)
    found_r = mean_subject_correlation(adjusted, counts(0))
    assert found_r == pytest.approx(similarity.diagonal().mean())


def test_strangers_are_found_by_chance_only():
    rates = [identification_rate(counts(seed), counts(seed + 100)) for seed in range(5)]
    assert np.mean(rates) < 0.15
    assert abs(mean_subject_correlation(counts(0), counts(100))) < 0.1


def test_one_network_for_everybody_identifies_nobody():
    truth = counts()
    same = np.tile(truth.mean(axis=0), (len(truth), 1))
    assert identification_rate(same, truth) == 0.0
    assert mean_subject_correlation(same, truth) == 0.0


@given(connectomes=matrices(dtype=np.uint8), seed=st.integers(0, 9))
def test_the_order_of_subjects_and_the_shape_do_not_matter(connectomes, seed):
    if len(connectomes) < 2:
        connectomes = np.concatenate([connectomes, connectomes])
    order = np.random.default_rng(seed).permutation(len(connectomes))
    rate = identification_rate(connectomes, connectomes)
    edges = matrices_to_edges(connectomes)
    assert identification_rate(edges[order], connectomes[order]) == rate


@pytest.mark.parametrize("figure", [identification_rate, mean_subject_correlation])
def test_what_cannot_be_compared_is_refused(figure):
    with pytest.raises(InputError, match="at least 2 needed"):
        figure([[1, 2, 3]], [[1, 2, 3]])
    with pytest.raises(InputError, match="same subjects and regions"):
        figure(counts(n=3), counts(n=4))
    with pytest.raises(InputError, match="truth: subject 0 has -1"):
        figure(counts(), -np.ones((30, 45)))
