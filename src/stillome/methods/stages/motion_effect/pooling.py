"""Pooling over edges: every edge's motion effect is shrunk towards what edges share.

The estimated effect of one edge is modelled as the sum of

- a shared part: intercept, strength, presence and length of the edge, an effect of each region,
  a smooth function of where they are (`region_map`), and a low-rank pattern over pairs of regions;
- a deviation of the edge itself, whose variance may grow with the shared part (`own_scale`);
- sampling noise;
- a chance correlation. In a finite sample some individual differences correlate with motion by
  chance, so that every estimated effect contains the edge's loadings on them times their
  correlations with motion. These correlations are the same for all edges. They are estimated with
  the rest and left out of the effect, since they do not hold for unseen subjects.

The estimator is empirical Bayes (Efron and Morris 1973) in a linear mixed model, whose variances
are estimated by restricted maximum likelihood (`variance_components`); of more than 5,000 edges,
from 5,000 (`EdgeDesign.chosen`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from stillome.arrays import Floats
from stillome.counts.workers import in_order
from stillome.methods.stages.convergence import Iterations
from stillome.methods.stages.motion_effect.chance_share import ChanceVariances, RealShare
from stillome.methods.stages.motion_effect.edge_columns import EdgeColumns
from stillome.methods.stages.motion_effect.edge_design import EdgeDesign
from stillome.methods.stages.motion_effect.individual_differences import IndividualDifferences
from stillome.methods.stages.motion_effect.own_scale import fit_own_scale
from stillome.methods.stages.motion_effect.patterns import low_rank_pattern
from stillome.methods.stages.motion_effect.shared_errors import SharedErrors
from stillome.methods.stages.motion_effect.variance_components import MixedModel, fit_mixed_model
from stillome.methods.stages.stage_tuning import STAGE_TUNING, StageTuning

_TINY = 1e-9
# Until a pattern is found, own deviations seem to contain it, and hide it as noise.
_PATTERN_ROUNDS = 3


class PoolingStart(NamedTuple):
    """What pooling begins with: of a `PooledEffect`, without the design, which is large."""

    pattern: Floats
    model: MixedModel


@dataclass(frozen=True)
class PooledEffect:
    """Effects after pooling, and their variance components.

    Attributes
    ----------
    effects : array of shape (E,)
    own_errors : array of shape (E,)
        Posterior variances of what edges do not share of the effects.
    shared_errors : SharedErrors
        The rest of their uncertainty.
    mean_variance : float
        Mean posterior variance of the effects, over the edges that variances are estimated from.
    region_sd, own_sd : float
        Standard deviations of the regions' effects, and of the edges' own deviations on average.
    chance : float
        Squared correlation of individual differences with motion, as a multiple of what chance
        gives on average: about 1 in a sample where motion does not depend on the brain.
    pattern : array of shape (E,)
        The low-rank part of the effects.
    model : MixedModel
        Of the rest.
    """

    effects: Floats
    own_errors: Floats
    shared_errors: SharedErrors
    mean_variance: float
    region_sd: float
    own_sd: float
    chance: float
    pattern: Floats
    model: MixedModel

    @property
    def uncertainties(self) -> Floats:
        """Posterior standard deviations of the effects (E,); as expensive as pooling itself."""
        return np.sqrt(self.own_errors + self.shared_errors.variances())

    @property
    def start(self) -> PoolingStart:
        """What pooling of nearly the same estimates begins with."""
        return PoolingStart(self.pattern, self.model)


def pool_effects(
    estimates: Floats,
    variances: Floats,
    design: EdgeDesign,
    individual: IndividualDifferences,
    n_subjects: float,
    tuning: StageTuning = STAGE_TUNING,
    iterations: Iterations | None = None,
    *,
    may_vanish: bool = False,
    before: PooledEffect | PoolingStart | None = None,
    keep_pattern: bool = False,
    by_chance: ChanceVariances | None = None,
    columns: EdgeColumns | None = None,
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
    n_subjects : float
    tuning : StageTuning
    iterations : Iterations, optional
    may_vanish : bool, default=False
        Whether variances may be estimated as 0: for effects that need not be there at all.
    before : PooledEffect or PoolingStart, optional
        Of nearly the same estimates: variances are found faster from there.
    keep_pattern : bool, default=False
        Whether the low-rank pattern, and the scale of own deviations, are those of `before`.
    by_chance : ChanceVariances, optional
        The part of the variances that is no effect.
    columns : EdgeColumns, optional
        The design with these individual differences, where several effects share it.
    """
    iterations = iterations or Iterations(tuning)
    columns = columns or design.with_individual(individual.loadings)
    n_factors = individual.loadings.shape[1]
    n_shared = columns.n_columns - n_factors

    def fitted(rest: Floats, start: MixedModel | None = None) -> MixedModel:
        arguments = variances, design, individual, n_subjects, iterations
        same = partial(fit_pooling, rest, *arguments, may_vanish=may_vanish, columns=columns)
        fresh = start is None
        if start is None:
            # What chance gives is near, unless it is nothing.
            near = None if may_vanish or by_chance is None else by_chance.variances
            start = same(start=near)
        # Deviations are compared with the shared part of the fit before. Where the pattern is kept,
        # so is their scale: both settle in a few rounds, and would keep the rest from converging.
        scale = start.own_scale
        if not keep_pattern:
            shared = columns.dot(np.pad(start.coefficients[:n_shared], (0, n_factors)))
            shared += estimates - rest
            scale = fit_own_scale(start.residual, variances, shared)
            if fresh and (scale == 1).all():
                return start  # which had this scale
        return same(start=start.variances, own_scale=scale)

    start = None if before is None else before.model
    if before is not None and keep_pattern:
        pattern = before.pattern
        model = fitted(estimates - pattern, start)
    else:
        pattern, model = np.zeros_like(estimates), fitted(estimates, start)
        for _ in range(_PATTERN_ROUNDS):
            noise, residual = variances + model.own_variances, model.residual + pattern
            pattern = low_rank_pattern(residual, noise, design.n_regions, tuning, iterations)
            if not pattern.any():
                break
            model = fitted(estimates - pattern, model)
    pooled = _pooled(model, variances, design, columns, individual, n_subjects, by_chance)
    return replace(pooled, effects=pooled.effects + pattern, pattern=pattern)


def pool_each(
    estimates: Floats,
    variances: Floats,
    design: EdgeDesign,
    individual: IndividualDifferences,
    n_subjects: float,
    tuning: StageTuning = STAGE_TUNING,
    iterations: Iterations | None = None,
    *,
    before: Sequence[PooledEffect | PoolingStart] | None = None,
    may_vanish: bool = False,
    keep_pattern: bool = False,
    by_chance: ChanceVariances | None = None,
) -> list[PooledEffect]:
    """Pool the effects of each function of motion, (P, E), by itself; see `pool_effects`.

    Several at a time, where there are several workers.
    """
    last: Sequence[PooledEffect | PoolingStart | None] = before or [None] * len(estimates)
    columns = design.with_individual(individual.loadings)
    counted = iterations or Iterations(tuning)

    def one(number: int) -> tuple[PooledEffect, Iterations]:
        own = counted.apart()
        effect = pool_effects(
            estimates[number],
            variances[number],
            design,
            individual,
            n_subjects,
            tuning,
            own,
            may_vanish=may_vanish,
            before=last[number],
            keep_pattern=keep_pattern,
            by_chance=by_chance,
            columns=columns,
        )
        return effect, own

    found = []
    for effect, own in in_order(one, range(len(estimates))):
        counted.include(own)
        found.append(effect)
    return found


def uncertainties_of(pooled: list[PooledEffect]) -> tuple[Floats, Floats]:
    """Return posterior standard deviations (P, E), and errors that edges share (P, 16, E)."""

    def one(effect: PooledEffect) -> tuple[Floats, Floats]:
        return effect.uncertainties, effect.shared_errors.directions()

    own, shared = zip(*in_order(one, pooled), strict=True)
    return np.stack(own), np.stack(shared)


def fit_pooling(
    estimates: Floats,
    variances: Floats,
    design: EdgeDesign,
    individual: IndividualDifferences,
    n_subjects: float,
    iterations: Iterations | None = None,
    *,
    may_vanish: bool = False,
    start: tuple[float, ...] | None = None,
    own_scale: Floats | None = None,
    columns: EdgeColumns | None = None,
    of_chosen: bool = False,
) -> MixedModel:
    """Fit the mixed model of `pool_effects`, without a low-rank pattern.

    Groups of coefficients: regions, the map, individual differences (those that are there) and,
    where all variances may vanish, features. `start` and `of_chosen` are as in `fit_mixed_model`.
    """
    smallest = _TINY if may_vanish else None
    full = columns or design.with_individual(individual.loadings)
    sizes = [design.n_regions, design.mapped.shape[1], individual.loadings.shape[1]]
    ends = design.features.shape[1] + np.cumsum([0, *sizes])
    # Correlations with motion have at least the variance that chance gives them.
    lowest = [smallest, smallest, 1 / n_subjects]
    there = [part for part in range(3) if sizes[part]]
    groups = [slice(ends[part], ends[part + 1]) for part in there]
    floors = [lowest[part] for part in there]
    if may_vanish:
        # Free weights of features, learned from few edges, would be extrapolated to all others.
        groups, floors = [*groups, slice(0, ends[0])], [*floors, smallest]
    return fit_mixed_model(
        *(estimates, variances, full, groups, [*floors, smallest]),
        *(iterations, start, own_scale),
        of_chosen=of_chosen,
    )


def _pooled(
    model: MixedModel,
    variances: Floats,
    design: EdgeDesign,
    columns: EdgeColumns,
    individual: IndividualDifferences,
    n_subjects: float,
    by_chance: ChanceVariances | None,
) -> PooledEffect:
    """Add up the parts of the effect that hold for unseen subjects."""
    n_factors = individual.loadings.shape[1]
    n_shared = len(model.coefficients) - n_factors
    correlation = model.coefficients[n_shared:]
    chance = n_subjects * float(correlation @ correlation) / max(n_factors, 1)
    # James–Stein: what exceeds chance is an association in the population. It is part of the
    # effect as far as its loadings are reliable.
    real = max(0.0, 1 - (n_factors - 2) / max(chance * n_factors, _TINY)) if n_factors > 2 else 0.0
    shared_share, own_share = RealShare.of(model, design, by_chance)
    # Coefficients of individual differences are left out, and their errors are not unknown.
    share, unknown = (np.pad(part, (0, n_factors)) for part in shared_share)
    shared = columns.dot(share * model.coefficients)
    associated = individual.along(real * correlation)
    kept = model.own_variances / (model.own_variances + variances)
    # What the coefficients are off by, the own deviations make up for in part.
    made_up = np.broadcast_to(own_share.share * kept, variances.shape)
    errors = SharedErrors(columns, share, made_up, model.covariance, unknown)
    own = own_share.share**2 * model.own_variances * (1 - kept) + own_share.unknown
    effects = shared + associated + made_up * model.residual
    some = own if columns.chosen is None else own[columns.chosen]
    return PooledEffect(
        effects=effects,
        own_errors=own,
        shared_errors=errors,
        mean_variance=float((some + errors.of_chosen().variances()).mean()),
        region_sd=float(np.sqrt(model.group_variances[0])),
        own_sd=float(np.sqrt(model.own_variance)),
        chance=chance,
        pattern=np.zeros_like(effects),
        model=model,
    )
