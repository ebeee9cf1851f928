"""The fit of the decoder by penalised likelihood.

Offsets and loadings are fitted by Fisher scoring, with a normal prior on the loadings whose
variance per unit is estimated with them (empirical Bayes, by the EM algorithm of Dempster, Laird
and Rubin 1977). Susceptibilities join when the loadings have converged; both alternate until
neither changes. Dispersions are estimated by moments meanwhile, and by likelihood at the end.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stillome.arrays import AnyFloats, Floats
from stillome.cohort.groups import Levels, two_halves
from stillome.counts.edge_tables import AnyTable, EdgeTable
from stillome.methods.inv_fa.decoder import Decoder
from stillome.methods.inv_fa.susceptibility import (
    AlongEffects,
    RelativeResidual,
    susceptible_functions,
)
from stillome.methods.inv_fa.tuning import TUNING, Tuning
from stillome.methods.stages.convergence import (
    Iterations,
    Relaxation,
    in_standard_errors,
)
from stillome.methods.stages.motion_effect.dispersion import (
    fit_dispersion,
    fit_dispersion_slopes,
    likely_dispersion,
)
from stillome.methods.stages.motion_effect.effect import MotionEffect
from stillome.methods.stages.numeric_limits import LARGEST_STEP, LOG_RATE_RANGE

_OFFSET_VARIANCE = 1.0  # of a normal prior; an edge without fibres keeps its baseline
_START_VARIANCE = 0.05**2  # of loadings; the EM algorithm leaves it after one iteration
# Iterations after which steps have the exact information, where they are still that large. Many
# thousands of subjects have factors that depend on each other, such as products, and take up to 21.
_DIAGONAL_FOR, _LARGE = 12, 1.0  # iterations; standard errors
_AT_MOST = 30  # cohorts of 800 subjects of all regimes take 6 to 11
_ROWS = 512  # subjects whose products of units are there at a time
# For every confound. With fewer, differences in susceptibility are mostly errors, which a subject
# with a large z multiplies.
_SUBJECTS_FOR_SUSCEPTIBILITY = 50


def fit_decoder(
    counts: AnyTable,
    effect: MotionEffect,
    functions: AnyFloats,
    latent: Floats,
    shares: Floats,
    tuning: Tuning = TUNING,
    iterations: Iterations | None = None,
    groups: Levels | None = None,
) -> Decoder:
    """Fit loadings and susceptibilities by penalised likelihood, all edges at once.

    Parameters
    ----------
    counts : array or table of shape (n, E)
    effect : MotionEffect
    functions : array of shape (n, P)
    latent : array of shape (n, K)
    shares : array of shape (C, P, P)
        From `MotionBasis.confound_shares`.
    tuning : Tuning
    iterations : Iterations, optional
    groups : array of shape (n, 1) or (n, 3), optional
        Who is in the same half of the subjects; see `group_levels`.
    """
    iterations = iterations or Iterations(tuning.stages)
    state = _DecoderFit(EdgeTable.of(counts), effect, functions, latent, shares, tuning)
    susceptible = False
    for _ in iterations.of("decoder", _AT_MOST):
        state.update_rates()
        change = state.improve_loadings()
        if susceptible:
            state.update_rates()
            change = max(change, state.improve_susceptibility())
        if iterations.converged(change):
            enough = len(counts) >= _SUBJECTS_FOR_SUSCEPTIBILITY * len(shares)
            if susceptible or not enough or not len(shares):
                break
            susceptible = True
    state.update_rates()
    if susceptible:
        state.confirm_susceptibility(two_halves(groups, len(counts)))
        state.update_rates()
    start = state.dispersion.astype(np.float64)
    dispersion = likely_dispersion(counts, state.rates, start, iterations)
    slopes = fit_dispersion_slopes(counts, state.rates, dispersion, functions, groups)
    return Decoder(
        offset=state.offset.astype(np.float64),
        loadings=state.loadings.astype(np.float64),
        dispersion=dispersion,
        dispersion_slopes=slopes,
        grain=np.zeros(()),
        susceptibility=state.susceptibility,
        shares=shares,
    )


class _DecoderFit:
    """The estimates while they are being improved."""

    def __init__(
        self,
        counts: EdgeTable,
        effect: MotionEffect,
        functions: AnyFloats,
        latent: Floats,
        shares: Floats,
        tuning: Tuning,
    ) -> None:
        self.counts, self.effect, self.functions, self.tuning = counts, effect, functions, tuning
        self.dtype = functions.dtype
        self.latent, self.single, self.shares = latent, latent.astype(self.dtype), shares
        self.design = np.column_stack([np.ones(len(latent)), latent])
        self.prior_variance = np.full(self.design.shape[1], _START_VARIANCE)
        self.prior_variance[0] = _OFFSET_VARIANCE
        self.loadings = np.zeros((latent.shape[1], counts.shape[1]), self.dtype)
        self.offset = np.zeros(counts.shape[1], self.dtype)
        self.susceptibility = np.zeros((len(shares), latent.shape[1]))
        self.dropped = np.zeros(len(shares), dtype=bool)
        self.relax, self.n_steps = Relaxation(axis=0), 0
        self.change, self.exact = np.inf, False

    def update_rates(self) -> None:
        """Compute dispersions by moments, from rates at the current estimates."""
        self.moved = susceptible_functions(
            self.functions, self.latent, self.susceptibility, self.shares
        )
        self.dispersion = fit_dispersion(self.counts, self.rates).astype(self.dtype)

    @property
    def rates(self) -> EdgeTable:
        """Rates (n, E) at the current estimates."""
        # Not kept: a table that its own rule refers to would stay on the disk for a while.
        return replace(self.counts, read=self._rates)

    def _own(self, edges: slice) -> AnyFloats:
        """Return what z adds to the log rates of some edges, (n, e)."""
        return np.asarray(self.offset[edges] + self.single @ self.loadings[:, edges])

    def _rates(self, edges: slice) -> AnyFloats:
        log_rates = self.effect.of_edges(edges).log_rates(self.moved) + self._own(edges)
        return np.exp(np.clip(log_rates, *LOG_RATE_RANGE, out=log_rates), out=log_rates)

    def improve_loadings(self) -> float:
        """Take a Newton step of offsets and loadings; return its size in standard errors."""
        self.n_steps += 1
        if self.n_steps > _DIAGONAL_FOR and self.change > _LARGE:
            self.exact = True
        columns = np.ascontiguousarray(self.design.T.astype(self.dtype))

        def of_block(counts: AnyFloats, rates: AnyFloats, phi: AnyFloats, now: AnyFloats) -> Any:
            shrink = 1 / (1 + rates * phi)
            weights, residual = rates * shrink, (counts - rates) * shrink
            gradient = (columns @ residual).astype(np.float64)
            gradient -= now / self.prior_variance[:, None]
            return (self._exact_step if self.exact else self._diagonal_step)(weights, gradient)

        current = np.vstack([self.offset, self.loadings]).astype(np.float64)
        step, variances = self.counts.each(of_block, self.rates, self.dispersion, current)
        step = np.clip(step, -LARGEST_STEP, LARGEST_STEP)
        current += self.relax(step)
        self.offset, self.loadings = (part.astype(self.dtype) for part in (current[0], current[1:]))
        square = (current**2 + variances)[1:].mean(axis=1)
        self.prior_variance[1:] = np.maximum(square, 1e-6)
        used = (self.design**2).sum(axis=0)[:, None] > 0
        self.change = in_standard_errors(step, np.where(used, 1 / variances, 0))
        return self.change

    def _diagonal_step(self, weights: AnyFloats, gradient: Floats) -> tuple[Floats, Floats]:
        """Return a step and posterior variances, both (1 + K, e), with diagonal information.

        Units are uncorrelated over the training subjects, so the information is nearly diagonal.
        """
        moments = (self.design**2).mean(axis=0)[:, None]
        information = moments * weights.sum(axis=0, dtype=np.float64)
        variances = 1 / (information + 1 / self.prior_variance[:, None])
        return variances * gradient, variances

    def _exact_step(self, weights: AnyFloats, gradient: Floats) -> tuple[Floats, Floats]:
        """Return the same with the exact information, which is slower but always accurate."""
        width = self.design.shape[1]
        above = np.triu_indices(width)
        halves = np.zeros((len(above[0]), weights.shape[1]))
        # One product for all edges of a block is faster than one for every edge.
        for start in range(0, len(weights), _ROWS):
            some = self.design[start : start + _ROWS]
            products = some[:, above[0]] * some[:, above[1]]
            halves += products.T @ weights[start : start + _ROWS].astype(np.float64)
        information = np.empty((weights.shape[1], width, width))
        information[:, above[0], above[1]] = information[:, above[1], above[0]] = halves.T
        covariances = np.linalg.inv(information + np.diag(1 / self.prior_variance))
        step = np.einsum("eij,je->ie", covariances, gradient)
        return step, np.diagonal(covariances, axis1=1, axis2=2).T

    def improve_susceptibility(self) -> float:
        """Take a Newton step for all confounds; return its size in standard errors."""
        along = self._along_effects()
        found = self._bounded(self.susceptibility + along.step(self.latent))
        change, self.susceptibility = found - self.susceptibility, found
        return along.in_standard_errors(change, self.latent)

    def confirm_susceptibility(self, halves: list[NDArray[np.intp]]) -> None:
        """Keep the share of the susceptibility that two halves of the subjects agree on."""
        confirmed = self._along_effects().confirmed(self.susceptibility, self.latent, halves)
        self.susceptibility = self._bounded(confirmed)

    def _along_effects(self) -> AlongEffects:
        parts = [self.functions @ share.astype(self.dtype) for share in self.shares]

        def of_block(
            counts: AnyFloats, rates: AnyFloats, usual: AnyFloats, phi: AnyFloats, slopes: Floats
        ) -> tuple[AnyFloats, AnyFloats]:
            return RelativeResidual.of(counts, rates, usual, phi, self.tuning).sums(slopes)

        usual = replace(self.counts, read=self._usual)
        per_edge = self.rates, usual, self.dispersion, self.effect.slopes
        return AlongEffects.of(parts, *self.counts.total(of_block, *per_edge))

    def _usual(self, edges: slice) -> AnyFloats:
        """Return the rates of some edges (n, e) at average motion."""
        log_rates = self.effect.baseline[edges].astype(self.dtype) + self._own(edges)
        return np.exp(np.clip(log_rates, *LOG_RATE_RANGE))

    def _bounded(self, susceptibility: Floats) -> Floats:
        """Set to 0, for good, what is so variable that many subjects would have no effect at all.

        Something else than the strength of the motion effect must then differ between subjects.
        """
        spreads = (self.latent @ susceptibility.T).std(axis=0)
        self.dropped |= spreads > self.tuning.largest_spread
        return np.where(self.dropped[:, None], 0.0, susceptibility)
