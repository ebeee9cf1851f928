"""The fit of presence by penalised likelihood, all edges together.

Deviations and the reliance on differences between subjects make Newton steps; slopes make a step
of their likelihood each, and are pooled over edges.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stillome.arrays import AnyFloats, Floats
from stillome.counts.column_sums import column_sums
from stillome.counts.edge_tables import AnyTable, EdgeTable, PerSubject
from stillome.methods.stages.convergence import Iterations, Relaxation, in_standard_errors
from stillome.methods.stages.motion_effect.basis import MotionFunctions
from stillome.methods.stages.motion_effect.chance_effects import EdgeScores
from stillome.methods.stages.motion_effect.chance_share import ChanceVariances
from stillome.methods.stages.motion_effect.edge_design import EdgeDesign
from stillome.methods.stages.motion_effect.individual_differences import IndividualDifferences
from stillome.methods.stages.motion_effect.pooling import (
    PooledEffect,
    pool_each,
    uncertainties_of,
)
from stillome.methods.stages.numeric_limits import LARGEST_SLOPE, LARGEST_STEP
from stillome.methods.stages.replay.presence import Presence
from stillome.methods.stages.replay.probit_tables import (
    STEP,
    probit_derivatives,
    rounded_probits,
)
from stillome.methods.stages.stage_tuning import STAGE_TUNING, StageTuning

_TINY = 1e-9
_SLOPE_PRECISION = 0.1  # of a normal prior, as for the slopes of log rates
# Whether a pattern is found can depend on the step before, so that slopes need not converge;
# most are near to it after this many rounds.
_ROUNDS, _ROUNDS_MORE = 4, 2
_START_VARIANCE, _VARIANCES = 0.25, (1e-4, 25.0)  # of the deviations; estimated with them


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
    state.improve_deviations()
    state.improve_deviations()
    for _ in range(_ROUNDS if start is None else _ROUNDS_MORE):
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


class _Sums(NamedTuple):
    """Sums over subjects of the derivatives of the likelihood.

    Attributes
    ----------
    gradient : array of shape (E, Q)
        In deviations and slopes.
    information : array of shape (E, Q, Q)
    along, own : arrays of shape (E,)
        Gradient and information of the reliance.
    cross : array of shape (Q, E)
        Information of the reliance with deviations and slopes.
    """

    gradient: Floats
    information: Floats
    along: Floats
    cross: Floats
    own: Floats


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
        derivatives = self._sums(np.ones((len(self.empty), 1), np.float32))
        self._step_beside(derivatives, np.zeros((0, len(self.deviations))))

    def _sums(self, columns: AnyFloats) -> "_Sums":
        """Return derivatives of the likelihood in the coefficients of columns (n, Q)."""
        n, width = columns.shape
        products = (columns[:, :, None] * columns[:, None, :]).reshape(n, -1)

        def of_band(*band: Any) -> tuple[AnyFloats, ...]:
            *arguments, own, pairs = band
            residual, weights = self.derivatives(*arguments)
            sums = own.T @ residual, pairs.T @ weights
            probits = arguments[2]
            residual *= probits
            weights *= probits
            cross = own.T @ weights
            weights *= probits
            return *sums, column_sums(residual), cross, column_sums(weights)

        subjects = PerSubject(columns), PerSubject(products)
        gradient, information, *along = self.empty.sums(of_band, *self.arguments, *subjects)
        return _Sums(gradient.T.copy(), information.T.reshape(-1, width, width), *along)

    def _step_beside(self, sums: "_Sums", change: Floats) -> None:
        """Take Newton steps of deviations, then reliance, where slopes change by (P, E)."""
        information = sums.information[:, 0, 0]
        gradient = sums.gradient[:, 0]
        gradient = gradient - np.einsum("ep,pe->e", sums.information[:, 0, 1:], change)
        precision = 1 / self.prior_variance
        variances = 1 / (information + precision)
        step = np.clip((gradient - precision * self.deviations) * variances, -1, 1)
        self.deviations = self.deviations + step
        # Faster than the EM algorithm, with the same fixed points (MacKay 1992): squares over the
        # number of deviations that the data determine.
        determined = max(float((1 - precision * variances).sum()), _TINY)
        square = float((self.deviations**2).sum())
        self.prior_variance = float(np.clip(square / determined, *_VARIANCES))
        along = sums.along.sum() - float((sums.cross * np.vstack([step, change])).sum())
        self.reliance += float(np.clip(along / (sums.own.sum() + _TINY), -0.5, 0.5))

    def _scores(self, sums: "_Sums") -> tuple[EdgeScores, Floats]:
        """Return the scores of every edge, and what its likelihood says of its slopes, (P, E)."""
        gradient, information = sums.gradient, sums.information
        prior = np.diag([1 / self.prior_variance] + [_SLOPE_PRECISION] * len(self.slopes))
        weak = np.linalg.inv(information + prior)
        # Without the prior's pull on the deviations, which are at their optimum.
        pulled = np.column_stack([self.deviations / self.prior_variance, 0 * gradient[:, 1:]])
        steps = np.einsum("eij,ej->ie", weak, gradient - pulled)[1:]
        estimates = self.slopes + np.clip(steps, -LARGEST_STEP, LARGEST_STEP)
        estimates = np.clip(estimates, -LARGEST_SLOPE, LARGEST_SLOPE)
        # Where the effect is large, factors that were found without it would be others.
        usual, probits, deviations, _, functions = self.arguments
        scores = EdgeScores.of(
            residual=self.empty.pointwise(
                lambda *band: self.derivatives(*band)[0],
                *(usual, probits, deviations, estimates, functions),
            ),
            functions=self.functions,
            variances=np.diagonal(weak, axis1=1, axis2=2).T.copy(),  # weak itself is large
            information=(information[:, 0, 0] + 1e-3) / len(self.empty),
            least_variances=np.zeros(len(information)),
            groups=self.groups,
        )
        return scores, estimates

    def improve_slopes(
        self, design: EdgeDesign, tuning: StageTuning, iterations: Iterations
    ) -> float:
        """Take one likelihood step for every edge, and pool the estimates it leads to.

        Deviations and reliance make a step from the same derivatives.
        """
        if not len(self.slopes):  # without confounds
            return 0.0
        columns = np.column_stack([np.ones(len(self.empty), np.float32), self.functions])
        sums = self._sums(columns)
        scores, estimates = self._scores(sums)
        # Designs and factors of the round before are not kept beside those of this one.
        before = None if self.pooled is None else [effect.start for effect in self.pooled]
        self.pooled = None
        if self.factors is None:
            apart = scores.apart()
            self.factors = apart.factors(tuning)
            if self.by_chance is None:
                self.by_chance = apart.by_chance(design, self.factors, iterations, may_vanish=True)
            del apart
        individual = scores.per_log_rate(self.factors)
        pooled = pool_each(
            estimates,
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
        taken = self.relax(change)
        self.slopes = self.slopes + taken
        self._step_beside(sums, taken)
        size = np.array([[effect.mean_variance] for effect in pooled])
        return in_standard_errors(change, 1 / np.maximum(size, 1e-12))


def _unrounded(block: NDArray[np.int16]) -> AnyFloats:
    """Return probits, or differences of them, which are kept in two bytes each."""
    return np.multiply(block, STEP, dtype=np.float32)
