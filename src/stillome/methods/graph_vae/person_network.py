"""The person part of inv-VAE on the stages of inv-FA: q(z | A, c), and what z adds to log rates.

    log μ_e = ξ_e + Σ_j (1 + z̃ · s_j) m_e^(j)(c) + z̃ · L_e + deviation_e(z̃, c)

Everything but the deviation and q is a `FrozenStages`: fitted before, and not trained.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from stillome.methods.graph_vae.equations import reparameterise, trait_log_likelihood
from stillome.methods.graph_vae.frozen_stages import FrozenStages
from stillome.methods.graph_vae.fused import NegativeBinomialCost, PoissonCost
from stillome.methods.graph_vae.layers import (
    Encoder,
    LatentSpaceDecoder,
    ScoreEncoder,
    SignedGraphDecoder,
    linear,
)
from stillome.methods.graph_vae.network import Loss, Posterior
from stillome.methods.graph_vae.stored_rows import Rows, some_rows
from stillome.methods.stages.numeric_limits import LOG_RATE_RANGE


@dataclass(frozen=True)
class PersonSizes:
    """The sizes of the network: K, hidden layers, M, C if the decoder sees confounds, and T.

    Attributes
    ----------
    linear : bool
        Whether the decoder has the linear path of the factors, from which z then starts.
    poisson : bool
        Whether counts are Poisson; else negative binomial.
    """

    n_components: int
    hidden: tuple[int, ...]
    n_layers: int
    n_confounds: int
    n_traits: int
    linear: bool
    poisson: bool


class StagedSubjects(NamedTuple):
    """Subjects as tensors: a whole cohort, whose counts may stay in a file, or one batch."""

    inputs: Tensor  # (n, E) or (n, K): what the encoder reads
    counts: Rows  # (n, E), a tensor in a batch
    constant: Tensor  # (n,) the part of −log p(A | z, c) that no rate changes
    functions: Tensor  # (n, P) of the motion of the scan
    confounds: Tensor  # (n, C) standardised
    traits: Tensor  # (n, T), NaN = missing

    def some(self, rows: Tensor) -> "StagedSubjects":
        """Return some of the subjects, where they are."""
        return self._each(lambda values: some_rows(values, rows))

    def take(self, rows: Tensor) -> "StagedSubjects":
        """Return a batch of the subjects, in memory."""
        return self._each(lambda values: values.index_select(0, rows))

    def to(self, device: torch.device) -> "StagedSubjects":
        """Return the subjects on a device."""
        return self._each(lambda values: values.to(device))

    def _each(self, function: Callable[[Any], Any]) -> "StagedSubjects":
        return StagedSubjects(*(function(values) for values in self))

    @property
    def number(self) -> int:
        """How many subjects there are, n."""
        return self.counts.shape[0]


class PersonNetwork(nn.Module):
    """Encoder, graph decoder and linear regression on z; `FrozenStages` stand beside it.

    Parameters
    ----------
    sizes : PersonSizes
    mask : tensor of shape (R, V, V), boolean
        From `neighbor_mask`.
    generator : torch.Generator
        Draws all first weights; torch's global generator is not touched.
    stages : FrozenStages, optional
        Needed for training only.
    """

    def __init__(
        self,
        sizes: PersonSizes,
        mask: Tensor,
        generator: torch.Generator,
        stages: FrozenStages | None = None,
    ) -> None:
        super().__init__()
        self.architecture, self.stages = sizes, stages
        n_units, n_regions = sizes.n_components, mask.shape[1]
        n_edges = n_regions * (n_regions - 1) // 2
        self.encoder: nn.Module
        self.decoder: LatentSpaceDecoder
        if sizes.linear:
            self.encoder = ScoreEncoder(sizes.hidden, n_units, generator)
            self.decoder = SignedGraphDecoder(n_units, mask, sizes.n_layers, generator)
        else:
            self.encoder = Encoder(n_edges, sizes.hidden, n_units, generator)
            inputs = n_units + sizes.n_confounds
            self.decoder = LatentSpaceDecoder(inputs, mask, sizes.n_layers, generator)
        if sizes.n_traits:
            self.regression = linear(n_units, sizes.n_traits, generator)
            self.log_sigma = nn.Parameter(torch.zeros(sizes.n_traits))

    def posterior(self, inputs: Tensor) -> Posterior:
        """Map what the encoder reads to q(z | A, c), each (B, K)."""
        return Posterior(*self.encoder(inputs))

    def deviation(self, latent: Tensor, confounds: Tensor) -> Tensor:
        """Map z̃ (B, K), and c (B, C) if the decoder sees it, to a part of log rates (B, E)."""
        answer: Tensor = self.decoder(torch.cat([latent, confounds], dim=1))
        return answer

    def loss(self, subjects: StagedSubjects, noise: Tensor, invariance_weight: float) -> Loss:
        """Return the negative of eq. (10) for a batch, with its parts, per subject.

        Parameters
        ----------
        subjects : StagedSubjects
            B of them.
        noise : tensor of shape (L, B, K)
            Standard normal: one slice for each Monte-Carlo sample.
        invariance_weight : float
            λ.
        """
        posterior = self.posterior(subjects.inputs)
        latent = reparameterise(*posterior, noise)
        trait_nll = latent.new_zeros(latent.shape[1])
        if self.architecture.n_traits:
            predicted = self.regression(latent)
            density = trait_log_likelihood(subjects.traits, predicted, self.log_sigma)
            trait_nll = -density.mean(0)
        return Loss.of(posterior, self._nll(subjects, latent), trait_nll, invariance_weight)

    def _nll(self, subjects: StagedSubjects, latent: Tensor) -> Tensor:
        assert self.stages is not None
        n_samples = len(latent)
        assert isinstance(subjects.counts, Tensor)
        # For one sample these are views; for several, each sample meets every subject.
        counts, functions, confounds = (
            values.expand(n_samples, -1, -1).flatten(0, 1)
            for values in (subjects.counts, subjects.functions, subjects.confounds)
        )
        z = self.stages.decoder_input(latent.flatten(0, 1), functions)
        log_rate = self.stages.log_rates(z, functions) + self.deviation(z, confounds)
        log_rate = log_rate.clamp(*LOG_RATE_RANGE)
        cost: Tensor
        if self.architecture.poisson:
            cost = PoissonCost.apply(log_rate, counts)
        else:
            log_dispersions = self.stages.log_dispersions(functions)
            cost = NegativeBinomialCost.apply(
                log_rate + log_dispersions, counts, (-log_dispersions).exp()
            )
        return cost.view(n_samples, -1).mean(0) + subjects.constant
