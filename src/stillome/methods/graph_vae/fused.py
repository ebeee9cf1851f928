"""Likelihoods, eqs. (5), (6) and both divergences with their derivatives, for training speed.

`equations` holds the same formulas as they read; the tests hold both against each other. Taken
apart by autograd they would pass over the (B, E) edges about twenty times per step; here it is six,
and a step of 32 subjects would spend more time on starting small operations than on arithmetic.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from stillome.methods.graph_vae.equations import kl_to_marginal, kl_to_prior


class EdgeLayout:
    """The position of each edge in a flattened V×V matrix, and the inverse."""

    def __init__(self, n_regions: int) -> None:
        rows, columns = torch.triu_indices(n_regions, n_regions, 1)
        self.n_regions = n_regions
        self.upper = rows * n_regions + columns
        # The diagonal points at edge 0 and is set to zero after it was filled.
        both = torch.zeros(n_regions, n_regions, dtype=torch.long)
        both[rows, columns] = both[columns, rows] = torch.arange(len(rows))
        self.mirrored = both.reshape(-1)

    def to(self, device: torch.device) -> "EdgeLayout":
        """Move the two index tensors to `device`."""
        self.upper, self.mirrored = self.upper.to(device), self.mirrored.to(device)
        return self


class EdgeLogRate(torch.autograd.Function):
    """ξ_uv + Σ_r α_r X_ur X_vr on the upper triangle: (R, B, V), (R,), (E,) → (B, E)."""

    @staticmethod
    def forward(
        ctx: Any, positions: Tensor, weights: Tensor, baseline: Tensor, layout: EdgeLayout
    ) -> Tensor:
        """Multiply whole matrices, which is one fast product, and keep one triangle."""
        by_subject = positions.permute(1, 2, 0).contiguous()
        ctx.save_for_backward(by_subject, weights)
        ctx.layout = layout
        products = torch.bmm(by_subject * weights, by_subject.mT)
        return products.flatten(1).index_select(1, layout.upper).add_(baseline)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        """Mirror the edges' gradient G to a matrix; then d/dX = G X α and d/dα = ½ Σ X ⊙ G X."""
        positions, weights = ctx.saved_tensors
        size = ctx.layout.n_regions
        mirrored = gradient.index_select(1, ctx.layout.mirrored).view(-1, size, size)
        mirrored.diagonal(dim1=1, dim2=2).zero_()
        pulled = torch.bmm(mirrored, positions)
        to_weights = 0.5 * (positions * pulled).sum((0, 1))
        # Contiguous, because the products behind it fall apart into single ones otherwise.
        to_positions = pulled.mul_(weights).permute(2, 0, 1).contiguous()
        return to_positions, to_weights, gradient.sum(0), None


class PoissonCost(torch.autograd.Function):
    """Σ_e exp(η_e) − A_e η_e per subject: −log p(A | z, c) without the constant Σ log A!."""

    @staticmethod
    def forward(ctx: Any, log_rate: Tensor, counts: Tensor) -> Tensor:
        """Keep the rate: the derivative is rate − A."""
        rate = log_rate.exp()
        ctx.save_for_backward(rate, counts)
        return rate.sum(1) - torch.linalg.vecdot(counts, log_rate)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        """Return the derivative to the log rate; counts are data."""
        rate, counts = ctx.saved_tensors
        return (rate - counts).mul_(gradient[:, None]), None


class NegativeBinomialCost(torch.autograd.Function):
    """Σ_e (A_e + r_e) log(1 + μ_e / r_e) − A_e log(μ_e / r_e) per subject, r = 1/φ the size.

    This is −log NB(A; μ, φ) without the constant of `equations.negative_binomial_constant`.
    """

    @staticmethod
    def forward(ctx: Any, log_ratio: Tensor, counts: Tensor, sizes: Tensor) -> Tensor:
        """Take log(μ / r), A and r, each (B, E) or broadcast to it; answer (B,)."""
        ctx.save_for_backward(log_ratio, counts, sizes)
        total = (counts + sizes).mul_(torch.nn.functional.softplus(log_ratio)).sum(1)
        return total - torch.linalg.vecdot(counts, log_ratio)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        """Return the derivative to the log ratio; counts and sizes are given."""
        log_ratio, counts, sizes = ctx.saved_tensors
        slope = (counts + sizes).mul_(log_ratio.sigmoid()).sub_(counts)
        return slope.mul_(gradient[:, None]), None, None


class LatentCost(torch.autograd.Function):
    """KL to the prior and KL to the marginal, each per subject: (B, K), (B, K) → (B,), (B,).

    The derivatives of the latter follow from KL(q_i ‖ q_j) seen from i and from j; the sums over
    the other side are taken once. See `equations.kl_to_marginal` for the formula.
    """

    @staticmethod
    def forward(ctx: Any, mean: Tensor, log_variance: Tensor) -> tuple[Tensor, Tensor]:
        """Evaluate both equations."""
        ctx.save_for_backward(mean, log_variance)
        prior = kl_to_prior(mean, log_variance).sum(1)
        return prior, kl_to_marginal(mean, log_variance)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, to_prior: Tensor, to_marginal: Tensor) -> tuple[Tensor, Tensor]:
        """Return the derivatives to mean and log variance."""
        mean, log_variance = ctx.saved_tensors
        variance = log_variance.exp()
        outer = to_prior[:, None]
        to_mean, to_log_variance = mean * outer, (variance - 1).mul_(0.5 * outer)
        n_subjects = mean.shape[0]
        if n_subjects < 2:
            return to_mean, to_log_variance
        weight = (to_marginal / (n_subjects - 1))[:, None]
        centred, precision = mean - mean.mean(0), variance.reciprocal()
        total = precision.sum(0)
        # As the first of a pair, i is pulled towards all others ...
        to_mean += weight * (centred * total - (precision * centred).sum(0))
        to_log_variance += 0.5 * weight * (variance * total - n_subjects)
        # ... and as the second it is pulled by them.
        sum_0, sum_1 = weight.sum(), (weight * centred).sum(0)
        sum_2 = (weight * (variance + centred.square())).sum(0)
        away = centred * sum_0 - sum_1
        to_mean += precision * away
        spread = sum_2 + centred * (away - sum_1)
        to_log_variance += 0.5 * (sum_0 - precision * spread)
        return to_mean, to_log_variance
