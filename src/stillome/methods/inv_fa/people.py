"""The distribution of the training subjects, from which synthetic subjects are drawn."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from stillome.arrays import Floats
from stillome.cohort.edges import edges_to_matrices
from stillome.cohort.groups import Levels
from stillome.methods.confound_distribution import ConfoundDistribution
from stillome.methods.inv_fa.parts import InvariantModel
from stillome.methods.linear.component_arrays import prefixed, under
from stillome.methods.synthetic import SyntheticCohort
from stillome.methods.trait_regression import TraitRegression


@dataclass(frozen=True)
class People:
    """The distribution of z, the confounds and the traits among the training subjects.

    Attributes
    ----------
    latent_sd : array of shape (K,)
    confounds : ConfoundDistribution
    traits : TraitRegression or None
        None if the model was fitted without.
    """

    latent_sd: Floats
    confounds: ConfoundDistribution
    traits: TraitRegression | None

    @classmethod
    def fit(
        cls, latent: Floats, motion: Floats, traits: Floats | None, groups: Levels | None = None
    ) -> Self:
        """Learn from z (n, K), confounds (n, C), traits (n, T), NaN if missing, and groups."""
        regression = None if traits is None else TraitRegression.fit(latent, traits, groups)
        return cls(latent.std(axis=0), ConfoundDistribution.fit(motion), regression)

    def draw(self, model: InvariantModel, n: int, rng: np.random.Generator) -> SyntheticCohort:
        """Draw n subjects: connectomes (n, V, V), confounds (n, C), traits (n, T) or None."""
        latent = rng.standard_normal((n, len(self.latent_sd))) * self.latent_sd
        motion = self.confounds.draw(n, rng)
        draw = _draw_counts if model.whole else _draw_weights
        edges = draw(model, latent, motion, rng)
        if model.own_units.found:
            edges = model.own_units.drawn(edges, model.basis(motion), rng)
        traits = None if self.traits is None else self.traits.draw(latent, rng)
        return SyntheticCohort(edges_to_matrices(edges), motion, traits)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return everything as arrays by name."""
        arrays = prefixed("confounds.", self.confounds._asdict()) | {"latent_sd": self.latent_sd}
        return arrays | ({} if self.traits is None else prefixed("traits.", vars(self.traits)))

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]]) -> Self:
        """Rebuild from what `to_arrays` gave."""
        confounds = ConfoundDistribution(**under("confounds.", arrays))
        traits = under("traits.", arrays)
        regression = TraitRegression(**traits) if traits else None
        return cls(arrays["latent_sd"], confounds, regression)


def _draw_counts(
    model: InvariantModel, latent: Floats, motion: Floats, rng: np.random.Generator
) -> NDArray[Any]:
    """Draw counts (n, E) from their law, in the unit of the training data."""
    floors = np.full((len(latent), 1), float(model.support.floor))
    rates = model.law(latent, motion)
    law = model.count_law(rates, motion, floors)
    scores = rng.standard_normal(law.log_rates.shape)
    counts = law.counts_at(scores)
    if model.support.is_relative:
        floors = model.support.rule(counts)
        counts = model.count_law(rates, motion, floors).counts_at(scores)
        counts = model.support.raised(counts, counts)
    counts = counts / float(model.unit)
    return counts.astype(np.int64) if (counts == np.floor(counts)).all() else counts


def _draw_weights(
    model: InvariantModel, latent: Floats, motion: Floats, rng: np.random.Generator
) -> Floats:
    """Draw weights (n, E) in the unit of the training data: zero, or else log-normal.

    The rate is the mean over empty and filled edges, so that the mean of a filled edge is larger.
    """
    law = model.law(latent, motion)
    empty = model.zeros.shares(model.basis(motion))
    sd = np.sqrt(np.log1p(law.dispersions))
    log_mean = law.log_rates - np.log1p(-empty) - sd**2 / 2
    weights = np.exp(log_mean + sd * rng.standard_normal(sd.shape))
    weights = np.where(rng.random(sd.shape) < empty, 0.0, weights)
    weights = model.support.written(weights, model.support.rule(weights))
    return np.asarray(model.support.raised(weights, weights) / float(model.unit))
