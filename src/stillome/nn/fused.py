"""Eqs. (3), (5) and (6) with their derivatives written out, for training speed.

`equations` holds the same formulas as they read; the tests hold both against each other. Taken
apart by autograd they would pass over the (B, E) edges about twenty times per step; here it is six.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable


class EdgeLayout:
    """Where each edge stands in a flattened V×V matrix, and the other way round."""

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
    """ξ_uv + Σ_r α_r X_ur X_vr on the upper triangle: (B, V, R), (R,), (E,) → (B, E)."""

    @staticmethod
    def forward(
        ctx: Any, positions: Tensor, weights: Tensor, baseline: Tensor, layout: EdgeLayout
    ) -> Tensor:
        """Multiply whole matrices, which is one fast product, and keep one triangle."""
        ctx.save_for_backward(positions, weights)
        ctx.layout = layout
        products = torch.bmm(positions * weights, positions.mT)
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
        return pulled.mul_(weights), to_weights, gradient.sum(0), None


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
