"""The paper's equations, one pure function each; every answer is per subject, shape (B,).

Nothing here depends on how many subjects share a batch, so that the weight λ of a term means the
same whatever the batch size. Numbers in brackets are those of the paper's Section 3; App. is the
appendix.
"""

import math

import torch
from torch import Tensor

_LOG_2PI = math.log(2 * math.pi)


def poisson_log_likelihood(counts: Tensor, log_rate: Tensor) -> Tensor:
    """Return log p(A | z, c) = Σ_{u<v} log Pois(A_uv; exp(ξ_uv + ψ_uv)), eqs. (1) and (3).

    Equation (1) runs over all u and v; a symmetric matrix without self-connections holds
    every value twice, so only the upper triangle is counted.

    Parameters
    ----------
    counts, log_rate : tensors of shape (B, E)

    Returns
    -------
    Tensor of shape (B,)
        In nats, with the constant −Σ log A!.
    """
    return (counts * log_rate - log_rate.exp()).sum(-1) - log_factorial(counts)


def log_factorial(counts: Tensor) -> Tensor:
    """Return Σ log A_uv! per subject, shape (B,): the part of eq. (3) no parameter changes."""
    return torch.lgamma(counts + 1).sum(-1)


def negative_binomial_log_likelihood(counts: Tensor, log_rate: Tensor, sizes: Tensor) -> Tensor:
    """Return Σ_e log NB(A_e; μ_e, φ_e), φ = 1/size: variance μ + φμ². A departure from eq. (1).

    Parameters
    ----------
    counts, log_rate : tensors of shape (B, E)
    sizes : tensor of shape (B, E) or (E,)
    """
    log_ratio = log_rate - sizes.log()
    varying = counts * log_ratio - (counts + sizes) * torch.nn.functional.softplus(log_ratio)
    return varying.sum(-1) - negative_binomial_constant(counts, sizes)


def negative_binomial_constant(counts: Tensor, sizes: Tensor) -> Tensor:
    """Return −Σ_e log[Γ(A + r) / (Γ(r) A!)] per subject, (B,): no rate changes it."""
    parts = torch.lgamma(counts + 1) + torch.lgamma(sizes) - torch.lgamma(counts + sizes)
    return parts.sum(-1)


def latent_space_edges(positions: Tensor, dimension_weights: Tensor) -> Tensor:
    """Return ψ_uv = Σ_r α_r X_ur X_vr for u < v, eq. (6).

    Parameters
    ----------
    positions : tensor of shape (B, V, R)
        Latent positions X of the regions.
    dimension_weights : tensor of shape (R,)
        α, positive.

    Returns
    -------
    Tensor of shape (B, V(V-1)/2)
    """
    n_regions = positions.shape[1]
    rows, columns = torch.triu_indices(n_regions, n_regions, 1, device=positions.device)
    products = positions[:, rows] * positions[:, columns]
    return (products * dimension_weights).sum(-1)


def reparameterise(mean: Tensor, log_variance: Tensor, noise: Tensor) -> Tensor:
    """Return z = μ + ε ⊙ σ (Algorithm 1) for standard normal `noise` of shape (..., B, K)."""
    return mean + noise * (0.5 * log_variance).exp()


def kl_to_prior(mean: Tensor, log_variance: Tensor) -> Tensor:
    """Return KL[q(z | A) ‖ N(0, I)] per subject and dimension, shape (B, K), App. D 2).

    The appendix prints log(σ_k)² where log σ_k² is meant.
    """
    return 0.5 * (mean.square() + log_variance.exp() - 1 - log_variance)


def kl_to_marginal(mean: Tensor, log_variance: Tensor) -> Tensor:
    """Return KL[q(z | A_i) ‖ q(z)] by pairwise Gaussian KL over the batch, App. D 3).

    For subject i this is the mean of KL(q_i ‖ q_j) over the other subjects j, the correct Gaussian
    KL (the appendix swaps Σ0 and Σ1 in one of its terms). Leaving out j = i, where the
    divergence is 0, makes the expectation the same for every batch size.

    Every term is linear in what j contributes, so the sum over j is taken before i is looked at:
    the cost is B·K, not B²·K.

    Parameters
    ----------
    mean, log_variance : tensors of shape (B, K)

    Returns
    -------
    Tensor of shape (B,)
        In nats; 0 for a batch of one, which has no marginal.
    """
    n_subjects = mean.shape[0]
    if n_subjects < 2:
        return mean.new_zeros(n_subjects)
    # KL does not change when all means move together; centring keeps the squares small, and
    # with them the rounding error of their differences.
    centred = mean - mean.mean(0)
    precision = (-log_variance).exp()
    weighted = precision * centred
    mahalanobis = (
        (log_variance.exp() + centred.square()) @ precision.sum(0)
        - 2 * (centred @ weighted.sum(0))
        + (weighted * centred).sum()
    )
    log_ratio = log_variance.sum() - n_subjects * log_variance.sum(1)
    total = 0.5 * (log_ratio + mahalanobis - n_subjects * mean.shape[1])
    return total / (n_subjects - 1)


def trait_log_likelihood(traits: Tensor, predicted: Tensor, log_sigma: Tensor) -> Tensor:
    """Return log p(y | z) with y ~ N(z'β + b, σ²), summed over the traits a subject has.

    Parameters
    ----------
    traits : tensor of shape (B, T)
        NaN is missing and adds nothing.
    predicted : tensor of shape (..., B, T)
    log_sigma : tensor of shape (T,)
        Learned.

    Returns
    -------
    Tensor of shape (..., B)
    """
    known = ~torch.isnan(traits)
    residual = (torch.where(known, traits, 0.0) - predicted) * (-log_sigma).exp()
    density = -0.5 * (residual.square() + _LOG_2PI) - log_sigma
    return torch.where(known, density, 0.0).sum(-1)


def invariant_objective(
    reconstruction: Tensor, prior_kl: Tensor, marginal_kl: Tensor, invariance_weight: float
) -> Tensor:
    """Return (1+λ)·recon − λ·marg − prior, to be maximised: eq. (10), App. D.

    Parameters
    ----------
    reconstruction : tensor of shape (B,)
        E_q[log p(A | z, c) + log p(y | z)].
    prior_kl, marginal_kl : tensors of shape (B,)
    invariance_weight : float
        λ. At 0 what is left is the evidence bound of GATE.
    """
    return (1 + invariance_weight) * reconstruction - invariance_weight * marginal_kl - prior_kl
