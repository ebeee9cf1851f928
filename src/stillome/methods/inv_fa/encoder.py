"""The encoder: factor analysis of what motion does not explain.

The input is (log(1 + A) − its mean given motion) / its standard deviation given motion, so that
neither the first nor the second moment of the input depends on motion. Factors and their noise
come from the spectrum in closed form (`spectrum`); edges are weighted by their noise, estimated
from a first unweighted decomposition (two steps, as in feasible generalised least squares), which
also gives the individual differences that the drift is pooled with. The posterior mean of z is
linear in the input (Bartholomew, Knott and Moustaki 2011, chapter 3).
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Self

import numpy as np

from stillome.arrays import AnyFloats, Floats
from stillome.counts.edge_tables import (
    AnyTable,
    EdgeTable,
    Kind,
    PerSubject,
    pointwise_of_kind,
)
from stillome.methods.inv_fa.moments import log_moments, means_and_spreads
from stillome.methods.inv_fa.remaining import RemainingDependence
from stillome.methods.inv_fa.spreads import bounded_exp, fit_common_scale
from stillome.methods.inv_fa.tuning import TUNING, Tuning
from stillome.methods.stages.convergence import Iterations
from stillome.methods.stages.motion_effect.basis import MotionFunctions
from stillome.methods.stages.motion_effect.edge_design import EdgeDesign
from stillome.methods.stages.motion_effect.effect import MotionEffect
from stillome.methods.stages.motion_effect.individual_differences import IndividualDifferences
from stillome.methods.stages.motion_effect.pooling import pool_each
from stillome.methods.stages.motion_effect.spectrum import leading_factors
from stillome.methods.stages.numeric_limits import LARGEST_EXPLAINED, LOG_RATE_RANGE

_LARGEST_INPUT = 25.0  # a count where none is expected has no upper limit, and would be all of z
_CONSTANT = 1e-6  # standard deviation of an edge that does not vary


@dataclass(frozen=True)
class FactorEncoder:
    """q(z | A, c): posterior mean and standard deviation, in closed form.

    Attributes
    ----------
    offset, scale : arrays of shape (E,)
        Mean and standard deviation of the input over the training subjects.
    drift : array of shape (P, E)
        Slopes of the standardised input on the functions of motion, pooled over edges; subtracted
        before encoding. The mean of a logarithm also changes when motion changes a variance.
    weights : array of shape (E, K)
        From standardised input to the posterior mean; zero for empty units.
    posterior_sd : array of shape (K,)
        The same for all subjects; 1 (the prior) for empty units.
    association : array of shape (P, K)
        Slopes of the units on the functions of motion, beyond chance; subtracted.
    directions : array of shape (K, J)
        Directions of z whose variance changes with motion.
    scale_slopes : array of shape (P, J)
        Change of the log standard deviation along each direction per function of motion.
    common_scale : array of shape (P,)
        Change of the log standard deviation of the input, common to all edges.
    unit_scale : array of shape (P, K)
        Change of the log standard deviation of each unit. Where motion adds noise, units with much
        signal shrink once the variance of the input has been equalised, and noisy ones grow.
    """

    offset: Floats
    scale: Floats
    drift: Floats
    weights: Floats
    posterior_sd: Floats
    association: Floats
    directions: Floats
    scale_slopes: Floats
    common_scale: Floats
    unit_scale: Floats

    def of_edges(self, edges: slice) -> Self:
        """Return the part of the encoder that reads some edges."""
        return replace(
            self,
            offset=self.offset[edges],
            scale=self.scale[edges],
            drift=self.drift[:, edges],
            weights=self.weights[edges],
        )

    def encode(self, values: AnyTable, functions: AnyFloats) -> Floats:
        """Return the posterior mean (n, K) from encoder input (n, E), an array or a table."""
        used = np.flatnonzero(self.weights.any(axis=0))  # the others are 0 for everybody

        def of_band(block: AnyFloats, encoder: FactorEncoder, functions: AnyFloats) -> Floats:
            # In single precision the product of a subject depends on who stands beside it, and
            # in any on how the weights lie in memory, which differs in a stored model.
            standard = encoder.standardised(block, functions).astype(np.float64)
            return np.asarray(standard @ np.take(encoder.weights, used, axis=1))

        table = EdgeTable.of(values)
        means = np.zeros((len(table), self.weights.shape[1]))
        means[:, used] = table.total_by_subject(of_band, self, PerSubject(functions))
        return self.remaining.removed(means, functions)

    def standardised(self, values: AnyFloats, functions: AnyFloats) -> AnyFloats:
        """Return the input (n, E) standardised, without drift and change of variance."""
        dtype = values.dtype
        standard = _standardised(values, self.offset, self.scale)
        standard -= functions.astype(dtype) @ self.drift.astype(dtype)
        standard *= bounded_exp(-functions @ self.common_scale).astype(dtype)[:, None]
        return standard

    @property
    def remaining(self) -> RemainingDependence:
        """What of the means still depends on motion."""
        return RemainingDependence(
            self.association, self.unit_scale, self.directions, self.scale_slopes
        )

    def decoder_input(self, latent: Floats, functions: AnyFloats, scanned_at: AnyFloats) -> Floats:
        """Return z as the decoder takes it, with its mean association with motion added back.

        Parameters
        ----------
        latent : array of shape (n, K)
        functions : array of shape (n, P)
            Of the motion at which the connectomes are to be predicted.
        scanned_at : array of shape (n, P)
            Of the motion at which z was encoded. `encode` gives units the same variance at every
            motion. Where motion adds noise, z is less reliable, and that is undone here.
        """
        return self.remaining.restored(latent, functions, scanned_at)


def encoder_input(counts: Kind, effect: MotionEffect, functions: AnyFloats, *, whole: bool) -> Kind:
    """Return the input of the encoder, shape (n, E): an array or a table, as the counts are.

    For whole-number counts, log(1 + A) standardised by its moments given motion. Weights follow no
    known distribution, but are continuous: the effect of motion is divided out before the
    logarithm.
    """

    def of_band(block: AnyFloats, effect: MotionEffect, functions: AnyFloats) -> AnyFloats:
        if not whole:
            moved = np.clip(functions @ effect.slopes.astype(functions.dtype), *LOG_RATE_RANGE)
            return np.log1p(block * np.exp(-moved))
        log_rates, log_dispersions = effect.log_rates(functions), effect.log_dispersions(functions)
        moments = log_moments(np.clip(log_rates, *LOG_RATE_RANGE), log_dispersions)
        logs = np.log1p(block)
        logs -= moments.mean
        logs /= moments.sd
        return logs

    return pointwise_of_kind(counts, of_band, effect, PerSubject(functions))


def fit_encoder(
    values: AnyTable,
    motion: MotionFunctions,
    design: EdgeDesign,
    n_components: int,
    tuning: Tuning = TUNING,
    iterations: Iterations | None = None,
) -> FactorEncoder:
    """Fit by factor analysis.

    Parameters
    ----------
    values : array or table of shape (n, E)
        From `encoder_input`.
    motion : MotionFunctions
    design : EdgeDesign
        What edges can share.
    n_components : int
        Largest number of units; those below the noise edge stay empty.
    tuning : Tuning
    iterations : Iterations, optional
    """
    table = EdgeTable.of(values)
    offset, scale = table.each(means_and_spreads)
    scale = np.where(scale > _CONSTANT, scale, 1)
    standard = table.pointwise(_standardised, offset, scale)
    drift, first = _fit_drift(standard, motion, design, tuning, iterations)
    standard = standard.pointwise(_without_drift, drift, PerSubject(motion.values))
    scatter = motion.scatter(standard, around_motion=False)
    common_scale = fit_common_scale(scatter, motion.values, motion.groups)
    shrink = PerSubject(bounded_exp(-motion.values @ common_scale)[:, None])
    standard = standard.pointwise(lambda block, own: block * own.astype(block.dtype), shrink)
    apart, n_lost = motion.apart_from(standard), 1 + motion.values.shape[1]
    weights, share = _analyse_factors(apart, first[:, :n_components], n_lost, n_components, tuning)
    latent = np.zeros((len(table), n_components))
    used = np.flatnonzero(share)  # the others are 0 for everybody
    latent[:, used] = standard.total_by_subject(_along, weights.T[used])
    remaining = RemainingDependence.fit(latent, motion, share, tuning)
    return FactorEncoder(
        offset=offset,
        scale=scale,
        drift=drift,
        weights=weights,
        posterior_sd=np.sqrt(1 - share),
        common_scale=common_scale,
        **vars(remaining),
    )


def _analyse_factors(
    table: EdgeTable, first: Floats, n_lost: int, n_components: int, tuning: Tuning
) -> tuple[Floats, Floats]:
    """Return weights (E, K) from a table (n, E) to units, and the share (K,) of signal in each.

    `first` are the scores (n, J) of factors without weights; `n_lost` is as in `leading_factors`.
    """
    if not first.shape[1]:  # in few subjects none may be above the noise
        first = leading_factors(table, 1, n_lost).scores

    def shares(block: AnyFloats) -> AnyFloats:
        total = np.maximum((block**2).sum(axis=0), block.dtype.type(1e-12))
        return np.asarray(((first.T.astype(block.dtype) @ block) ** 2).sum(axis=0) / total)

    explained = table.each(shares)
    # An edge that the factors explain well has little noise of its own, and gets more weight.
    precision = 1 / np.sqrt(1 - np.clip(explained, 0, LARGEST_EXPLAINED))
    weighted = table.pointwise(lambda block, own: block * own, precision)
    spectrum = leading_factors(weighted, None, n_lost)
    reliability = spectrum.reliability()[:n_components]
    used = np.flatnonzero(reliability > tuning.least_reliable)
    signal = reliability[used] * spectrum.signal_variances()[used]
    share, scores = signal / (1 + signal), spectrum.scores[:, used]
    directions = weighted.each(lambda block: scores.T @ block.astype(np.float64)).T
    lengths = np.maximum((directions**2).sum(axis=0), 1e-12)
    # weighted @ directions / lengths are the orthonormal scores; z has variance `share`.
    weights = precision[:, None] * directions / lengths * np.sqrt(len(table) * share)
    # Row by row in memory, as those of a stored model: `encode` copies any others.
    padded = np.ascontiguousarray(_padded(weights, n_components))
    return padded, _padded(share[None], n_components)[0]


def _fit_drift(
    standard: EdgeTable,
    motion: MotionFunctions,
    design: EdgeDesign,
    tuning: Tuning,
    iterations: Iterations | None,
) -> tuple[Floats, Floats]:
    """Pool the regressions of the input on motion, as the effects on the counts were pooled.

    Returns the slopes (P, E), and the scores (n, J) of the factors apart from motion.
    """
    n = len(standard)
    slopes = standard.each(partial(np.matmul, motion.estimating.T)).astype(np.float64) / n
    apart = motion.apart_from(standard)
    individual = IndividualDifferences.find(apart, 1 + len(slopes), tuning.stages)
    n_alone = motion.n_independent(standard)
    variances = standard.each(lambda block: block.var(axis=0, dtype=np.float64))
    own = individual.own_variances(variances / n_alone, n_alone)
    stages, same = tuning.stages, np.broadcast_to(own, slopes.shape)
    pooled = pool_each(slopes, same, design, individual, n_alone, stages, iterations)
    drift = np.reshape([effect.effects for effect in pooled], slopes.shape)
    return drift / motion.spread[:, None], individual.scores


def _standardised(values: AnyFloats, offset: AnyFloats, scale: AnyFloats) -> AnyFloats:
    centred = values - offset.astype(values.dtype)
    centred /= scale.astype(values.dtype)
    return np.clip(centred, -_LARGEST_INPUT, _LARGEST_INPUT, out=centred)


def _without_drift(standard: AnyFloats, drift: Floats, functions: AnyFloats) -> AnyFloats:
    return np.asarray(standard - functions @ drift.astype(standard.dtype))


def _along(block: AnyFloats, weights: Floats) -> Floats:
    """Return sums over edges of a block (n, e) times weights (K, e)."""
    return np.asarray(block @ weights.T.astype(block.dtype), np.float64)


def _padded(array: Floats, n_components: int) -> Floats:
    missing = n_components - array.shape[1]
    return np.pad(array, ((0, 0), (0, max(missing, 0))))
