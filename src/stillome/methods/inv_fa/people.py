"""Who the training subjects are, in a few numbers: enough to draw people nobody ever scanned."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from stillome.arrays import Floats
from stillome.cohort.edges import edges_to_matrices
from stillome.methods.confound_distribution import ConfoundDistribution
from stillome.methods.inv_fa.parts import InvariantModel
from stillome.methods.synthetic import SyntheticCohort
from stillome.methods.trait_regression import TraitRegression


@dataclass(frozen=True)
class People:
    """How z, the confounds and the traits are spread among the training subjects.

    Attributes
    ----------
    latent_sd : array of shape (K,)
    confounds : ConfoundDistribution
    traits : TraitRegression or None
        None when the model was fitted without.
    trait_noise : array of shape (T,)
        Standard deviation of what z does not predict, in the users' units; empty without traits.
    """

    latent_sd: Floats
    confounds: ConfoundDistribution
    traits: TraitRegression | None
    trait_noise: Floats

    @classmethod
    def fit(cls, latent: Floats, motion: Floats, traits: Floats | None) -> Self:
        """Describe subjects by z (n, K), confounds (n, C) and traits (n, T), NaN if missing."""
        spread, confounds = latent.std(axis=0), ConfoundDistribution.fit(motion)
        if traits is None:
            return cls(spread, confounds, None, np.zeros(0))
        regression = TraitRegression.fit(latent, traits)
        noise = np.nanstd(traits - regression.predict(latent), axis=0)
        return cls(spread, confounds, regression, noise)

    def draw(self, model: InvariantModel, n: int, rng: np.random.Generator) -> SyntheticCohort:
        """Draw n subjects: connectomes (n, V, V), confounds (n, C), traits (n, T) or None."""
        latent = rng.standard_normal((n, len(self.latent_sd))) * self.latent_sd
        motion = self.confounds.draw(n, rng)
        law = model.law(latent, motion)
        gamma = rng.gamma(1 / law.dispersions, law.dispersions)
        counts = rng.poisson(np.exp(law.log_rates) * gamma).astype(np.int64)
        traits = None
        if self.traits is not None:
            predicted = self.traits.predict(latent)
            traits = predicted + rng.standard_normal(predicted.shape) * self.trait_noise
        return SyntheticCohort(edges_to_matrices(counts), motion, traits)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return everything as arrays by name."""
        arrays = {f"confounds.{name}": value for name, value in self.confounds._asdict().items()}
        arrays |= {"latent_sd": self.latent_sd, "trait_noise": self.trait_noise}
        if self.traits is not None:
            arrays["traits.coefficients"] = self.traits.coefficients
            arrays["traits.intercepts"] = self.traits.intercepts
        return arrays

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]]) -> Self:
        """Rebuild from what `to_arrays` gave."""
        confounds = ConfoundDistribution(
            **{name: arrays[f"confounds.{name}"] for name in ConfoundDistribution._fields}
        )
        traits = None
        if "traits.coefficients" in arrays:
            traits = TraitRegression(arrays["traits.coefficients"], arrays["traits.intercepts"])
        return cls(arrays["latent_sd"], confounds, traits, arrays["trait_noise"])
