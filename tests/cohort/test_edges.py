import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from odd_inputs import REAL_DTYPES, matrices, odd, odd_lists
from stillome.cohort.edges import edge_indices, edges_to_matrices, matrices_to_edges, shaped_like
from stillome.exceptions import InputError, StillomeError


@given(matrices())
def test_matrices_survive_the_way_there_and_back(values):
    edges = matrices_to_edges(values)
    back = edges_to_matrices(edges)
    assert edges.dtype == back.dtype == values.dtype
    np.testing.assert_array_equal(back, values)


@given(REAL_DTYPES, st.integers(2, 6), st.integers(0, 2**32))
def test_edges_survive_bit_for_bit_whatever_they_hold(dtype, n_regions, seed):
    n_edges = n_regions * (n_regions - 1) // 2
    raw = np.random.default_rng(seed).bytes(3 * n_edges * dtype.itemsize)
    edges = np.frombuffer(raw, dtype=dtype).reshape(3, n_edges)
    back = matrices_to_edges(edges_to_matrices(edges), check=False)
    assert back.dtype == dtype
    assert back.tobytes() == edges.tobytes()


def test_masks_stay_masks():
    mask = np.array([True, False, True])
    assert edges_to_matrices(mask).dtype == bool


@given(st.integers(2, 40))
def test_indices_name_the_edges_row_by_row(n_regions):
    rows, columns = edge_indices(n_regions)
    pairs = [(u, v) for u in range(n_regions) for v in range(u + 1, n_regions)]
    assert list(zip(rows.tolist(), columns.tolist(), strict=True)) == pairs


def test_edge_vectors_are_passed_through_without_a_copy():
    edges = np.arange(12).reshape(2, 6)
    assert matrices_to_edges(edges) is edges
    assert shaped_like(edges, edges) is edges


def test_answers_take_the_shape_of_the_question():
    stack = np.zeros((2, 4, 4))
    assert shaped_like(np.ones((2, 6)), stack).shape == stack.shape


def test_leading_axes_are_kept():
    assert edges_to_matrices(np.zeros((2, 5, 10))).shape == (2, 5, 5, 5)
    assert edges_to_matrices(np.zeros(10)).shape == (5, 5)


@given(odd)
def test_odd_input_is_taken_or_refused_in_a_sentence(value):
    for function in (matrices_to_edges, edges_to_matrices):
        try:
            function(value)
        except StillomeError as error:
            assert len(str(error)) > 20


@given(odd_lists)
def test_an_odd_number_of_regions_is_refused(value):
    try:
        edge_indices(value)
    except StillomeError as error:
        assert "n_regions" in str(error)


@pytest.mark.parametrize("n_regions", [1, 0, -3, 2.0, "68", None, True, 10**30])
def test_a_network_needs_a_whole_number_of_regions(n_regions):
    with pytest.raises(InputError, match="n_regions"):
        edge_indices(n_regions)


def test_a_single_number_has_no_edges():
    with pytest.raises(InputError, match="a single number"):
        edges_to_matrices(3)
