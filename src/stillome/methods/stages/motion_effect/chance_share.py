"""Which share of pooled effects is no chance.

`chance_effects` measures the variances that pooling finds where motion has no effect. What of the
real variances exceeds them is effect.
"""

from typing import NamedTuple, Self

import numpy as np

from stillome.arrays import Floats
from stillome.methods.stages.motion_effect.edge_design import EdgeDesign
from stillome.methods.stages.motion_effect.variance_components import MixedModel


class ChanceVariances(NamedTuple):
    """Variances that pooling finds where there is no effect (see `chance_effects`).

    Attributes
    ----------
    groups : tuple of float
        Of the groups of coefficients, in the order of the mixed model.
    own : float
        Of the edges' own deviations.
    """

    groups: tuple[float, ...]
    own: float

    @property
    def variances(self) -> tuple[float, ...]:
        """Those of the groups, and of the own deviations."""
        return *self.groups, self.own

    @classmethod
    def mean(cls, found: "list[ChanceVariances]") -> Self:
        """Return the mean over several; groups that are not in all of them are left out."""
        groups = np.mean(list(zip(*(each.groups for each in found), strict=False)), axis=1)
        return cls(tuple(groups.tolist()), float(np.mean([each.own for each in found])))


NO_CHANCE = ChanceVariances((), 0.0)  # where nothing is estimated


class RealShare(NamedTuple):
    """The share of normal coefficients that is no chance, and its variance given their sum.

    If a coefficient is the sum of an effect with variance t and of chance with variance c, then
    the effect is normal given the sum: t / (t + c) of it, with variance t c / (t + c).
    """

    share: Floats
    unknown: Floats

    @classmethod
    def of(
        cls, model: MixedModel, design: EdgeDesign, by_chance: ChanceVariances | None
    ) -> tuple["RealShare", "RealShare"]:
        """Return those of the shared coefficients (Q,) and of the own deviations (E,) or (1,)."""
        n_features, n_mapped = design.features.shape[1], design.mapped.shape[1]
        n_shared = n_features + design.n_regions + n_mapped
        found, chance = np.full(n_shared, np.inf), np.zeros(n_shared)
        own_chance = 0.0
        if by_chance is not None:
            ends = np.cumsum([n_features, design.n_regions, n_mapped])
            places = [slice(ends[0], ends[1])] + [slice(ends[1], ends[2])] * bool(n_mapped)
            for place, own, null in zip(
                places, model.group_variances, by_chance.groups, strict=False
            ):
                found[place], chance[place] = own, null
            own_chance = by_chance.own
        return cls._of(found, chance), cls._of(model.own_variances, own_chance)

    @classmethod
    def _of(cls, found: Floats, chance: Floats | float) -> "RealShare":
        share = np.maximum(0.0, 1 - chance / found)
        return cls(share, share * np.minimum(chance, found))
