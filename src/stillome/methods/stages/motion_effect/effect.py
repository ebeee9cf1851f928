"""What motion does to every edge: a negative binomial regression per edge, pooled over edges."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from stillome.arrays import Floats
from stillome.methods.stages.motion_effect.pooling import (
    EdgeDesign,
    IndividualDifferences,
    PooledEffect,
    pool_effects,
)

_NEWTON_STEPS = 3  # before edges are pooled; afterwards only baselines move
_BASELINE_STEPS = 2
_PRIOR_PRECISION = 4.0  # weak, so that the first steps are finite for edges of a few fibres
_LARGEST_STEP = 1.5
_LOG_RATE_LIMIT = 16.0  # nine million fibres
LOG_RATE_RANGE = (-14.0, _LOG_RATE_LIMIT)
_DISPERSION_RANGE = (1e-3, 50.0)
_LIKELY_START = (1e-2, 20.0)
_LIKELIHOOD_STEPS = 4

Array = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class MotionEffect:
    """log rate = baseline + functions of motion · slopes; variance = rate + dispersion · rate².

    Attributes
    ----------
    baseline : array of shape (E,)
        ξ, for functions of motion at their mean.
    slopes : array of shape (P, E)
    dispersion : array of shape (E,)
        Around the rate given motion: individual differences and noise together.
    dispersion_slopes : array of shape (P,)
        log dispersion changes by this much per unit of each function of motion, for all edges.
    uncertainties : array of shape (P, E)
        Posterior standard deviations of the slopes.
    chance : array of shape (P,)
        See `PooledEffect`.
    """

    baseline: Floats
    slopes: Floats
    dispersion: Floats
    dispersion_slopes: Floats
    uncertainties: Floats
    chance: Floats

    def log_rates(self, functions: Array) -> Array:
        """Return ξ + m(c), shape (n, E)."""
        slopes = self.slopes.astype(functions.dtype, copy=False)
        return np.asarray(functions @ slopes + self.baseline.astype(functions.dtype, copy=False))

    def dispersions(self, functions: Array) -> Array:
        """Return the dispersion at this motion, shape (n, E)."""
        return scaled_dispersion(self.dispersion, self.dispersion_slopes, functions)


def fit_motion_effect(counts: Array, functions: Array, design: EdgeDesign) -> MotionEffect:
    """Fit every edge by likelihood, then let edges learn from each other.

    Parameters
    ----------
    counts : array of shape (n, E)
        Float32 is enough and twice as fast.
    functions : array of shape (n, P)
        Standardised functions of motion, same dtype.
    design : EdgeDesign
        What edges can share.
    """
    baseline = log_means(counts)
    slopes = np.zeros((functions.shape[1], counts.shape[1]))
    dispersion = np.full(counts.shape[1], 0.3)
    none = np.zeros(functions.shape[1])
    state = MotionEffect(baseline, slopes, dispersion, none, np.zeros_like(slopes), none)
    for step in range(_NEWTON_STEPS):
        state = _newton_step(counts, functions, state, refit_dispersion=step > 0)
    for _ in range(2):
        pooled = _pool(counts, functions, state, design)
        state = replace(
            state,
            slopes=np.stack([effect.effects for effect in pooled]),
            uncertainties=np.stack([effect.uncertainties for effect in pooled]),
            chance=np.array([effect.chance for effect in pooled]),
        )
        state = refit_baseline(counts, functions, state)
    rates = _rates(state, functions)
    dispersion = fit_dispersion(counts, rates)
    dispersion_slopes = fit_dispersion_slopes(counts, rates, dispersion, functions)
    return replace(state, dispersion=dispersion, dispersion_slopes=dispersion_slopes)


def log_means(counts: Array) -> Floats:
    """Return the log of the mean count of every edge; an edge never seen counts half a fibre."""
    means = counts.mean(axis=0, dtype=np.float64)
    return np.asarray(np.log(np.maximum(means, 0.5 / len(counts))))


def fit_dispersion(counts: Array, rates: Array) -> Floats:
    """Estimate dispersion per edge by moments, shrunk where an edge has too few fibres to tell.

    Parameters
    ----------
    counts, rates : arrays of shape (n, E)
    """
    residual = counts - rates
    excess = np.einsum("ne,ne->e", residual, residual, dtype=np.float64) - rates.sum(
        axis=0, dtype=np.float64
    )
    own = excess / np.einsum("ne,ne->e", rates, rates, dtype=np.float64)
    mean = rates.mean(axis=0, dtype=np.float64)
    strong = mean > np.quantile(mean, 0.6)
    if not strong.any():
        strong[:] = True
    typical = max(float(np.median(own[strong])), _DISPERSION_RANGE[0])
    variance = 2 * (1 / mean + typical) ** 2 / len(counts)
    between = max(float(np.var(own[strong]) - np.median(variance[strong])), 1e-4)
    weight = between / (between + variance)
    return np.clip(weight * own + (1 - weight) * typical, *_DISPERSION_RANGE)


def likely_dispersion(counts: Array, rates: Array, start: Floats) -> Floats:
    """Refine dispersions by likelihood, shrunk over edges: moments hang on the largest counts.

    Parameters
    ----------
    counts, rates : arrays of shape (n, E)
    start : array of shape (E,)
        From `fit_dispersion`.
    """
    means = np.maximum(rates.astype(np.float64), 1e-8)
    log_dispersion = np.log(np.clip(start, *_LIKELY_START))
    middle, precision = float(np.median(log_dispersion)), 1.0
    for _ in range(_LIKELIHOOD_STEPS):
        gradient, information = _dispersion_derivatives(counts, means, np.exp(-log_dispersion))
        gradient -= precision * (log_dispersion - middle)
        step = np.clip(gradient / (information + precision), -1, 1)
        log_dispersion = np.clip(log_dispersion + step, *np.log(_DISPERSION_RANGE))
        variance = 1 / information
        sure = variance <= np.quantile(variance, 0.6)
        middle = float(np.median(log_dispersion[sure]))
        between = float(np.var(log_dispersion[sure]) - np.median(variance[sure]))
        precision = 1 / max(between, 0.02)
    return np.asarray(np.exp(log_dispersion))


def _dispersion_derivatives(counts: Array, means: Floats, sizes: Floats) -> tuple[Floats, Floats]:
    """Return gradient and information (E,) of the likelihood in the log dispersion."""
    both, total = counts + sizes, means + sizes
    scores = special.psi(both) - special.psi(sizes) + 1 + np.log(sizes / total) - both / total
    scores *= -sizes
    # The outer product of the scores: half the price of second derivatives.
    return scores.sum(axis=0), np.maximum(np.einsum("ne,ne->e", scores, scores), 1e-3)


def fit_dispersion_slopes(
    counts: Array, rates: Array, dispersion: Floats, functions: Array
) -> Floats:
    """Estimate how the dispersion of all edges changes with motion; 0 where noise explains it."""
    phi = dispersion.astype(rates.dtype)
    weights = 1 / (1 + phi * rates) ** 2
    excess = (weights * ((counts - rates) ** 2 - rates)).sum(axis=1, dtype=np.float64)
    expected = (weights * phi * rates**2).sum(axis=1, dtype=np.float64)
    log_ratio = np.log(np.maximum(excess / expected, 0.05))
    log_ratio -= log_ratio.mean()
    slopes = functions.T.astype(np.float64) @ log_ratio / len(counts)
    chance = log_ratio.var() / len(counts)
    return slopes * np.maximum(0, 1 - 2 * chance / np.maximum(slopes**2, 1e-12))


def scaled_dispersion(dispersion: Floats, slopes: Floats, functions: Array) -> Array:
    """Return dispersion · exp(functions · slopes), shape (n, E)."""
    factor = np.exp(functions @ slopes.astype(functions.dtype))[:, None]
    scaled = dispersion.astype(functions.dtype) * factor
    return np.asarray(np.clip(scaled, *_DISPERSION_RANGE))


def _rates(state: MotionEffect, functions: Array) -> Array:
    log_rates = np.clip(state.log_rates(functions), -_LOG_RATE_LIMIT, _LOG_RATE_LIMIT)
    return np.exp(log_rates, out=log_rates)


def _derivatives(
    counts: Array, functions: Array, state: MotionEffect
) -> tuple[Array, Floats, Floats]:
    """Return score residuals (n, E), gradient (E, 1+P) and information (E, 1+P, 1+P)."""
    rates = _rates(state, functions)
    shrink = 1 / (1 + rates * state.dispersion.astype(rates.dtype))
    weights, residual = rates * shrink, (counts - rates) * shrink
    design = np.column_stack([np.ones(len(functions), functions.dtype), functions])
    n_columns = design.shape[1]
    products = (design[:, :, None] * design[:, None, :]).reshape(len(design), -1)
    information = (weights.T @ products).astype(np.float64).reshape(-1, n_columns, n_columns)
    gradient = (residual.T @ design).astype(np.float64)
    return residual, gradient, information


def _newton_step(
    counts: Array, functions: Array, state: MotionEffect, *, refit_dispersion: bool
) -> MotionEffect:
    if refit_dispersion:
        state = replace(state, dispersion=fit_dispersion(counts, _rates(state, functions)))
    _, gradient, information = _derivatives(counts, functions, state)
    gradient[:, 1:] -= _PRIOR_PRECISION * state.slopes.T
    step = np.linalg.solve(_with_prior(information), gradient[..., None])[..., 0]
    step = np.clip(step, -_LARGEST_STEP, _LARGEST_STEP)
    return replace(state, baseline=state.baseline + step[:, 0], slopes=state.slopes + step[:, 1:].T)


def _with_prior(information: Floats) -> Floats:
    prior = np.full(information.shape[1], _PRIOR_PRECISION)
    prior[0] = 1e-3
    return np.asarray(information + np.diag(prior))


def refit_baseline(counts: Array, functions: Array, state: MotionEffect) -> MotionEffect:
    """Let the baselines follow slopes that have changed."""
    for _ in range(_BASELINE_STEPS):
        rates = _rates(state, functions)
        shrink = 1 / (1 + rates * state.dispersion.astype(rates.dtype))
        gradient = ((counts - rates) * shrink).sum(axis=0, dtype=np.float64)
        information = (rates * shrink).sum(axis=0, dtype=np.float64)
        step = np.clip(gradient / (information + 1e-3), -_LARGEST_STEP, _LARGEST_STEP)
        state = replace(state, baseline=state.baseline + step)
    return state


def _pool(
    counts: Array, functions: Array, state: MotionEffect, design: EdgeDesign
) -> list[PooledEffect]:
    """Take one likelihood step from here for every edge, and pool where it leads."""
    residual, gradient, information = _derivatives(counts, functions, state)
    # The prior is only there to keep edges without fibres finite.
    weak = np.linalg.inv(information + np.diag([1e-3] + [0.1] * functions.shape[1]))
    steps = np.einsum("eij,ej->ei", weak, gradient)[:, 1:].T
    # From score residuals to the log scale: divide by the information per subject.
    per_subject = (information[:, 0, 0] + 1e-9) / len(counts)
    variances, n = np.diagonal(weak, axis1=1, axis2=2).T, len(counts)
    individual = IndividualDifferences.find(residual).per_log_rate(per_subject, variances[0], n)
    pooled = []
    for slope, step, variance in zip(state.slopes, steps, variances[1:], strict=True):
        estimates, own = np.clip(slope + step, -5, 5), individual.own_variances(variance, n)
        pooled.append(pool_effects(estimates, own, design, individual, n))
    return pooled
