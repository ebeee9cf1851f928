"""What the stages of inv-FA found, as tensors beside which a network is trained."""

from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from stillome.methods.inv_fa.parts import InvariantModel
from stillome.methods.stages.numeric_limits import DISPERSION_RANGE, LARGEST_LOG_SCALE


class FrozenStages(nn.Module):
    """What the stages of inv-FA found, as tensors that are not trained.

    Parameters
    ----------
    **found : tensors
        ``baseline`` (E,), ``slopes`` (P, E), ``loadings`` (K, E), ``susceptibility`` (C, K),
        ``shares`` (C, P, P), ``association`` and ``unit_scale`` (P, K), ``log_dispersion`` (E,),
        ``dispersion_slopes`` (P,).
    """

    baseline: Tensor
    slopes: Tensor
    loadings: Tensor
    susceptibility: Tensor
    shares: Tensor
    association: Tensor
    unit_scale: Tensor
    log_dispersion: Tensor
    dispersion_slopes: Tensor

    def __init__(self, **found: Tensor) -> None:
        super().__init__()
        for name, values in found.items():
            self.register_buffer(name, values, persistent=False)

    def decoder_input(self, latent: Tensor, functions: Tensor) -> Tensor:
        """Return z̃ (B, K) of a scan at these functions of motion (B, P)."""
        log_scale = (functions @ self.unit_scale).clamp(-LARGEST_LOG_SCALE, LARGEST_LOG_SCALE)
        return latent * log_scale.exp() + functions @ self.association

    def log_rates(self, latent: Tensor, functions: Tensor) -> Tensor:
        """Return ξ + Σ_j (1 + z̃ · s_j) m^(j) + z̃ · L, shape (B, E)."""
        moved = functions
        factors = (latent @ self.susceptibility.mT).clamp(-1, 1)
        for confound, share in enumerate(self.shares):
            moved = moved + factors[:, confound : confound + 1] * (functions @ share)
        weights = torch.cat([self.slopes, self.loadings])
        return torch.addmm(self.baseline, torch.cat([moved, latent], dim=1), weights)

    def log_dispersions(self, functions: Tensor) -> Tensor:
        """Return log φ (B, E) at these functions of motion."""
        least, largest = (torch.tensor(limit).log() for limit in DISPERSION_RANGE)
        spread = self.log_dispersion + (functions @ self.dispersion_slopes)[:, None]
        return spread.clamp(float(least), float(largest))


def single(values: NDArray[Any]) -> Tensor:
    """Return an array as a tensor in single precision."""
    return torch.from_numpy(np.ascontiguousarray(values, dtype=np.float32))


def without_factors(base: InvariantModel) -> InvariantModel:
    """Return the stages without any person in them."""
    nobody = {
        name: np.zeros_like(getattr(base.decoder, name)) for name in ("loadings", "susceptibility")
    }
    nothing = {
        name: np.zeros_like(getattr(base.encoder, name)) for name in ("association", "unit_scale")
    }
    return replace(
        base, decoder=replace(base.decoder, **nobody), encoder=replace(base.encoder, **nothing)
    )


def frozen_stages(base: InvariantModel, *, pooled: bool) -> FrozenStages:
    """Return what the stages found as tensors; without `pooled`, no motion effect."""
    effect, decoder, encoder = base.effect, base.decoder, base.encoder
    baseline, slopes = effect.baseline + decoder.offset, effect.slopes
    if not pooled:
        baseline, slopes = np.zeros_like(baseline), np.zeros_like(slopes)
    found = {
        "baseline": baseline,
        "slopes": slopes,
        "loadings": decoder.loadings,
        "susceptibility": decoder.susceptibility,
        "shares": decoder.shares,
        "association": encoder.association,
        "unit_scale": encoder.unit_scale,
        "log_dispersion": np.log(decoder.dispersion),
        "dispersion_slopes": decoder.dispersion_slopes,
    }
    return FrozenStages(**{name: single(values) for name, values in found.items()})
