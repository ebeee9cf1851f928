"""The fit of the decoder by penalised likelihood.

Offsets and loadings are fitted by Fisher scoring, with a normal prior on the loadings whose
variance per unit is estimated with them (empirical Bayes, by the EM algorithm of Dempster, Laird
and Rubin 1977). Susceptibilities join when the loadings have converged; both alternate until
neither changes. Dispersions are estimated by moments meanwhile, and by likelihood at the end.
"""

import numpy as np
from numpy.typing import NDArray

from stillome.arrays import AnyFloats, Floats
from stillome.cohort.groups import Levels, two_halves
from stillome.counts.edge_tables import AnyTable, EdgeTable, PerSubject, Tile
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
    Moments,
    fit_dispersion_slopes,
    likely_dispersion,
)
from stillome.methods.stages.motion_effect.effect import MotionEffect
from stillome.methods.stages.numeric_limits import LARGEST_STEP, LOG_RATE_RANGE

_OFFSET_VARIANCE = 1.0  # of a normal prior; an edge without fibres keeps its baseline
_START_VARIANCE = 0.05**2  # of loadings; the EM algorithm leaves it after one iteration
_AT_MOST = 30  # cohorts of 800 subjects of all regimes take 6 to 11
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
    used = _used(latent)
    some = latent[:, used]
    state = _DecoderFit(EdgeTable.of(counts), effect, functions, some, shares, tuning)
    susceptible = False
    for _ in iterations.of("decoder", _AT_MOST):
        change = state.improve_loadings()
        if susceptible:
            change = max(change, state.improve_susceptibility())
        if iterations.converged(change):
            enough = len(counts) >= _SUBJECTS_FOR_SUSCEPTIBILITY * len(shares)
            if susceptible or not enough or not len(shares):
                break
            susceptible = True
    if susceptible:
        state.confirm_susceptibility(two_halves(groups, len(counts)))
    start = state.dispersion.astype(np.float64)
    rates = state.rates.stored()
    dispersion = likely_dispersion(counts, rates, start, iterations)
    slopes = fit_dispersion_slopes(counts, rates, dispersion, functions, groups)
    loadings = np.zeros((latent.shape[1], counts.shape[1]))
    loadings[used] = state.loadings
    susceptibility = np.zeros((len(shares), latent.shape[1]))
    susceptibility[:, used] = state.susceptibility
    return Decoder(
        offset=state.offset.astype(np.float64),
        loadings=loadings,
        dispersion=dispersion,
        dispersion_slopes=slopes,
        grain=np.zeros(()),
        susceptibility=susceptibility,
        shares=shares,
    )


def _used(latent: Floats) -> NDArray[np.intp]:
    """Return the units of z (n, K) that are not empty; the first where all are.

    Empty ones have no loadings, and would take as long as others.
    """
    used = np.flatnonzero(latent.any(axis=0))
    return used if len(used) else np.arange(min(latent.shape[1], 1))


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
        self.latent, self.shares = latent, shares
        # Of every subject: 1 for the offset and z, (n, 1 + K), and the squares of z.
        self.design = np.column_stack([np.ones(len(latent)), latent]).astype(self.dtype)
        self.squares = self.design[:, 1:] ** 2
        self.prior_variance = np.full(self.design.shape[1], _START_VARIANCE)
        self.prior_variance[0] = _OFFSET_VARIANCE
        self.loadings = np.zeros((latent.shape[1], counts.shape[1]), self.dtype)
        self.offset = np.zeros(counts.shape[1], self.dtype)
        self.susceptibility = np.zeros((len(shares), latent.shape[1]))
        self.dropped = np.zeros(len(shares), dtype=bool)
        self.relax = Relaxation(axis=0)
        self.moved, self.dispersion = functions, effect.dispersion.astype(self.dtype)

    @property
    def rates(self) -> EdgeTable:
        """Rates (n, E) at the current estimates."""
        # Not kept: a table that its own rule refers to would stay on the disk for a while.
        return self._rate_table(np.hstack([self.design, self.moved]), self.effect.slopes)

    def _rate_table(self, design: AnyFloats, slopes: Floats) -> EdgeTable:
        """Return rates of a design (n, 1 + K + P): of level, z and functions of motion."""
        level = self.effect.baseline.astype(self.dtype) + self.offset
        # One product for all parts of the log rates.
        coefficients = np.vstack([level, self.loadings, slopes.astype(self.dtype)])

        def look(edges: slice) -> Tile:
            own = coefficients[:, edges]

            def rates(rows: slice) -> AnyFloats:
                log_rates = design[rows] @ own
                np.clip(log_rates, *LOG_RATE_RANGE, out=log_rates)
                return np.exp(log_rates, out=log_rates)

            return rates

        return self.counts.beside(look)

    def improve_loadings(self) -> float:
        """Take a Newton step of offsets and loadings; return its size in standard errors.

        Dispersions by moments come from the same pass, for the next step.
        """

        def of_band(
            counts: AnyFloats,
            rates: AnyFloats,
            phi: AnyFloats,
            design: AnyFloats,
            squares: AnyFloats,
        ) -> tuple[AnyFloats, ...]:
            residual = counts - rates
            moments = Moments.around(residual, rates)
            shrink = rates * phi
            shrink += 1
            np.reciprocal(shrink, out=shrink)
            residual *= shrink
            weights = np.multiply(rates, shrink, out=shrink)
            return design.T @ residual, design.T @ weights, squares.T @ weights, *moments

        def step_of(
            edges: slice, gradient: Floats, sums: Floats, squares: Floats, *moments: Floats
        ) -> tuple[AnyFloats, ...]:
            gradient -= current[:, edges] * precision[:, None]
            step, variances = _centred_step(gradient, sums, squares, precision)
            return step.astype(current.dtype), variances.astype(current.dtype), *moments

        precision, current = 1 / self.prior_variance, np.vstack([self.offset, self.loadings])
        subjects = PerSubject(self.design), PerSubject(self.squares)
        step, variances, *moments = self.counts.sums(
            of_band, self.rates, self.dispersion, *subjects, finish=step_of
        )
        self.dispersion = Moments(*moments).dispersion(len(self.latent)).astype(self.dtype)
        step = np.clip(step, -LARGEST_STEP, LARGEST_STEP)
        current += self.relax(step).astype(self.dtype)
        self.offset, self.loadings = current[0], current[1:]
        sizes = (current**2 + variances)[1:].mean(axis=1, dtype=np.float64)
        self.prior_variance[1:] = np.maximum(sizes, 1e-6)
        used = np.any(self.design, axis=0)[:, None]
        return in_standard_errors(step, np.where(used, 1 / variances, 0))

    def improve_susceptibility(self) -> float:
        """Take a Newton step for all confounds; return its size in standard errors."""
        along = self._along_effects()
        before = self.susceptibility
        self._set_susceptibility(before + along.step(self.latent))
        return along.in_standard_errors(self.susceptibility - before, self.latent)

    def confirm_susceptibility(self, halves: list[NDArray[np.intp]]) -> None:
        """Keep the share of the susceptibility that two halves of the subjects agree on."""
        confirmed = self._along_effects().confirmed(self.susceptibility, self.latent, halves)
        self._set_susceptibility(confirmed)

    def _along_effects(self) -> AlongEffects:
        parts = [self.functions @ share.astype(self.dtype) for share in self.shares]

        tuning = self.tuning  # and not all of this fit, which may be sent to workers

        def of_band(
            counts: AnyFloats, rates: AnyFloats, usual: AnyFloats, phi: AnyFloats, slopes: Floats
        ) -> tuple[AnyFloats, AnyFloats]:
            return RelativeResidual.of(counts, rates, usual, phi, tuning).sums(slopes)

        usual = self._rate_table(self.design, self.effect.slopes[:0])  # at average motion
        per_edge = self.rates, usual, self.dispersion, self.effect.slopes
        return AlongEffects.of(parts, *self.counts.total_by_subject(of_band, *per_edge))

    def _set_susceptibility(self, found: Floats) -> None:
        """Set to 0, for good, what is so variable that many subjects would have no effect at all.

        Something else than the strength of the motion effect must then differ between subjects.
        """
        spreads = (self.latent @ found.T).std(axis=0)
        self.dropped |= spreads > self.tuning.largest_spread
        self.susceptibility = np.where(self.dropped[:, None], 0.0, found)
        self.moved = susceptible_functions(
            self.functions, self.latent, self.susceptibility, self.shares
        )


def _centred_step(
    gradient: Floats, sums: Floats, squares: Floats, precision: Floats
) -> tuple[Floats, Floats]:
    """Return a step and posterior variances, both (1 + K, e), with approximate information.

    Units are taken to be uncorrelated around their mean under the weights of an edge. For
    normal z that is exact where weights are exponential in z, as those of rare edges.

    Parameters
    ----------
    gradient : array of shape (1 + K, e)
    sums : array of shape (1 + K, e)
        Of the weights of the information, times 1 and z.
    squares : array of shape (K, e)
        Of the weights times the squares of z.
    precision : array of shape (1 + K,)
        Of the prior.
    """
    own = precision[:, None]
    total, means = sums[0] + own[0], sums[1:] / (sums[0] + own[0])
    # Rounding errors may have either sign where nobody differs.
    information = np.maximum(squares - sums[1:] * means, 0) + own[1:]
    loadings = (gradient[1:] - means * gradient[0]) / information
    offset = gradient[0] / total - (means * loadings).sum(axis=0)
    variance = 1 / total + (means**2 / information).sum(axis=0)
    return np.vstack([offset, loadings]), np.vstack([variance, 1 / information])
