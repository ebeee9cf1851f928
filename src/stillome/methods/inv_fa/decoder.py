"""What a person shows at any motion: a count decoder, fitted by likelihood.

The decoder adds the person's part, ψ = z · loadings, to the log rate of every edge, and lets motion
hit some people harder than others.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stillome.arrays import Floats
from stillome.methods.inv_fa.susceptibility import RelativeResidual, as_felt
from stillome.methods.stages.motion_effect.effect import (
    LOG_RATE_RANGE,
    MotionEffect,
    fit_dispersion,
    fit_dispersion_slopes,
    likely_dispersion,
    scaled_dispersion,
)

_STEPS = 10
_STEP_LENGTH = 0.9
_LARGEST_STEP = 0.5
_FIRST_SUSCEPTIBLE = 3  # loadings are roughly there by then

Array = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class Decoder:
    """p(A | z, c): negative binomial, log rate ξ + m(c) (1 + z · susceptibility) + z · loadings.

    Attributes
    ----------
    offset : array of shape (E,)
        Added to ξ.
    loadings : array of shape (K, E)
    dispersion : array of shape (E,)
        Around the person's own rate.
    dispersion_slopes : array of shape (P,)
    grain : array of shape ()
        For weights: see `fit_spread`; 0 for counts.
    susceptibility : array of shape (C, K)
        How much harder each confound hits people per unit of z.
    shares : array of shape (C, P, P)
        Which part of the functions each confound makes.
    """

    offset: Floats
    loadings: Floats
    dispersion: Floats
    dispersion_slopes: Floats
    grain: Floats = field(default_factory=lambda: np.zeros(()))
    susceptibility: Floats = field(default_factory=lambda: np.zeros((0, 1)))  # earlier versions
    shares: Floats = field(default_factory=lambda: np.zeros((0, 1, 1)))

    def log_rates(self, effect: MotionEffect, functions: Array, latent: Array) -> Array:
        """Return the log rate of every edge, shape (n, E)."""
        dtype = functions.dtype
        person = latent.astype(dtype) @ self.loadings.astype(dtype) + self.offset.astype(dtype)
        moved = effect.log_rates(self.felt(functions, latent))
        return np.clip(moved + person, *LOG_RATE_RANGE)

    def felt(self, functions: Array, latent: Array) -> Array:
        """Return functions of motion (n, P) as strong as they hit these people."""
        return as_felt(functions, latent, self.susceptibility, self.shares)

    def dispersions(self, functions: Array) -> Array:
        """Return the dispersion at this motion, shape (n, E)."""
        return scaled_dispersion(self.dispersion, self.dispersion_slopes, functions)


def fit_decoder(
    counts: Array,
    effect: MotionEffect,
    functions: Array,
    latent: Floats,
    shares: Floats,
) -> Decoder:
    """Fit loadings by penalised likelihood, all edges at once, and whom motion hits harder.

    Parameters
    ----------
    counts : array of shape (n, E)
    effect : MotionEffect
    functions : array of shape (n, P)
    latent : array of shape (n, K)
    shares : array of shape (C, P, P)
        From `MotionBasis.confound_shares`.

    Notes
    -----
    The units of z are uncorrelated over the training subjects, so that a Newton step per unit and
    edge needs no matrix to be inverted.
    """
    z = latent.astype(counts.dtype)
    susceptibility = np.zeros((len(shares), latent.shape[1]))
    second_moment = np.maximum((latent**2).mean(axis=0), 1e-12)[:, None]
    loadings = np.zeros((latent.shape[1], counts.shape[1]), counts.dtype)
    offset = np.zeros(counts.shape[1], counts.dtype)
    dispersion = effect.dispersion.astype(counts.dtype)
    prior_variance = np.full((latent.shape[1], 1), 0.05**2)
    for step in range(_STEPS + 1):
        person = offset + z @ loadings
        moved = effect.log_rates(as_felt(functions, latent, susceptibility, shares))
        rates = np.exp(np.clip(moved + person, *LOG_RATE_RANGE))
        if step in (3, 6, _STEPS):
            dispersion = fit_dispersion(counts, rates).astype(counts.dtype)
        if step == _STEPS:
            break
        shrink = 1 / (1 + rates * dispersion)
        residual = (counts - rates) * shrink
        information = (rates * shrink).sum(axis=0)
        if step >= _FIRST_SUSCEPTIBLE:
            usual = np.exp(np.clip(effect.baseline.astype(z.dtype) + person, *LOG_RATE_RANGE))
            relative = RelativeResidual.of(counts, rates, usual, dispersion)
            for own, share in zip(susceptibility, shares, strict=True):
                along = relative.along(functions @ share.astype(z.dtype), effect.slopes)
                own[:] = along.improved(own, latent, last=step == _STEPS - 1)
        gradient = z.T @ residual - loadings / prior_variance.astype(z.dtype)
        curvature = second_moment * information + 1 / prior_variance
        change = np.clip(_STEP_LENGTH * gradient / curvature, -_LARGEST_STEP, _LARGEST_STEP)
        loadings += change.astype(z.dtype)
        offset += np.clip(
            residual.sum(axis=0) / (information + 1e-3), -_LARGEST_STEP, _LARGEST_STEP
        )
        if step in (4, 7):
            mean_square = (loadings.astype(np.float64) ** 2).mean(axis=1, keepdims=True)
            prior_variance = np.maximum(mean_square, 1e-6)
    likely = likely_dispersion(counts, rates, dispersion.astype(np.float64))
    slopes = fit_dispersion_slopes(counts, rates, likely, functions)
    return Decoder(
        offset.astype(np.float64),
        loadings.astype(np.float64),
        likely,
        slopes,
        susceptibility=susceptibility,
        shares=shares,
    )
