"""Every equation against an oracle."""

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from torch.distributions import Normal, Poisson, kl_divergence

from stillome.methods.graph_vae import equations

DOUBLE = torch.float64


def draw(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=DOUBLE)


posteriors = hnp.arrays(
    np.float64,
    st.tuples(st.just(2), st.integers(2, 7), st.integers(1, 5)),
    elements=st.floats(-3, 3, allow_subnormal=False),
)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_poisson_is_that_of_torch(seed: int) -> None:
    log_rate = draw(4, 6, seed=seed)
    counts = Poisson(log_rate.exp()).sample()
    expected = Poisson(log_rate.exp()).log_prob(counts).sum(-1)
    torch.testing.assert_close(equations.poisson_log_likelihood(counts, log_rate), expected)


def test_latent_space_edges_by_brute_force() -> None:
    positions, weights = draw(3, 5, 2), draw(2).exp()
    answer = equations.latent_space_edges(positions, weights)
    pairs = list(itertools.combinations(range(5), 2))
    for subject, (edge, (u, v)) in itertools.product(range(3), enumerate(pairs)):
        expected = sum(
            weights[r] * positions[subject, u, r] * positions[subject, v, r] for r in range(2)
        )
        torch.testing.assert_close(answer[subject, edge], expected)


def test_reparameterised_noise_has_the_posterior_moments() -> None:
    mean, log_variance = draw(1, 3), draw(1, 3, seed=1)
    z = equations.reparameterise(mean, log_variance, draw(200_000, 1, 3, seed=2))
    torch.testing.assert_close(z.mean(0), mean, atol=0.02, rtol=0)
    torch.testing.assert_close(z.var(0), log_variance.exp(), atol=0, rtol=0.02)


@settings(max_examples=30, deadline=None)
@given(posteriors)
def test_kl_to_prior_is_that_of_torch(values: np.ndarray) -> None:
    mean, log_variance = torch.from_numpy(values)
    q = Normal(mean, (0.5 * log_variance).exp())
    expected = kl_divergence(q, Normal(torch.zeros_like(mean), torch.ones_like(mean)))
    torch.testing.assert_close(equations.kl_to_prior(mean, log_variance), expected)


@settings(max_examples=30, deadline=None)
@given(posteriors)
def test_kl_to_marginal_is_the_mean_over_all_pairs(values: np.ndarray) -> None:
    mean, log_variance = torch.from_numpy(values)
    answer = equations.kl_to_marginal(mean, log_variance)
    scale = (0.5 * log_variance).exp()
    for i in range(len(mean)):
        pairs = [
            kl_divergence(Normal(mean[i], scale[i]), Normal(mean[j], scale[j])).sum()
            for j in range(len(mean))
            if j != i
        ]
        torch.testing.assert_close(answer[i], torch.stack(pairs).mean(), atol=1e-9, rtol=1e-9)


@settings(max_examples=20, deadline=None)
@given(posteriors, st.floats(-1e3, 1e3))
def test_kl_to_marginal_does_not_change_when_all_means_move(
    values: np.ndarray, shift: float
) -> None:
    mean, log_variance = torch.from_numpy(values)
    here = equations.kl_to_marginal(mean, log_variance)
    there = equations.kl_to_marginal(mean + shift, log_variance)
    torch.testing.assert_close(here, there, atol=1e-6, rtol=1e-6)


def test_kl_to_marginal_keeps_its_digits_in_single_precision() -> None:
    mean, log_variance = 100 + 0.1 * draw(32, 68), -4 + draw(32, 68, seed=1)
    exact = equations.kl_to_marginal(mean, log_variance)
    single = equations.kl_to_marginal(mean.float(), log_variance.float())
    torch.testing.assert_close(single.double(), exact, atol=0, rtol=1e-3)


def test_kl_to_marginal_is_the_same_for_every_batch_size() -> None:
    mean, log_variance = draw(6, 3), draw(6, 3, seed=1)
    whole = equations.kl_to_marginal(mean, log_variance).mean()
    halves = [
        equations.kl_to_marginal(mean[list(rows)], log_variance[list(rows)]).mean()
        for rows in itertools.combinations(range(6), 3)
    ]
    torch.testing.assert_close(torch.stack(halves).mean(), whole)


def test_a_batch_of_one_has_no_marginal() -> None:
    assert equations.kl_to_marginal(draw(1, 4), draw(1, 4)).tolist() == [0.0]


def test_trait_likelihood_is_that_of_torch_and_leaves_out_what_is_missing() -> None:
    traits, predicted, log_sigma = draw(4, 3), draw(4, 3, seed=1), draw(3, seed=2)
    each = Normal(predicted, log_sigma.exp()).log_prob(traits)
    torch.testing.assert_close(
        equations.trait_log_likelihood(traits, predicted, log_sigma), each.sum(1)
    )
    traits[1, 2] = torch.nan
    answer = equations.trait_log_likelihood(traits, predicted, log_sigma)
    torch.testing.assert_close(answer[1], each[1, :2].sum())
    torch.testing.assert_close(answer[0], each[0].sum())


def test_missing_traits_give_finite_gradients() -> None:
    traits = torch.full((2, 1), torch.nan, dtype=DOUBLE)
    predicted = draw(2, 1).requires_grad_()
    log_sigma = draw(1).requires_grad_()
    equations.trait_log_likelihood(traits, predicted, log_sigma).sum().backward()
    assert predicted.grad.tolist() == [[0.0], [0.0]]
    assert log_sigma.grad.tolist() == [0.0]


def test_the_objective_at_zero_weight_is_the_evidence_bound() -> None:
    reconstruction, prior, marginal = draw(5), draw(5, seed=1), draw(5, seed=2)
    answer = equations.invariant_objective(reconstruction, prior, marginal, 0.0)
    torch.testing.assert_close(answer, reconstruction - prior)


@pytest.mark.parametrize("weight", [0.5, 1.0, 10.0])
def test_the_objective_weighs_its_terms_as_appendix_d_does(weight: float) -> None:
    terms = [draw(5, seed=s).requires_grad_() for s in range(3)]
    equations.invariant_objective(*terms, weight).sum().backward()
    assert terms[0].grad.tolist() == [1 + weight] * 5
    assert terms[1].grad.tolist() == [-1.0] * 5
    assert terms[2].grad.tolist() == [-weight] * 5
