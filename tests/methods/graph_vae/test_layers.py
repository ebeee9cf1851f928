import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from stillome.methods.graph_vae.layers import (
    Encoder,
    GraphConvolution,
    LatentSpaceDecoder,
    closeness_of_regions,
    neighbor_mask,
)


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def some_lengths(n_regions: int, seed: int = 0) -> np.ndarray:
    lengths = np.random.default_rng(seed).uniform(10, 200, (n_regions, n_regions))
    return np.triu(lengths, 1) + np.triu(lengths, 1).T


@settings(max_examples=25, deadline=None)
@given(st.integers(2, 9), st.integers(1, 12), st.integers(0, 100))
def test_neighbours_are_the_closest_regions_and_oneself(v: int, k: int, seed: int) -> None:
    lengths = some_lengths(v, seed)
    mask = neighbor_mask(closeness_of_regions(lengths, np.zeros((v, v))), k, 1)[0]
    for u in range(v):
        others = sorted((lengths[u, w], w) for w in range(v) if w != u)
        assert set(np.flatnonzero(mask[u])) == {u} | {w for _, w in others[:k]}


def test_without_lengths_many_fibres_mean_close() -> None:
    counts = np.array([[0, 90, 1.0], [90, 0, 5.0], [1.0, 5.0, 0]])
    mask = neighbor_mask(closeness_of_regions(None, counts), 1, 1)[0]
    assert mask.tolist() == [[True, True, False], [True, True, False], [False, True, True]]


def test_an_unknown_length_is_far() -> None:
    lengths = np.array([[0, 0, 150.0], [0, 0, 150.0], [150.0, 150.0, 0]])
    mask = neighbor_mask(closeness_of_regions(lengths, np.zeros((3, 3))), 1, 1)[0]
    assert mask[0].tolist() == [True, False, True]


def test_each_dimension_may_have_its_own_neighbourhood() -> None:
    mask = neighbor_mask(-some_lengths(8), (1, 3, 7), 3)
    assert mask.sum(-1).tolist() == [[2] * 8, [4] * 8, [8] * 8]


def test_convolution_weights_are_positive_on_the_mask_and_zero_off_it() -> None:
    mask = torch.from_numpy(neighbor_mask(-some_lengths(7), 2, 3))
    layer = GraphConvolution(mask, seeded())
    optimizer = torch.optim.Adam(layer.parameters(), lr=0.5)
    for _ in range(20):  # towards weights below zero, which must not be reached
        layer(torch.ones(3, 4, 7)).sum().backward()
        optimizer.step()
    assert (layer.weight[mask] > 0).all()
    assert (layer.weight[~mask] == 0).all()


def test_decoder_is_appendix_a_spelled_out() -> None:
    mask = torch.from_numpy(neighbor_mask(-some_lengths(5), 2, 2))
    decoder = LatentSpaceDecoder(4, mask, 3, seeded()).double()
    with torch.no_grad():
        for values in decoder.parameters():
            values.add_(0.3 * torch.randn(values.shape, generator=seeded(1)))
    features = torch.randn(3, 4, dtype=torch.float64, generator=seeded(2))
    answer = decoder(features)
    for subject in range(3):
        psi = torch.zeros(5, 5, dtype=torch.float64)
        for r in range(2):
            weight, bias = decoder.first.weight.view(2, 5, 4)[r], decoder.first.bias.view(2, 5)[r]
            x = torch.sigmoid(weight @ features[subject] + bias)
            for layer in decoder.convolutions:
                x = torch.sigmoid(layer.weight[r] @ x + layer.bias[r, 0])
            psi += decoder.dimension_weights[r] * torch.outer(x, x)
        rows, columns = torch.triu_indices(5, 5, 1)
        torch.testing.assert_close(answer[subject], decoder.baseline + psi[rows, columns])


@pytest.mark.parametrize("hidden", [(), (7,), (7, 6)])
def test_encoder_has_the_hidden_layers_it_was_given(hidden: tuple[int, ...]) -> None:
    encoder = Encoder(10, hidden, 3, seeded())
    sizes = [(p.shape[1], p.shape[0]) for n, p in encoder.named_parameters() if "weight" in n]
    assert sizes == list(zip([10, *hidden], [*hidden, 6], strict=True))
    mean, log_variance = encoder(torch.ones(2, 10))
    assert mean.shape == log_variance.shape == (2, 3)
