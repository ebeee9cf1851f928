"""The network as it differs in the code that came with the paper, written anew from a description.

It differs from the paper in these points: counts are divided by 100; ξ and α are no parameters, and
stay as they start; and between ξ + ψ and the exponential stands a dense layer of V² × V² weights,
which can make any network of any latent. Only `benchmarks/ladder.py` uses it.
"""

import numpy as np
import torch
from torch import Tensor, nn

from stillome.cohort.edges import edges_to_matrices, matrices_to_edges
from stillome.methods.diagnostics import latent_diagnostics

_UNIT = 100.0


class _Dense(nn.Module):
    def __init__(self, n_regions: int, n_confounds: int, n_components: int, hidden: int) -> None:
        super().__init__()
        size, self.n_regions = n_regions**2, n_regions
        self.hidden, self.heads = nn.Linear(size, hidden), nn.Linear(hidden, 2 * n_components)
        self.branches = nn.ModuleList(
            nn.Sequential(
                nn.Linear(n_components + n_confounds, n_regions),
                nn.Sigmoid(),
                nn.Linear(n_regions, n_regions),
                nn.Sigmoid(),
            )
            for _ in range(5)
        )
        self.read_out = nn.Linear(size, size)

    def encode(self, matrices: Tensor) -> tuple[Tensor, Tensor]:
        mean, log_variance = self.heads(self.hidden(matrices).relu()).chunk(2, dim=1)
        return mean, log_variance

    def decode(self, latent: Tensor, confounds: Tensor) -> Tensor:
        features = torch.cat([latent, confounds], dim=1)
        positions = torch.stack([branch(features) for branch in self.branches], dim=2)
        # α = 1 and ξ = 0: not trained.
        return self.read_out((positions @ positions.mT).flatten(1))


class ReleasedVariant:
    """The variant as a model with `fit`, `transform` and `adjust`; λ = 1."""

    def __init__(self, max_epochs: int = 30, learning_rate: float = 1e-4, seed: int = 0) -> None:
        self.max_epochs, self.learning_rate, self.seed = max_epochs, learning_rate, seed

    def get_params(self) -> dict[str, float]:
        """Return the parameters."""
        return {"max_epochs": self.max_epochs, "learning_rate": self.learning_rate}

    def fit(self, X: np.ndarray, *, confounds: np.ndarray) -> "ReleasedVariant":
        """Train on edges (n, E) with confounds (n,) or (n, C)."""
        torch.manual_seed(self.seed)
        c = np.asarray(confounds, float).reshape(len(X), -1)
        self.center_, self.scale_ = c.mean(axis=0), c.std(axis=0)
        matrices = self._matrices(X)
        self.n_regions_ = round(matrices.shape[1] ** 0.5)
        self.net_ = _Dense(self.n_regions_, c.shape[1], 68, 256)
        seen = torch.from_numpy((c - self.center_) / self.scale_).float()
        optimizer = torch.optim.Adam(self.net_.parameters(), lr=self.learning_rate)
        for _ in range(self.max_epochs):
            for rows in torch.randperm(len(X)).tensor_split(-(-len(X) // 32)):
                optimizer.zero_grad()
                self._loss(matrices[rows], seen[rows]).backward()
                optimizer.step()
        with torch.no_grad():
            mean, log_variance = self.net_.encode(matrices)
        self.diagnostics_ = latent_diagnostics(mean.numpy(), log_variance.numpy())
        return self

    def _loss(self, matrices: Tensor, confounds: Tensor) -> Tensor:
        mean, log_variance = self.net_.encode(matrices)
        latent = mean + torch.randn_like(mean) * (0.5 * log_variance).exp()
        log_rate = self.net_.decode(latent, confounds)
        nll = (log_rate.exp() - matrices * log_rate).sum(1)
        variance = log_variance.exp()
        kl = 0.5 * (mean.square() + variance - 1 - log_variance).sum(1)
        distance = (mean[:, None] - mean[None]).square() + variance[:, None]
        pairs = distance / variance[None] + log_variance[None] - log_variance[:, None] - 1
        return (2 * nll + kl + 0.5 * pairs.sum(2).mean(1)).mean()

    def transform(self, X: np.ndarray, *, confounds: np.ndarray | None = None) -> np.ndarray:
        """Return posterior means of z (n, 68)."""
        with torch.no_grad():
            return self.net_.encode(self._matrices(X))[0].double().numpy()

    def adjust(self, X: np.ndarray, *, confounds: np.ndarray | None = None) -> np.ndarray:
        """Return edges (n, E) decoded at the reference 0."""
        reference = torch.from_numpy(-self.center_ / self.scale_).float().expand(len(X), -1)
        with torch.no_grad():
            latent = self.net_.encode(self._matrices(X))[0]
            rates = _UNIT * self.net_.decode(latent, reference).exp().double().numpy()
        matrices = rates.reshape(len(X), self.n_regions_, self.n_regions_)
        return matrices_to_edges((matrices + np.swapaxes(matrices, 1, 2)) / 2, check=False)

    def _matrices(self, X: np.ndarray) -> Tensor:
        return torch.from_numpy(edges_to_matrices(X) / _UNIT).float().flatten(1)
