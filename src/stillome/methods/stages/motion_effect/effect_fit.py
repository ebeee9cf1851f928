"""The effect of motion on every edge: a negative binomial regression, pooled over edges.

    A_e ~ NB(rate_e, φ_e),   log rate_e = ξ_e + h(c) · β_e

Estimated in three steps: per edge by penalised likelihood (Fisher scoring; Lawless 1987), pooled
over edges (`pooling`), with baselines ξ refitted by likelihood. Pooling is repeated around the
estimates it leads to, until the slopes no longer change. All of this happens before z exists, so
that z cannot take over a part of the effect.
"""

from dataclasses import replace
from typing import NamedTuple, Self

import numpy as np

from stillome.arrays import AnyFloats, Floats
from stillome.cohort.groups import Levels
from stillome.counts.column_sums import column_sums
from stillome.counts.edge_tables import AnyTable, EdgeTable, PerSubject
from stillome.methods.stages.convergence import Iterations, Relaxation, in_standard_errors
from stillome.methods.stages.motion_effect.chance_effects import EdgeScores
from stillome.methods.stages.motion_effect.chance_share import NO_CHANCE, ChanceVariances
from stillome.methods.stages.motion_effect.dispersion import (
    fit_dispersion,
    fit_dispersion_slopes,
)
from stillome.methods.stages.motion_effect.edge_design import EdgeDesign
from stillome.methods.stages.motion_effect.effect import MotionEffect, log_means
from stillome.methods.stages.motion_effect.pooling import (
    PooledEffect,
    pool_each,
    uncertainties_of,
)
from stillome.methods.stages.numeric_limits import (
    LARGEST_SLOPE,
    LARGEST_STEP,
    LOG_RATE_RANGE,
)
from stillome.methods.stages.stage_tuning import STAGE_TUNING, StageTuning

# Prior precisions that keep the baseline and the slopes of an edge without fibres finite.
_BASELINE_PRECISION, _SLOPE_PRECISION = 1e-3, 0.1
# Afterwards patterns are fixed: one that comes and goes would keep the pooling from converging.
_PATTERNS_FREE_FOR = 4


def fit_motion_effect(
    counts: AnyTable,
    functions: AnyFloats,
    design: EdgeDesign,
    tuning: StageTuning = STAGE_TUNING,
    iterations: Iterations | None = None,
) -> MotionEffect:
    """Fit every edge by likelihood, then pool over edges.

    Parameters
    ----------
    counts : array or table of shape (n, E)
        Float32 is enough and twice as fast.
    functions : array of shape (n, P)
        Standardised functions of motion, same dtype.
    design : EdgeDesign
        What edges can share.
    tuning : StageTuning
    iterations : Iterations, optional
    """
    return fit_effect_and_chance(counts, functions, design, tuning, iterations)[0]


def fit_effect_and_chance(
    counts: AnyTable,
    functions: AnyFloats,
    design: EdgeDesign,
    tuning: StageTuning = STAGE_TUNING,
    iterations: Iterations | None = None,
    by_chance: ChanceVariances | None = None,
    groups: Levels | None = None,
) -> tuple[MotionEffect, ChanceVariances]:
    """Fit as `fit_motion_effect` does; return also the variances that chance gives effects.

    These take as long to find as the fit itself. They may be given where they are known from
    nearly the same data. `groups` are as in `group_levels`.
    """
    iterations, counts = iterations or Iterations(tuning), EdgeTable.of(counts)
    state = _fit_each_edge(counts, functions, iterations)
    if not functions.shape[1]:
        return state, NO_CHANCE
    expansion = _Expansion.of(counts, functions, state)
    scores = _scores(counts, functions, state, design, groups, expansion)
    apart = scores.apart()
    individual = apart.factors(tuning)
    if by_chance is None:
        by_chance = apart.by_chance(design, individual, iterations)
    del apart  # as large as all connectomes
    relax = Relaxation(axis=1)
    pooled: list[PooledEffect] = []
    for number in iterations.of("pooling"):
        if number > 1:
            expansion = _Expansion.of(counts, functions, state)
            scores = _scores(counts, functions, state, design, groups, expansion)
        scaled = scores.per_log_rate(individual)
        before = [effect.start for effect in pooled]
        pooled = []  # designs are large; one at a time
        pooled = pool_each(
            np.clip(state.slopes + expansion.steps(), -LARGEST_SLOPE, LARGEST_SLOPE),
            scores.own_variances(scaled),
            design,
            scaled,
            scores.n_independent,
            tuning,
            iterations,
            before=before,
            keep_pattern=number > _PATTERNS_FREE_FOR,
            by_chance=by_chance,
        )
        step = np.stack([effect.effects for effect in pooled]) - state.slopes
        taken = relax(step)
        baseline = np.clip(state.baseline + expansion.level_step(taken), *LOG_RATE_RANGE)
        state = replace(state, slopes=state.slopes + taken, baseline=baseline)
        variances = np.array([[effect.mean_variance] for effect in pooled])
        if iterations.converged(in_standard_errors(step, 1 / variances)):
            break
    state = refit_baseline(counts, functions, state, iterations)
    rates = state.rate_table(functions, counts)
    dispersion = fit_dispersion(counts, rates)
    slopes = fit_dispersion_slopes(counts, rates, dispersion, functions, groups)
    uncertainties, errors = uncertainties_of(pooled)
    effect = replace(
        state,
        dispersion=dispersion,
        dispersion_slopes=slopes,
        uncertainties=uncertainties,
        errors=errors,
        chance=np.array([each.chance for each in pooled]),
    )
    return effect, by_chance


def refit_baseline(
    counts: AnyTable,
    functions: AnyFloats,
    state: MotionEffect,
    iterations: Iterations | None = None,
) -> MotionEffect:
    """Refit the baselines by likelihood, at fixed slopes."""
    iterations, table = iterations or Iterations(), EdgeTable.of(counts)
    for _ in iterations.of("baseline"):
        gradient, information = table.sums(_level_derivatives, state, PerSubject(functions))
        step = gradient / (information + _BASELINE_PRECISION)
        step = np.clip(step, -LARGEST_STEP, LARGEST_STEP)
        state = replace(state, baseline=np.clip(state.baseline + step, *LOG_RATE_RANGE))
        if iterations.converged(in_standard_errors(step, information)):
            break
    return state


def _level_derivatives(
    counts: AnyFloats, state: MotionEffect, functions: AnyFloats
) -> tuple[AnyFloats, AnyFloats]:
    """Return gradient and information (e,) of the baselines."""
    residual, weights = _residual_and_weights(counts, state, functions)
    return column_sums(residual), column_sums(weights)


def _fit_each_edge(counts: EdgeTable, functions: AnyFloats, iterations: Iterations) -> MotionEffect:
    """Fit baseline, slopes and dispersion of each edge by itself, with a normal prior on slopes."""
    n_functions = functions.shape[1]
    slopes, none = np.zeros((n_functions, counts.shape[1])), np.zeros(n_functions)
    state = MotionEffect(
        baseline=log_means(counts),
        slopes=slopes,
        dispersion=np.zeros(counts.shape[1]),
        dispersion_slopes=none,
        uncertainties=np.zeros_like(slopes),
        errors=np.zeros((n_functions, 0, counts.shape[1])),
        chance=none,
    )
    prior = np.array([_BASELINE_PRECISION] + [_SLOPE_PRECISION] * n_functions)
    relax, last = Relaxation(axis=1), 0.0
    for _ in iterations.of("motion effect"):
        dispersion = fit_dispersion(counts, state.rate_table(functions, counts))
        state = replace(state, dispersion=dispersion)
        gradient, information = _derivatives(counts, functions, state)
        gradient[:, 1:] -= _SLOPE_PRECISION * state.slopes.T
        information += np.diag(prior)
        step = np.linalg.solve(information, gradient[..., None])[..., 0]
        step = np.clip(step, -LARGEST_STEP, LARGEST_STEP)
        taken = relax(step)
        baseline = np.clip(state.baseline + taken[:, 0], *LOG_RATE_RANGE)
        state = replace(state, baseline=baseline, slopes=state.slopes + taken[:, 1:].T)
        square = np.einsum("ei,eij,ej->", step, information, step)
        size = float(np.sqrt(square / step.size))
        # Pooling begins with the step that follows: as much shorter than this one, or more.
        # Dispersions follow below.
        if iterations.converged(size * min(size / last, 1.0) if last else size):
            break
        last = size
    return replace(state, dispersion=fit_dispersion(counts, state.rate_table(functions, counts)))


def _residual_and_weights(
    counts: AnyFloats, state: MotionEffect, functions: AnyFloats
) -> tuple[AnyFloats, AnyFloats]:
    """Return score residuals and the weights of the information, (n, e)."""
    rates = state.rates(functions)
    shrink = rates * state.dispersion.astype(rates.dtype)
    shrink += 1
    np.reciprocal(shrink, out=shrink)
    residual = counts - rates
    residual *= shrink
    rates *= shrink
    return residual, rates


def _residual(counts: AnyFloats, state: MotionEffect, functions: AnyFloats) -> AnyFloats:
    """Return score residuals (n, e)."""
    return _residual_and_weights(counts, state, functions)[0]


def _derivatives(
    counts: EdgeTable, functions: AnyFloats, state: MotionEffect
) -> tuple[Floats, Floats]:
    """Return gradient (E, 1+P) and information (E, 1+P, 1+P)."""
    design = np.column_stack([np.ones(len(functions), functions.dtype), functions])
    products = (design[:, :, None] * design[:, None, :]).reshape(len(design), -1)

    def of_band(
        block: AnyFloats,
        state: MotionEffect,
        functions: AnyFloats,
        design: AnyFloats,
        products: AnyFloats,
    ) -> tuple[AnyFloats, AnyFloats]:
        residual, weights = _residual_and_weights(block, state, functions)
        return design.T @ residual, products.T @ weights

    subjects = (PerSubject(values) for values in (functions, design, products))
    gradient, information = counts.sums(of_band, state, *subjects)
    width = design.shape[1]
    return gradient.T.copy(), information.T.reshape(-1, width, width)


class _Expansion(NamedTuple):
    """The log likelihood of every edge around the current estimates, to second order.

    Attributes
    ----------
    gradient : array of shape (E, 1 + P)
        In level and slopes.
    information : array of shape (E, 1 + P, 1 + P)
    inverse : array of the same shape
        Of the information plus the precisions of weak priors.
    """

    gradient: Floats
    information: Floats
    inverse: Floats

    @classmethod
    def of(cls, counts: EdgeTable, functions: AnyFloats, state: MotionEffect) -> Self:
        """Expand at a state."""
        gradient, information = _derivatives(counts, functions, state)
        prior = [_BASELINE_PRECISION] + [_SLOPE_PRECISION] * functions.shape[1]
        inverse = np.asarray(np.linalg.inv(information + np.diag(prior)), np.float64)
        return cls(gradient, information, inverse)

    def steps(self) -> Floats:
        """Return the likelihood steps of slopes, (P, E)."""
        return np.einsum("eij,ej->ei", self.inverse, self.gradient)[:, 1:].T

    def level_step(self, change: Floats) -> Floats:
        """Return the likelihood step of levels (E,) where slopes change by (P, E)."""
        information = self.information[:, 0]
        gradient = self.gradient[:, 0] - np.einsum("ep,pe->e", information[:, 1:], change)
        step = gradient / (information[:, 0] + _BASELINE_PRECISION)
        return np.clip(step, -LARGEST_STEP, LARGEST_STEP)


def _scores(
    counts: EdgeTable,
    functions: AnyFloats,
    state: MotionEffect,
    design: EdgeDesign,
    groups: Levels | None,
    expansion: _Expansion,
) -> EdgeScores:
    """Return the scores of every edge from here."""
    return EdgeScores.of(
        residual=counts.pointwise(_residual, state, PerSubject(functions)),
        functions=functions,
        variances=np.diagonal(expansion.inverse, axis1=1, axis2=2).T,
        information=(expansion.information[:, 0, 0] + 1e-9) / len(counts),
        least_variances=design.least_variances,
        groups=groups,
    )
