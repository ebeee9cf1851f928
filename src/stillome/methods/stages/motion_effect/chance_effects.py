"""Effects that motion has by chance: what pooling finds where motion was permuted.

Individual differences go together over edges. In a finite sample they correlate with motion by
chance, so that the errors of the estimated effects go together too: over the edges of a region,
over neighbouring regions, and over the edges that a weak factor connects. The mixed model knows
the factors above the noise edge only, and takes the rest for effects of regions and edges. How
much it takes is measured: effects of permuted motion are pooled in the same way. There are none,
so that every variance found is chance (an empirical null; Efron 2004).
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple, Self

import numpy as np

from stillome.arrays import AnyFloats, Floats
from stillome.cohort.exchange import Shuffler
from stillome.cohort.groups import Levels
from stillome.counts.edge_tables import AnyTable, EdgeTable
from stillome.methods.stages.convergence import Iterations
from stillome.methods.stages.motion_effect.basis import apart_from, n_independent
from stillome.methods.stages.motion_effect.chance_share import ChanceVariances
from stillome.methods.stages.motion_effect.edge_design import EdgeDesign
from stillome.methods.stages.motion_effect.individual_differences import IndividualDifferences
from stillome.methods.stages.motion_effect.pooling import fit_pooling
from stillome.methods.stages.motion_effect.variance_components import MixedModel
from stillome.methods.stages.numeric_limits import LARGEST_SLOPE
from stillome.methods.stages.stage_tuning import STAGE_TUNING, StageTuning

_NULLS = 4  # about as many effects of permuted motion; each takes as long as pooling once


class EdgeScores(NamedTuple):
    """One likelihood step of every edge: what the slopes on motion are estimated from.

    Attributes
    ----------
    residual : array or table of shape (n, E)
        Score residuals.
    functions : array of shape (n, P)
        Standardised functions of motion. Subjects must be in an order that depends on nothing
        but their data.
    variances : array of shape (1 + P, E)
        Sampling variances of level and slopes.
    information : array of shape (E,)
        Of the level, per subject.
    least_variances : array of shape (E,)
        See `EdgeDesign`.
    n_independent : float
        As how many independent scans the subjects count; their number without groups.
    groups : array of shape (n, 1) or (n, 3), or None
        See `group_levels`.
    """

    residual: AnyTable
    functions: AnyFloats
    variances: Floats
    information: Floats
    least_variances: Floats
    n_independent: float
    groups: Levels | None = None

    @classmethod
    def of(
        cls,
        residual: AnyTable,
        functions: AnyFloats,
        variances: Floats,
        information: Floats,
        least_variances: Floats,
        groups: Levels | None = None,
    ) -> Self:
        """Return the scores, with variances larger where scans of a group are alike."""
        n = n_independent(residual, functions, groups)
        if groups is not None:
            variances = variances * (len(residual) / n)
        return cls(residual, functions, variances, information, least_variances, n, groups)

    def apart(self) -> Self:
        """Return these scores with residuals apart from motion, kept for several looks."""
        apart = apart_from(self.functions, EdgeTable.of(self.residual))
        return self._replace(residual=apart.stored())

    def factors(self, tuning: StageTuning = STAGE_TUNING) -> IndividualDifferences:
        """Find the factors of score residuals that are `apart` from motion."""
        n_lost = 1 + self.functions.shape[1]
        return IndividualDifferences.find(self.residual, n_lost, tuning)

    def per_log_rate(self, individual: IndividualDifferences) -> IndividualDifferences:
        """Bring factors of score residuals to the scale of the slopes."""
        return individual.per_log_rate(self.information, self.variances[0], self.n_independent)

    def own_variances(self, individual: IndividualDifferences) -> Floats:
        """Return the variances of slopes (P, E) without what individual differences explain."""
        n = self.n_independent
        own = [individual.own_variances(variances, n) for variances in self.variances[1:]]
        return np.maximum(own, self.least_variances)

    def by_chance(
        self,
        design: EdgeDesign,
        individual: IndividualDifferences,
        iterations: Iterations | None = None,
        *,
        may_vanish: bool = False,
    ) -> ChanceVariances:
        """Pool effects of permuted motion; return the mean of the variances that are found.

        `individual` are the `factors` of these scores, whose residuals are `apart` from motion.
        """
        n, n_functions = self.functions.shape
        apart, rng = EdgeTable.of(self.residual), np.random.default_rng(0)
        lost = np.sqrt(n / max(n - 1 - n_functions, 1))
        found: list[MixedModel] = []
        for _ in range(max(round(_NULLS / n_functions), 1)):
            permuted = _permuted(self.functions, rng, self.groups)
            gradient = apart.each(partial(np.matmul, permuted.T)).astype(np.float64)
            slopes = lost * gradient / (n * self.information)
            slopes = np.clip(slopes, -LARGEST_SLOPE, LARGEST_SLOPE)
            pooling = partial(fit_pooling, iterations=iterations, may_vanish=may_vanish)
            # As in the fit itself, factors do not see what goes with the functions.
            unrelated = self.per_log_rate(individual.apart_from(permuted, gradient))
            found += self._pooled_nulls(slopes, design, unrelated, pooling, found[-1:])
            # Of the size of the design: not to be there beside those of the next null.
            del unrelated
        return ChanceVariances.mean(
            [ChanceVariances(model.group_variances, model.own_variance) for model in found]
        )

    def _pooled_nulls(
        self,
        slopes: Floats,
        design: EdgeDesign,
        individual: IndividualDifferences,
        pooling: Callable[..., MixedModel],
        before: list[MixedModel],
    ) -> list[MixedModel]:
        """Pool slopes (P, E), each from the variances of the one before, which are nearly its."""
        models = [*before]
        columns = design.with_individual(individual.loadings)
        for slope, own in zip(slopes, self.own_variances(individual), strict=True):
            start = models[-1].variances if models else None
            arguments = slope, own, design, individual, self.n_independent
            models.append(pooling(*arguments, columns=columns, start=start, of_chosen=True))
        return models[len(before) :]


def _permuted(
    functions: AnyFloats, rng: np.random.Generator, groups: Levels | None = None
) -> AnyFloats:
    """Permute subjects; whom they are exchanged with depends on the order of their motion.

    With groups, whole groups are exchanged; by what they are ordered is a property of the data.
    """
    if groups is not None:
        return functions[Shuffler(groups).draw(rng)]
    order = np.lexsort(functions.T)
    permuted = np.empty_like(functions)
    permuted[order] = functions[order][rng.permutation(len(functions))]
    return permuted
