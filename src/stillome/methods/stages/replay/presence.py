"""Presence apart from size: how often an edge has no fibres, with a motion effect of its own.

    P(A_e = 0) = Φ(b_e + η_e(0, c) + s · (η_e(z, c) − η_e(0, c)) + h(c) · d_e),
    η_e(z, c) = Φ⁻¹(P(NB < floor | z, c))

The negative binomial ties the share of zeros to mean and dispersion; real counts do not. The
deviation b of every edge is shrunk to 0, and the effects d are pooled over edges, so that the
negative binomial is what remains where it is enough.
"""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import special

from stillome.arrays import AnyFloats, Floats
from stillome.counts.column_sums import column_sums
from stillome.counts.edge_tables import AnyTable, EdgeTable, PerSubject
from stillome.methods.stages.convergence import Iterations, Relaxation, in_standard_errors
from stillome.methods.stages.motion_effect.basis import MotionFunctions
from stillome.methods.stages.motion_effect.chance_effects import EdgeScores
from stillome.methods.stages.motion_effect.chance_share import ChanceVariances
from stillome.methods.stages.motion_effect.edge_design import EdgeDesign
from stillome.methods.stages.motion_effect.effect import drawn_slopes
from stillome.methods.stages.motion_effect.individual_differences import IndividualDifferences
from stillome.methods.stages.motion_effect.pooling import (
    PooledEffect,
    pool_each,
    uncertainties_of,
)
from stillome.methods.stages.numeric_limits import LARGEST_SLOPE, LARGEST_STEP
from stillome.methods.stages.replay.probit_tables import (
    PROBIT_RANGE,
    STEP,
    probit_derivatives,
    rounded_probits,
)
from stillome.methods.stages.stage_tuning import STAGE_TUNING, StageTuning

_LARGEST_PROBIT = 8.0
_SLOPE_PRECISION = 0.1  # of a normal prior, as for the slopes of log rates
# Whether a pattern is found can depend on the step before, so that slopes need not converge;
# most are near to it after this many rounds.
_ROUNDS, _ROUNDS_MORE = 4, 2
_START_VARIANCE = 0.25  # of the deviations; estimated with them


@dataclass(frozen=True)
class Presence:
    """Probit model of empty edges.

    Attributes
    ----------
    deviations : array of shape (E,)
        b.
    reliance : array of shape ()
        s, how much differences between subjects count; 1 if the negative binomial is right.
    slopes : array of shape (P, E)
        d.
    uncertainties : array of shape (P, E)
        Posterior standard deviations of the slopes.
    errors : array of shape (P, R, E)
        The part of these that edges share (see `PooledEffect`).
    """

    deviations: Floats
    reliance: Floats
    slopes: Floats
    uncertainties: Floats
    errors: Floats

    @classmethod
    def none(cls, n_functions: int, n_edges: int) -> Self:
        """Return the model in which the negative binomial is right."""
        slopes = np.zeros((n_functions, n_edges))
        errors = np.zeros((n_functions, 0, n_edges))
        return cls(np.zeros(n_edges), np.ones(()), slopes, slopes, errors)

    def of_edges(self, edges: slice) -> Self:
        """Return the model of some edges."""
        return replace(
            self,
            deviations=self.deviations[edges],
            slopes=self.slopes[:, edges],
            uncertainties=self.uncertainties[:, edges],
            errors=self.errors[..., edges],
        )

    def probabilities(self, below: Floats, usual: Floats, functions: AnyFloats) -> Floats:
        """Return the probability of an empty edge (n, E).

        Parameters
        ----------
        below, usual : arrays of shape (n, E)
            Probability of a count below the floor in the negative binomial, of these subjects
            and of the average subject (z = 0) at the same motion.
        functions : array of shape (n, P)
        """
        average = probits_of(usual)
        moved = self.deviations + average + functions @ self.slopes
        probits = moved + self.reliance * (probits_of(below) - average)
        return np.asarray(special.ndtr(np.clip(probits, -_LARGEST_PROBIT, _LARGEST_PROBIT)))

    def drawn(self, rng: np.random.Generator) -> Self:
        """Return the model with slopes drawn from their posterior."""
        return replace(self, slopes=drawn_slopes(self.slopes, self.uncertainties, self.errors, rng))


def fit_presence(
    empty: AnyTable,
    below: AnyTable,
    usual: AnyTable,
    motion: MotionFunctions,
    design: EdgeDesign,
    tuning: StageTuning = STAGE_TUNING,
    iterations: Iterations | None = None,
    start: Presence | None = None,
    by_chance: ChanceVariances | None = None,
) -> tuple[Presence, ChanceVariances | None]:
    """Fit by penalised likelihood, all edges together.

    Returns also the variances that chance gives the slopes, None if nothing was fitted.

    Parameters
    ----------
    empty : array or table of shape (n, E)
        1 where an edge has no fibres, else 0.
    below, usual : arrays or tables of shape (n, E)
        Logits of what `Presence.probabilities` is given.
    motion : MotionFunctions
    design : EdgeDesign
    tuning : StageTuning
    iterations : Iterations, optional
    start : Presence, optional
        Of nearly the same data; fewer rounds are needed from there.
    by_chance : ChanceVariances, optional
        Of nearly the same data.
    """
    iterations = iterations or Iterations(tuning)
    table = EdgeTable.of(empty)
    shares = table.each(lambda block: block.mean(axis=0))
    if not ((shares > 0) & (shares < 1)).any():
        return Presence.none(motion.values.shape[1], empty.shape[1]), None
    state = _PresenceFit(table, EdgeTable.of(below), EdgeTable.of(usual), motion)
    state.by_chance = by_chance
    if start is not None:
        state.deviations, state.reliance = start.deviations, float(start.reliance)
        state.slopes = start.slopes * motion.spread[:, None]
    for _ in range(_ROUNDS if start is None else _ROUNDS_MORE):
        state.improve_deviations()
        state.improve_deviations()
        if iterations.converged(state.improve_slopes(design, tuning, iterations)):
            break
    state.improve_deviations()
    slopes, uncertainties, errors = (
        part / motion.spread.reshape(-1, *[1] * (part.ndim - 1))
        for part in (state.slopes, *state.uncertainties())
    )
    presence = Presence(
        deviations=state.deviations,
        reliance=np.array(state.reliance),
        slopes=slopes,
        uncertainties=uncertainties,
        errors=errors,
    )
    return presence, state.by_chance


class _Derivatives(NamedTuple):
    """Score residuals and weights of the probit likelihood, each (n, E)."""

    residual: AnyFloats
    weights: AnyFloats


class _PresenceFit:
    """The estimates while they are being improved."""

    def __init__(
        self, empty: EdgeTable, below: EdgeTable, usual: EdgeTable, motion: MotionFunctions
    ) -> None:
        self.empty = empty
        average = usual.pointwise(rounded_probits).stored(np.int16)
        differences = below.pointwise(
            lambda own, of_usual: rounded_probits(own) - of_usual, average
        )
        self.usual = average.pointwise(_unrounded)
        self.probits = differences.stored(np.int16).pointwise(_unrounded)
        self.functions, self.groups = motion.estimating, motion.groups
        n_functions, n_edges = self.functions.shape[1], empty.shape[1]
        self.deviations, self.reliance = np.zeros(n_edges), 1.0
        self.prior_variance, self.relax = _START_VARIANCE, Relaxation(axis=1)
        self.slopes = np.zeros((n_functions, n_edges))
        self.pooled: list[PooledEffect] | None = None
        self.by_chance: ChanceVariances | None = None
        self.factors: IndividualDifferences | None = None

    def uncertainties(self) -> tuple[Floats, Floats]:
        """Return standard deviations of slopes (P, E), and errors that edges share (P, R, E)."""
        if not self.pooled:
            return np.zeros_like(self.slopes), np.zeros((0, 0, len(self.deviations)))
        return uncertainties_of(self.pooled)

    @property
    def arguments(self) -> tuple[Any, ...]:
        """What `derivatives` needs beside the empty edges."""
        return (
            self.usual,
            self.probits,
            self.deviations,
            self.slopes,
            PerSubject(self.functions),
        )

    def derivatives(
        self,
        empty: NDArray[Any],
        usual: AnyFloats,
        probits: AnyFloats,
        deviations: Floats,
        slopes: Floats,
        functions: AnyFloats,
    ) -> _Derivatives:
        """Differentiate the likelihood in the probit."""
        probit = functions @ slopes.astype(np.float32)
        probit += deviations.astype(np.float32)
        probit += usual
        probit += np.float32(self.reliance) * probits
        return _Derivatives(*probit_derivatives(probit, empty))

    def improve_deviations(self) -> None:
        """Take a Newton step of deviations and reliance."""

        def of_band(
            empty: AnyFloats, usual: AnyFloats, probits: AnyFloats, *others: Floats
        ) -> tuple[AnyFloats, ...]:
            residual, weights = self.derivatives(empty, usual, probits, *others)
            sums = column_sums(weights), column_sums(residual)
            residual *= probits
            weights *= probits
            weights *= probits
            return *sums, column_sums(residual), column_sums(weights)

        information, gradient, along, own = self.empty.sums(of_band, *self.arguments)
        precision = 1 / self.prior_variance
        variances = 1 / (information + precision)
        step = np.clip((gradient - precision * self.deviations) * variances, -1, 1)
        self.deviations = self.deviations + step
        square = (self.deviations**2 + variances).mean()
        self.prior_variance = max(float(square), 1e-4)
        self.reliance += float(np.clip(along.sum() / (own.sum() + 1e-9), -0.5, 0.5))

    def _slope_derivatives(self) -> tuple[Floats, Floats]:
        """Return gradient (E, 1+P) and information (E, 1+P, 1+P)."""
        n, width = len(self.empty), 1 + self.functions.shape[1]
        columns = np.column_stack([np.ones(n, np.float32), self.functions])
        products = (columns[:, :, None] * columns[:, None, :]).reshape(n, -1)

        def of_band(*band: Any) -> tuple[AnyFloats, AnyFloats]:
            *arguments, own, pairs = band
            residual, weights = self.derivatives(*arguments)
            return own.T @ residual, pairs.T @ weights

        subjects = PerSubject(columns), PerSubject(products)
        gradient, information = self.empty.sums(of_band, *self.arguments, *subjects)
        return gradient.T.copy(), information.T.reshape(-1, width, width)

    def _scores(self) -> tuple[EdgeScores, Floats]:
        """Return the scores of every edge from here, and the likelihood steps (P, E) of slopes."""
        n, width = len(self.empty), 1 + self.functions.shape[1]
        gradient, information = self._slope_derivatives()
        prior = np.diag([1 / self.prior_variance] + [_SLOPE_PRECISION] * (width - 1))
        weak = np.linalg.inv(information + prior)
        # Without the prior's pull on the deviations, which are at their optimum.
        gradient[:, 0] -= self.deviations / self.prior_variance
        scores = EdgeScores.of(
            residual=self.empty.pointwise(
                lambda *band: self.derivatives(*band)[0], *self.arguments
            ),
            functions=self.functions,
            variances=np.diagonal(weak, axis1=1, axis2=2).T.copy(),  # weak itself is large
            information=(information[:, 0, 0] + 1e-3) / n,
            least_variances=np.zeros(len(information)),
            groups=self.groups,
        )
        return scores, np.einsum("eij,ej->ie", weak, gradient)[1:]

    def improve_slopes(
        self, design: EdgeDesign, tuning: StageTuning, iterations: Iterations
    ) -> float:
        """Take one likelihood step for every edge, and pool the estimates it leads to."""
        if not len(self.slopes):  # without confounds
            return 0.0
        scores, steps = self._scores()
        # Designs and factors of the round before are not kept beside those of this one.
        before = None if self.pooled is None else [effect.start for effect in self.pooled]
        self.pooled = None
        if self.factors is None:
            # Found once: deviations are near to their optimum, and slopes do not matter here.
            apart = scores.apart()
            self.factors = apart.factors(tuning)
            if self.by_chance is None:
                self.by_chance = apart.by_chance(design, self.factors, iterations, may_vanish=True)
            del apart
        individual = scores.per_log_rate(self.factors)
        bounded = np.clip(steps, -LARGEST_STEP, LARGEST_STEP)
        pooled = pool_each(
            np.clip(self.slopes + bounded, -LARGEST_SLOPE, LARGEST_SLOPE),
            scores.own_variances(individual),
            design,
            individual,
            scores.n_independent,
            tuning,
            iterations,
            before=before,
            may_vanish=True,
            by_chance=self.by_chance,
        )
        self.pooled = pooled
        change = np.stack([effect.effects for effect in pooled]) - self.slopes
        self.slopes = self.slopes + self.relax(change)
        size = np.array([[effect.mean_variance] for effect in pooled])
        return in_standard_errors(change, 1 / np.maximum(size, 1e-12))


def _unrounded(block: NDArray[np.int16]) -> AnyFloats:
    """Return probits, or differences of them, which are kept in two bytes each."""
    return np.multiply(block, STEP, dtype=np.float32)


def probits_of(shares: Floats) -> Floats:
    """Return the normal scores of probabilities, bounded."""
    return np.asarray(special.ndtri(np.clip(shares, *PROBIT_RANGE)))
