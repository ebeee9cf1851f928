"""The hand-written derivatives against the equations as they read, and against differences."""

import pytest
import torch
from numpy.testing import assert_allclose
from scipy.stats import nbinom

from stillome.methods.graph_vae.equations import (
    kl_to_marginal,
    kl_to_prior,
    latent_space_edges,
    log_factorial,
    negative_binomial_constant,
    negative_binomial_log_likelihood,
    poisson_log_likelihood,
)
from stillome.methods.graph_vae.fused import (
    EdgeLayout,
    EdgeLogRate,
    LatentCost,
    NegativeBinomialCost,
    PoissonCost,
)

DOUBLE = torch.float64


def pieces(n_regions: int = 5) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    shapes = [(2, 3, n_regions), (2,), (n_regions * (n_regions - 1) // 2,)]
    drawn = [torch.randn(s, generator=generator, dtype=DOUBLE) for s in shapes]
    return tuple(values.requires_grad_() for values in drawn)


@pytest.mark.parametrize("n_regions", [2, 3, 6])
def test_log_rates_are_baseline_plus_equation_6(n_regions: int) -> None:
    positions, weights, baseline = pieces(n_regions)
    answer = EdgeLogRate.apply(positions, weights, baseline, EdgeLayout(n_regions))
    expected = baseline + latent_space_edges(positions.permute(1, 2, 0), weights)
    torch.testing.assert_close(answer, expected)


def test_log_rates_have_the_derivative_of_differences() -> None:
    layout = EdgeLayout(5)
    assert torch.autograd.gradcheck(lambda *x: EdgeLogRate.apply(*x, layout), pieces())


def test_poisson_cost_is_equation_3_without_its_constant() -> None:
    log_rate = torch.randn(4, 6, dtype=DOUBLE, generator=torch.Generator().manual_seed(1))
    counts = torch.tensor([0.0, 1.0, 2.5, 7.0, 40.0, 3.0], dtype=DOUBLE).expand(4, 6)
    cost = PoissonCost.apply(log_rate, counts) + log_factorial(counts)
    torch.testing.assert_close(cost, -poisson_log_likelihood(counts, log_rate))


def test_poisson_cost_has_the_derivative_of_differences() -> None:
    log_rate = torch.randn(3, 4, dtype=DOUBLE, generator=torch.Generator().manual_seed(1))
    counts = torch.arange(12.0, dtype=DOUBLE).view(3, 4)
    assert torch.autograd.gradcheck(
        lambda x: PoissonCost.apply(x, counts), log_rate.requires_grad_()
    )


def test_negative_binomial_cost_is_the_likelihood_without_its_constant() -> None:
    log_rate = torch.randn(4, 6, dtype=DOUBLE, generator=torch.Generator().manual_seed(1))
    counts = torch.tensor([0.0, 1.0, 2.0, 7.0, 40.0, 3.0], dtype=DOUBLE).expand(4, 6)
    sizes = torch.linspace(0.5, 30, 6, dtype=DOUBLE)
    cost = NegativeBinomialCost.apply(log_rate - sizes.log(), counts, sizes)
    likely = negative_binomial_log_likelihood(counts, log_rate, sizes)
    torch.testing.assert_close(cost + negative_binomial_constant(counts, sizes), -likely)
    known = nbinom.logpmf(counts, sizes, sizes / (sizes + log_rate.exp())).sum(1)
    assert_allclose(likely, known, rtol=1e-9)


def test_negative_binomial_cost_has_the_derivative_of_differences() -> None:
    log_ratio = torch.randn(3, 4, dtype=DOUBLE, generator=torch.Generator().manual_seed(1))
    counts = torch.arange(12.0, dtype=DOUBLE).view(3, 4)
    sizes = torch.linspace(0.5, 9, 4, dtype=DOUBLE)
    assert torch.autograd.gradcheck(
        lambda x: NegativeBinomialCost.apply(x, counts, sizes), log_ratio.requires_grad_()
    )


@pytest.mark.parametrize("n_subjects", [1, 2, 5])
def test_latent_cost_is_both_divergences_with_the_derivative_of_differences(
    n_subjects: int,
) -> None:
    drawn = torch.randn(2, n_subjects, 3, dtype=DOUBLE, generator=torch.Generator().manual_seed(1))
    mean, log_variance = drawn[0].requires_grad_(), drawn[1].requires_grad_()
    prior, marginal = LatentCost.apply(mean, log_variance)
    torch.testing.assert_close(prior, kl_to_prior(mean, log_variance).sum(1))
    torch.testing.assert_close(marginal, kl_to_marginal(mean, log_variance))
    assert torch.autograd.gradcheck(LatentCost.apply, (mean, log_variance))
