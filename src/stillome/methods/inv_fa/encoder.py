"""The person: a linear encoder of what motion does not explain.

The encoder sees (log(1 + A) − its mean given motion) / its spread given motion, so that neither
the first nor the second moment of its input carries motion. It is fitted in closed form: factor
analysis, keeping the factors that stand above the noise.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stillome.arrays import Floats
from stillome.methods.inv_fa.moments import log_moments
from stillome.methods.inv_fa.spreads import (
    bounded_exp,
    fit_common_scale,
    fit_stretched,
    fit_unit_scale,
)
from stillome.methods.stages.motion_effect.basis import MotionFunctions
from stillome.methods.stages.motion_effect.effect import LOG_RATE_RANGE, MotionEffect
from stillome.methods.stages.motion_effect.pooling import (
    EdgeDesign,
    IndividualDifferences,
    pool_effects,
)
from stillome.methods.stages.motion_effect.spectrum import leading_factors

_SD_FLOOR = 0.05
_ROUNDS = 2
_LEAST_RELIABLE = 0.1  # squared cosine with the true direction
_LARGEST_SHARE = 0.95

Array = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class Encoder:
    """q(z | A, c): posterior mean and standard deviation, in closed form.

    Attributes
    ----------
    offset, scale : arrays of shape (E,)
        Mean and spread of the input over the training subjects.
    drift : array of shape (P, E)
        What of motion is left in the standardised input, per function of motion: the mean of a
        logarithm also moves when motion changes a spread. Taken out before encoding.
    weights : array of shape (E, K)
        From standardised input to the posterior mean; zero for units that carry nothing.
    posterior_sd : array of shape (K,)
        The same for all subjects; 1 (the prior) for units that carry nothing.
    association : array of shape (P, K)
        What of each unit still goes with each function of motion, beyond chance; taken out.
    common_scale : array of shape (P,)
        log spread of the input changes by this much with each function of motion, for all edges.
    unit_scale : array of shape (P, K)
        log spread of each unit changes by this much: where motion adds noise, clear units shrink
        once the spread of the input has been made equal, and unclear ones grow.
    directions : array of shape (K, J)
        Directions of z along which people differ more, or less, the more they moved.
    scale_slopes : array of shape (P, J)
        log spread along each direction changes by this much with each function of motion.
    """

    offset: Floats
    scale: Floats
    drift: Floats
    weights: Floats
    posterior_sd: Floats
    association: Floats
    directions: Floats
    scale_slopes: Floats
    common_scale: Floats = field(default_factory=lambda: np.zeros(0))  # none in earlier versions
    unit_scale: Floats = field(default_factory=lambda: np.zeros((0, 1)))  # nor this

    def encode(self, values: Array, functions: Array) -> Floats:
        """Return the posterior mean (n, K) from encoder input (n, E)."""
        dtype = values.dtype
        standard = (values - self.offset.astype(dtype)) / self.scale.astype(dtype)
        standard -= functions.astype(dtype) @ self.drift.astype(dtype)
        log_scale = functions[:, : len(self.common_scale)] @ self.common_scale
        standard *= bounded_exp(-log_scale).astype(dtype)[:, None]
        means = (standard @ self.weights.astype(dtype)).astype(np.float64)
        means -= functions @ self.association
        means *= bounded_exp(-functions[:, : len(self.unit_scale)] @ self.unit_scale)
        along = means @ self.directions
        # The directions are orthonormal once units have unit variance.
        change = along * (bounded_exp(-functions @ self.scale_slopes) - 1)
        return np.asarray(means + change @ np.linalg.pinv(self.directions))

    def shown(self, latent: Floats, functions: Array, scanned_at: Array) -> Floats:
        """Return z as the decoder takes it, with what goes with motion on average put back.

        Parameters
        ----------
        latent : array of shape (n, K)
        functions : array of shape (n, P)
            Of the motion at which these people are to be shown.
        scanned_at : array of shape (n, P)
            Of the motion at which z was read. `encode` makes units equally spread at every
            motion; where motion adds noise, that is undone here, since less of z can be believed.
        """
        if not len(self.unit_scale):
            # The decoders of earlier versions were fitted to z as motion stretches it.
            along = latent @ self.directions
            change = along * (bounded_exp(functions @ self.scale_slopes) - 1)
            latent = latent + change @ np.linalg.pinv(self.directions)
        log_scale = scanned_at[:, : len(self.unit_scale)] @ self.unit_scale
        return np.asarray(latent * bounded_exp(log_scale) + functions @ self.association)


def encoder_input(counts: Array, effect: MotionEffect, functions: Array, *, whole: bool) -> Array:
    """Return what the encoder sees, shape (n, E).

    For whole-number counts, log(1 + A) standardised by its moments given motion. Weights follow
    no known law, but are continuous: the effect of motion is divided out before the logarithm.
    """
    if not whole:
        moved = np.clip(functions @ effect.slopes.astype(functions.dtype), *LOG_RATE_RANGE)
        return np.log1p(counts * np.exp(-moved))
    rates = np.exp(np.clip(effect.log_rates(functions), *LOG_RATE_RANGE))
    moments = log_moments(rates, effect.dispersions(functions))
    floor = counts.dtype.type(_SD_FLOOR)
    return np.asarray((np.log1p(counts) - moments.mean) / (moments.sd + floor))


def fit_encoder(
    values: Array, motion: MotionFunctions, design: EdgeDesign, n_components: int
) -> Encoder:
    """Fit by factor analysis.

    Parameters
    ----------
    values : array of shape (n, E)
        From `encoder_input`.
    motion : MotionFunctions
    design : EdgeDesign
        What edges can share.
    n_components : int
        Largest number of units; those that do not stand above the noise stay empty.
    """
    offset, scale = values.mean(axis=0), values.std(axis=0) + values.dtype.type(_SD_FLOOR)
    standard = (values - offset) / scale
    drift = _fit_drift(standard, motion, design)
    standard -= motion.values @ drift.astype(values.dtype)
    common_scale = fit_common_scale(motion.scatter(standard, around_motion=False), motion.values)
    standard *= bounded_exp(-motion.values @ common_scale).astype(values.dtype)[:, None]
    apart, n_lost = motion.apart_from(standard), 1 + motion.values.shape[1]
    weights, share = _analyse_factors(apart, n_components, n_lost)
    latent = (standard @ weights.astype(values.dtype)).astype(np.float64)
    association = fit_association(latent, motion)
    scatter = motion.scatter(latent, around_motion=True)
    unit_scale = fit_unit_scale(scatter, motion.values, share)
    scatter *= bounded_exp(-motion.values @ unit_scale)
    directions, scale_slopes = fit_stretched(scatter, motion.values)
    left = latent - motion.values @ association
    association += _fit_association_along(directions, left, motion)
    return Encoder(
        offset.astype(np.float64),
        scale.astype(np.float64),
        drift,
        weights,
        np.sqrt(1 - share),
        association,
        directions,
        scale_slopes,
        common_scale,
        unit_scale,
    )


def _analyse_factors(table: Array, n_components: int, n_lost: int) -> tuple[Floats, Floats]:
    """Return weights (E, K) from a table (n, E) to units, and the share (K,) of signal in each.

    `n_lost` is as in `leading_factors`.
    """
    precision = np.ones(table.shape[1], table.dtype)
    for round_ in range(_ROUNDS):
        weighted = table * precision
        spectrum = leading_factors(weighted, n_components, n_lost)
        if round_ < _ROUNDS - 1:
            # An edge that the factors explain well has little noise of its own: weigh it more.
            signal = spectrum.scores[:, : max(spectrum.n_signal, 1)].astype(table.dtype)
            total = np.maximum((table**2).sum(axis=0), table.dtype.type(1e-12))
            explained = ((signal.T @ table) ** 2).sum(axis=0) / total
            precision = 1 / np.sqrt(1 - np.clip(explained, 0, _LARGEST_SHARE))
    reliability = spectrum.reliability()
    signal = reliability * spectrum.signal_variances()
    share = np.where(reliability > _LEAST_RELIABLE, signal / (1 + signal), 0.0)
    directions = weighted.T.astype(np.float64) @ spectrum.scores
    lengths = np.maximum((directions**2).sum(axis=0), 1e-12)
    # weighted @ directions / lengths are the orthonormal scores; z has variance `share`.
    weights = precision[:, None] * directions / lengths * np.sqrt(len(table) * share)
    return _padded(weights, n_components), _padded(share[None], n_components)[0]


def _fit_drift(standard: Array, motion: MotionFunctions, design: EdgeDesign) -> Floats:
    """Pool the regressions of the input on motion, as the effects on the counts were pooled."""
    n = len(standard)
    slopes = (motion.estimating.T @ standard).astype(np.float64) / n
    individual = IndividualDifferences.find(motion.apart_from(standard), 1 + len(slopes))
    own = individual.own_variances(standard.var(axis=0, dtype=np.float64) / n, n)
    pooled = [pool_effects(slope, own, design, individual, n).effects for slope in slopes]
    return np.stack(pooled) / motion.spread[:, None]


def fit_association(latent: Floats, motion: MotionFunctions) -> Floats:
    """Regress the units on motion; keep what exceeds chance (James–Stein)."""
    slopes = motion.estimating.T.astype(np.float64) @ latent / len(latent)
    variances = latent.var(axis=0)
    n_active = int((variances > 0).sum())
    if n_active < 3:
        return np.zeros_like(slopes)
    squares = (slopes**2 / np.where(variances > 0, variances, np.inf)).sum(axis=1, keepdims=True)
    real = np.maximum(0, 1 - (n_active - 2) / np.maximum(len(latent) * squares, 1e-12))
    return np.asarray(slopes * real / motion.spread[:, None])


def _fit_association_along(directions: Floats, latent: Floats, motion: MotionFunctions) -> Floats:
    """Regress z on motion along each of a few directions (K, J); keep what exceeds chance.

    Whom motion hits harder, it also moves further on average. Among dozens of units one such
    direction drowns in the chance of the others; asked by itself, it does not.
    """
    along = latent @ directions
    slopes = motion.estimating.T.astype(np.float64) @ along / len(latent)
    chance = along.var(axis=0) / len(latent)
    slopes *= np.maximum(0, 1 - chance / np.maximum(slopes**2, 1e-12))
    return np.asarray(slopes / motion.spread[:, None] @ np.linalg.pinv(directions))


def _padded(array: Floats, n_components: int) -> Floats:
    missing = n_components - array.shape[1]
    return np.pad(array, ((0, 0), (0, max(missing, 0))))
