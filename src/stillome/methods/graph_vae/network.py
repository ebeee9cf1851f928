"""inference → generative → loss: the three modules of the paper's Figure 3 in one network."""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn

from stillome.methods.graph_vae.equations import (
    invariant_objective,
    reparameterise,
    trait_log_likelihood,
)
from stillome.methods.graph_vae.fused import LatentCost, PoissonCost
from stillome.methods.graph_vae.layers import Encoder, LatentSpaceDecoder, linear


@dataclass(frozen=True)
class Architecture:
    """The sizes of the network: K, the hidden layers, M, C (0 for GATE) and T."""

    n_components: int
    hidden: tuple[int, ...]
    n_layers: int
    n_confounds: int
    n_traits: int


class Subjects(NamedTuple):
    """Subjects as tensors, scaled: a whole cohort or one batch."""

    inputs: Tensor  # (n, E) what the encoder reads
    counts: Tensor  # (n, E)
    log_factorial: Tensor  # (n,) Σ log A!
    confounds: Tensor  # (n, C)
    traits: Tensor  # (n, T), NaN = missing

    def take(self, rows: Tensor) -> "Subjects":
        """Return some of the subjects."""
        return Subjects(*(values.index_select(0, rows) for values in self))

    def to(self, device: torch.device) -> "Subjects":
        """Return the subjects on a device."""
        return Subjects(*(values.to(device) for values in self))

    @property
    def number(self) -> int:
        """How many subjects there are, n."""
        return self.counts.shape[0]


class Posterior(NamedTuple):
    """q(z | A): mean and log variance, each (B, K)."""

    mean: Tensor
    log_variance: Tensor


class Loss(NamedTuple):
    """What is minimised and its parts, each per subject (B,), with the posterior they came from."""

    total: Tensor
    nll: Tensor
    kl: Tensor
    marginal_kl: Tensor
    trait_nll: Tensor
    posterior: Posterior

    @classmethod
    def of(
        cls, posterior: Posterior, nll: Tensor, trait_nll: Tensor, invariance_weight: float
    ) -> "Loss":
        """Add both divergences, with λ, to the costs of counts and traits."""
        kl: Tensor
        marginal_kl: Tensor
        kl, marginal_kl = LatentCost.apply(*posterior)
        objective = invariant_objective(-nll - trait_nll, kl, marginal_kl, invariance_weight)
        return cls(-objective, nll, kl, marginal_kl, trait_nll, posterior)


class GraphVAEModule(nn.Module):
    """The network of Section 3: encoder, graph decoder with ξ and α, linear regression on z.

    Parameters
    ----------
    architecture : Architecture
    mask : tensor of shape (R, V, V), boolean
        From `neighbor_mask`.
    generator : torch.Generator
        Draws all first weights; torch's global generator is not touched.
    """

    def __init__(
        self, architecture: Architecture, mask: Tensor, generator: torch.Generator
    ) -> None:
        super().__init__()
        self.architecture = architecture
        sizes = architecture
        n_regions = mask.shape[1]
        n_edges = n_regions * (n_regions - 1) // 2
        self.encoder = Encoder(n_edges, sizes.hidden, sizes.n_components, generator)
        self.decoder = LatentSpaceDecoder(
            sizes.n_components + sizes.n_confounds, mask, sizes.n_layers, generator
        )
        if sizes.n_traits:
            self.regression = linear(sizes.n_components, sizes.n_traits, generator)
            self.log_sigma = nn.Parameter(torch.zeros(sizes.n_traits))

    def start_at(self, mean_counts: Tensor) -> None:
        """Set ξ so that z = 0 at average confounds decodes to the mean network (E,).

        From zero, Adam at the paper's learning rates would not bring ξ to the scale of fibre
        counts within the paper's 200 epochs.
        """
        size = self.architecture.n_components + self.architecture.n_confounds
        with torch.no_grad():
            self.decoder.baseline.zero_()
            individual = self.decoder(torch.zeros(1, size, device=mean_counts.device))[0]
            self.decoder.baseline.copy_(mean_counts.log() - individual)

    def inference(self, inputs: Tensor) -> Posterior:
        """Map what the encoder reads (B, E) to q(z | A); c is never seen here."""
        return Posterior(*self.encoder(inputs))

    def generative(self, latent: Tensor, confounds: Tensor) -> Tensor:
        """Map z (B, K) and c (B, C) to log rates (B, E); another c is another scan."""
        return self.decoder(torch.cat([latent, confounds], dim=1))

    def predict(self, latent: Tensor) -> Tensor:
        """Map z (..., K) to traits (..., T), standardised."""
        return self.regression(latent)

    def loss(self, subjects: Subjects, noise: Tensor, invariance_weight: float) -> Loss:
        """Return the negative of eq. (10) for a batch, with its parts, per subject.

        Parameters
        ----------
        subjects : Subjects
            B of them.
        noise : tensor of shape (L, B, K)
            Standard normal: one slice for each Monte-Carlo sample.
        invariance_weight : float
            λ.
        """
        posterior = self.inference(subjects.inputs)
        latent = reparameterise(*posterior, noise)
        trait_nll = self._trait_nll(subjects, latent)
        return Loss.of(posterior, self._nll(subjects, latent), trait_nll, invariance_weight)

    def _nll(self, subjects: Subjects, latent: Tensor) -> Tensor:
        n_samples = len(latent)
        # For one sample these are views; for several, each sample meets every subject.
        confounds = subjects.confounds.expand(n_samples, -1, -1).flatten(0, 1)
        counts = subjects.counts.expand(n_samples, -1, -1).flatten(0, 1)
        log_rate = self.generative(latent.flatten(0, 1), confounds)
        cost: Tensor = PoissonCost.apply(log_rate, counts)
        return cost.view(n_samples, -1).mean(0) + subjects.log_factorial

    def _trait_nll(self, subjects: Subjects, latent: Tensor) -> Tensor:
        if not self.architecture.n_traits:
            return latent.new_zeros(latent.shape[1])
        predicted = self.predict(latent)
        return -trait_log_likelihood(subjects.traits, predicted, self.log_sigma).mean(0)
