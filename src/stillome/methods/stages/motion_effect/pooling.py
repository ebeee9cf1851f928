"""Pooling over edges: every edge's motion effect is shrunk towards what edges share.

The estimated effect of one edge is modelled as the sum of

- a shared part: intercept, strength, presence and length of the edge, an effect of each region,
  a smooth function of where they are (`region_map`), and a low-rank pattern over pairs of regions;
- a deviation of the edge itself;
- sampling noise;
- a chance correlation. In a finite sample some individual differences correlate with motion by
  chance, so that every estimated effect contains the edge's loadings on them times their
  correlations with motion. These correlations are the same for all edges. They are estimated with
  the rest and left out of the effect, since they do not hold for unseen subjects.

The estimator is empirical Bayes (Efron and Morris 1973) in a linear mixed model, whose variances
are estimated by restricted maximum likelihood (`variance_components`).
"""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from stillome.arrays import Floats
from stillome.methods.stages.convergence import Iterations
from stillome.methods.stages.motion_effect.edge_design import EdgeDesign
from stillome.methods.stages.motion_effect.patterns import low_rank_pattern
from stillome.methods.stages.motion_effect.spectrum import leading_factors
from stillome.methods.stages.motion_effect.variance_components import MixedModel, fit_mixed_model
from stillome.methods.stages.stage_tuning import STAGE_TUNING, StageTuning

_TINY = 1e-9
# Until a pattern is found, own deviations seem to contain it, and hide it as noise.
_PATTERN_ROUNDS = 3
_N_ERRORS = 16  # directions of uncertainty that edges share


class IndividualDifferences(NamedTuple):
    """Factors of individual differences, apart from motion.

    Attributes
    ----------
    loadings : array of shape (E, K)
        Per factor of unit variance.
    reliability : array of shape (E, K) or (1, K)
        Share of each loading's variance that is no sampling noise, between 0 and 1.
    least_own : float
        See `StageTuning`.
    """

    loadings: Floats
    reliability: Floats
    least_own: float = STAGE_TUNING.least_own

    @classmethod
    def find(
        cls, residual: NDArray[Any], n_lost: int = 1, tuning: StageTuning = STAGE_TUNING
    ) -> Self:
        """Find the factors of residuals (n, E) above the noise edge (see `leading_factors`)."""
        spread = residual.std(axis=0, dtype=np.float64) + 1e-12
        standard = (residual - residual.mean(axis=0)) / spread.astype(residual.dtype)
        spectrum = leading_factors(standard, None, n_lost)
        factors = spectrum.scores[:, : spectrum.n_signal].astype(residual.dtype)
        loadings = (factors.T @ standard).T.astype(np.float64) / np.sqrt(len(residual))
        reliability = spectrum.reliability()[None, : spectrum.n_signal]
        return cls(loadings * spread[:, None], reliability, tuning.least_own)

    def per_log_rate(self, information: Floats, variances: Floats, n_subjects: int) -> Self:
        """Bring factors of score residuals to the log scale, where all edges vary alike.

        On that scale, loadings of an edge with few fibres are mostly noise; their reliability is
        low.

        Parameters
        ----------
        information : array of shape (E,)
            Per subject.
        variances : array of shape (E,)
            Of a slope on a function of unit variance, which a loading is.
        n_subjects : int
        """
        scaled = self._replace(loadings=self.loadings / information[:, None])
        own = scaled.own_variances(variances, n_subjects)
        excess = np.average(scaled.loadings**2 - own[:, None], axis=0, weights=1 / own)
        typical = np.maximum(excess, _TINY)
        return scaled._replace(reliability=typical / (typical + own[:, None]))

    def own_variances(self, variances: Floats, n_subjects: int) -> Floats:
        """Return sampling variances of slopes (E,) without what individual differences explain."""
        explained = (self.loadings**2).sum(axis=1) / n_subjects
        return np.maximum(variances - explained, self.least_own * variances)


@dataclass(frozen=True)
class PooledEffect:
    """Effects after pooling, and their variance components.

    Attributes
    ----------
    effects : array of shape (E,)
    uncertainties : array of shape (E,)
        Posterior standard deviations of the effects.
    errors : array of shape (R, E)
        The part of this uncertainty that edges share: independent directions, each times a
        standard normal number.
    region_sd, own_sd : float
        Standard deviations of the regions' effects and of the edges' own deviations.
    chance : float
        Squared correlation of individual differences with motion, as a multiple of what chance
        gives on average: about 1 in a sample where motion does not depend on the brain.
    pattern : array of shape (E,)
        The low-rank part of the effects.
    model : MixedModel
        Of the rest.
    """

    effects: Floats
    uncertainties: Floats
    errors: Floats
    region_sd: float
    own_sd: float
    chance: float
    pattern: Floats
    model: MixedModel


def pool_effects(
    estimates: Floats,
    variances: Floats,
    design: EdgeDesign,
    individual: IndividualDifferences,
    n_subjects: int,
    tuning: StageTuning = STAGE_TUNING,
    iterations: Iterations | None = None,
    *,
    may_vanish: bool = False,
    before: PooledEffect | None = None,
    keep_pattern: bool = False,
) -> PooledEffect:
    """Shrink per-edge effects towards what edges share.

    Parameters
    ----------
    estimates : array of shape (E,)
        Effect of one standardised function of motion on every edge.
    variances : array of shape (E,)
        Their sampling variances, without the part that individual differences explain.
    design : EdgeDesign
    individual : IndividualDifferences
        On the scale of the effects.
    n_subjects : int
    tuning : StageTuning
    iterations : Iterations, optional
    may_vanish : bool, default=False
        Whether variances may be estimated as 0: for effects that need not be there at all.
    before : PooledEffect, optional
        Of nearly the same estimates: variances are found faster from there.
    keep_pattern : bool, default=False
        Whether the low-rank pattern is that of `before`.
    """
    iterations = iterations or Iterations(tuning)
    smallest = _TINY if may_vanish else None

    def fitted(rest: Floats, start: MixedModel | None = None) -> MixedModel:
        arguments = variances, design, individual, n_subjects, iterations, smallest
        return _fit(rest, *arguments, start)

    start = None if before is None else before.model
    if before is not None and keep_pattern:
        pattern = before.pattern
        model = fitted(estimates - pattern, start)
    else:
        pattern, model = np.zeros_like(estimates), fitted(estimates, start)
        for _ in range(_PATTERN_ROUNDS):
            noise, residual = variances + model.own_variance, model.residual + pattern
            pattern = low_rank_pattern(residual, noise, design.n_regions, tuning, iterations)
            if not pattern.any():
                break
            model = fitted(estimates - pattern, model)
    pooled = _pooled(model, variances, design, individual, n_subjects)
    return replace(pooled, effects=pooled.effects + pattern, pattern=pattern)


def pool_each(
    estimates: Floats,
    variances: Floats,
    design: EdgeDesign,
    individual: IndividualDifferences,
    n_subjects: int,
    tuning: StageTuning = STAGE_TUNING,
    iterations: Iterations | None = None,
    *,
    before: list[PooledEffect] | None = None,
    may_vanish: bool = False,
    keep_pattern: bool = False,
) -> list[PooledEffect]:
    """Pool the effects of each function of motion, (P, E), by itself; see `pool_effects`."""
    last: list[PooledEffect | None] = [*before] if before else [None] * len(estimates)
    return [
        pool_effects(
            slopes,
            own,
            design,
            individual,
            n_subjects,
            tuning,
            iterations,
            may_vanish=may_vanish,
            before=earlier,
            keep_pattern=keep_pattern,
        )
        for slopes, own, earlier in zip(estimates, variances, last, strict=True)
    ]


def _fit(
    estimates: Floats,
    variances: Floats,
    design: EdgeDesign,
    individual: IndividualDifferences,
    n_subjects: int,
    iterations: Iterations,
    smallest: float | None,
    start: MixedModel | None = None,
) -> MixedModel:
    full = design.with_individual(individual.loadings)
    sizes = [design.n_regions, design.mapped.shape[1], individual.loadings.shape[1]]
    ends = design.features.shape[1] + np.cumsum([0, *sizes])
    # Correlations with motion have at least the variance that chance gives them.
    lowest = [smallest, smallest, 1 / n_subjects]
    there = [part for part in range(3) if sizes[part]]
    groups = [slice(ends[part], ends[part + 1]) for part in there]
    floors = [lowest[part] for part in there]
    if smallest is not None:
        # Free weights of features, learned from few edges, would be extrapolated to all others.
        groups, floors = [*groups, slice(0, ends[0])], [*floors, smallest]
    return fit_mixed_model(
        estimates, variances, full, groups, [*floors, smallest], iterations, start
    )


def _pooled(
    model: MixedModel,
    variances: Floats,
    design: EdgeDesign,
    individual: IndividualDifferences,
    n_subjects: int,
) -> PooledEffect:
    """Add up the parts of the effect that hold for unseen subjects."""
    n_factors = individual.loadings.shape[1]
    n_shared = len(model.coefficients) - n_factors
    correlation = model.coefficients[n_shared:]
    chance = n_subjects * float(correlation @ correlation) / max(n_factors, 1)
    # James–Stein: what exceeds chance is an association in the population. It is part of the
    # effect as far as its loadings are reliable.
    real = max(0.0, 1 - (n_factors - 2) / max(chance * n_factors, _TINY)) if n_factors > 2 else 0.0
    shared_design = design.with_individual(individual.loadings[:, :0])
    shared = shared_design @ model.coefficients[:n_shared]
    associated = (individual.reliability * individual.loadings) @ (real * correlation)
    kept = model.own_variance / (model.own_variance + variances)
    effects = shared + associated + kept * model.residual
    # What the coefficients are off by, the own deviations make up for in part.
    parts = [shared_design * (1 - kept)[:, None], individual.loadings * -kept[:, None]]
    errors = _leading_errors(np.hstack(parts), model.covariance)
    total = ((np.hstack(parts) @ model.covariance) * np.hstack(parts)).sum(axis=1)
    uncertainties = np.sqrt(model.own_variance * (1 - kept) + total)
    region_sd, own_sd = np.sqrt(model.group_variances[0]), np.sqrt(model.own_variance)
    return PooledEffect(
        effects=effects,
        uncertainties=uncertainties,
        errors=errors,
        region_sd=float(region_sd),
        own_sd=float(own_sd),
        chance=chance,
        pattern=np.zeros_like(effects),
        model=model,
    )


def _leading_errors(design: Floats, covariance: Floats) -> Floats:
    """Return directions (R, E) whose sum of squares is the leading part of D C Dᵀ."""
    values, vectors = np.linalg.eigh(covariance)
    scaled = design @ (vectors * np.sqrt(np.maximum(values, 0)))
    _, turns = np.linalg.eigh(scaled.T @ scaled)
    directions = (scaled @ turns[:, ::-1][:, :_N_ERRORS]).T
    missing = _N_ERRORS - len(directions)
    return np.pad(directions, ((0, max(missing, 0)), (0, 0)))
