"""What 2,278 edges learn from each other about the effect of motion.

The estimated effect of one edge is the sum of what it shares with others (intercept, strength and
length of the edge, its two regions, a pattern over pairs of regions), a deviation of its own,
sampling noise, and one thing more: in any finite sample some brains happen to move more, so that
every estimated effect also holds the edge's individual differences times their *chance*
correlation with motion. That last part is the same few numbers for all edges. It is estimated
along with the rest, and left out of the effect; otherwise unseen subjects would be "corrected"
for other people's coincidences.
"""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from stillome.arrays import Floats
from stillome.cohort.edges import edge_indices
from stillome.methods.stages.motion_effect.patterns import low_rank_pattern
from stillome.methods.stages.motion_effect.spectrum import leading_factors

_ROUNDS = 12
_TINY = 1e-9
_MOST_FACTORS = 100
_LEAST_OWN = 0.2  # share of an edge's variance that is its own, at least


@dataclass(frozen=True)
class EdgeDesign:
    """What edges can share: features (E, Q) with free weights, and their two regions."""

    features: Floats
    n_regions: int

    @classmethod
    def from_edges(cls, log_means: Floats, lengths: Floats | None, n_regions: int) -> "EdgeDesign":
        """Describe edges by their strength and, where known, their length (both squared too).

        Parameters
        ----------
        log_means : array of shape (E,)
            Mean fibre count of each edge, log scale.
        lengths : array of shape (E,) in mm, or None
            0 where unknown.
        n_regions : int
        """
        columns = [np.ones(len(log_means))]
        known_lengths: Floats | None = None
        if lengths is not None and lengths.any():
            known_lengths = np.where(lengths > 0, lengths, np.nan)
        for values in (log_means, known_lengths):
            if values is not None and np.nanstd(values) > 0:
                standard = (values - np.nanmean(values)) / np.nanstd(values)
                # An edge of unknown length is taken to be of average length.
                standard = np.nan_to_num(standard)
                columns += [standard, standard**2]
        return cls(np.column_stack(columns), n_regions)

    def with_individual(self, loadings: Floats) -> Floats:
        """Return the full design (E, Q + V + K)."""
        rows, columns = edge_indices(self.n_regions)
        regions = np.zeros((len(rows), self.n_regions))
        regions[np.arange(len(rows)), rows] = 1
        regions[np.arange(len(rows)), columns] = 1
        return np.hstack([self.features, regions, loadings])


class IndividualDifferences(NamedTuple):
    """How people differ, apart from motion.

    Attributes
    ----------
    loadings : array of shape (E, K)
        Per factor of unit variance.
    reliability : array of shape (E, K) or (1, K)
        How far each loading is more than the noise of this sample, between 0 and 1.
    """

    loadings: Floats
    reliability: Floats

    @classmethod
    def find(cls, residual: NDArray[Any], n_lost: int = 1) -> Self:
        """Find the factors of residuals (n, E) that are not noise (see `leading_factors`)."""
        spread = residual.std(axis=0, dtype=np.float64) + 1e-12
        standard = (residual - residual.mean(axis=0)) / spread.astype(residual.dtype)
        spectrum = leading_factors(standard, _MOST_FACTORS, n_lost)
        factors = spectrum.scores[:, : spectrum.n_signal].astype(residual.dtype)
        loadings = (factors.T @ standard).T.astype(np.float64) / np.sqrt(len(residual))
        return cls(loadings * spread[:, None], spectrum.reliability()[None, : spectrum.n_signal])

    def per_log_rate(self, information: Floats, variances: Floats, n_subjects: int) -> Self:
        """Bring factors of score residuals to the log scale, where all edges vary alike.

        There, a loading of an edge of a few fibres is mostly noise, and is believed less.

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
        return np.maximum(variances - explained, _LEAST_OWN * variances)


@dataclass(frozen=True)
class PooledEffect:
    """Effects after pooling, and what was found about their make-up.

    Attributes
    ----------
    effects : array of shape (E,)
    uncertainties : array of shape (E,)
        Posterior standard deviations of the effects.
    region_sd, own_sd : float
        Spread of the regions' effects and of the edges' own deviations.
    chance : float
        Squared correlation of individual differences with motion, as a multiple of what chance
        gives on average: about 1 in a sample where motion has nothing to do with the brain.
    """

    effects: Floats
    uncertainties: Floats
    region_sd: float
    own_sd: float
    chance: float


def pool_effects(
    estimates: Floats,
    variances: Floats,
    design: EdgeDesign,
    individual: IndividualDifferences,
    n_subjects: int,
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
    """
    pooled, own = _pool_once(estimates, variances, design, individual, n_subjects)
    pattern = low_rank_pattern(own, variances + pooled.own_sd**2, design.n_regions)
    if not pattern.any():
        return pooled
    pooled, _ = _pool_once(estimates - pattern, variances, design, individual, n_subjects)
    return replace(pooled, effects=pooled.effects + pattern)


def _pool_once(
    estimates: Floats,
    variances: Floats,
    design: EdgeDesign,
    individual: IndividualDifferences,
    n_subjects: int,
) -> tuple[PooledEffect, Floats]:
    """Return pooled effects (empirical Bayes, by EM), and what of the estimates edges do not share.

    The latter are each edge's own deviation and noise, shape (E,).
    """
    full = design.with_individual(individual.loadings)
    n_free, n_factors = design.features.shape[1], individual.loadings.shape[1]
    regions = slice(n_free, n_free + design.n_regions)
    factors = slice(n_free + design.n_regions, None)
    region_var = own_var = 0.05 * float(np.var(estimates)) + _TINY
    factor_var = 2 / n_subjects
    precision = np.full(full.shape[1], 1e-6)
    for _ in range(_ROUNDS):
        weights = 1 / (variances + own_var)
        precision[regions], precision[factors] = 1 / region_var, 1 / factor_var
        covariance = np.linalg.inv((full.T * weights) @ full + np.diag(precision))
        coefficients = covariance @ (full.T @ (weights * estimates))
        region_var = _second_moment(coefficients, covariance, regions) + _TINY
        if n_factors:
            factor_var = max(_second_moment(coefficients, covariance, factors), 1 / n_subjects)
        residual = estimates - full @ coefficients
        kept = own_var / (own_var + variances)
        spread = ((full @ covariance) * full).sum(axis=1)
        own_var = float(((kept * residual) ** 2 + own_var * (1 - kept) + kept**2 * spread).mean())
        own_var = max(own_var, _TINY)
    correlation = coefficients[factors]
    chance = n_subjects * float(correlation @ correlation) / max(n_factors, 1)
    # James–Stein: what exceeds chance is real, and part of the effect as far as its pattern over
    # edges is known; what does not is left out.
    real = max(0.0, 1 - (n_factors - 2) / max(chance * n_factors, _TINY)) if n_factors > 2 else 0.0
    shared = full[:, : n_free + design.n_regions] @ coefficients[: n_free + design.n_regions]
    associated = (individual.reliability * individual.loadings) @ (real * correlation)
    effects = shared + associated + own_var / (own_var + variances) * residual
    kept = own_var / (own_var + variances)
    uncertainties = np.sqrt(own_var * (1 - kept) + (1 - kept) ** 2 * spread)
    region_sd, own_sd = float(np.sqrt(region_var)), float(np.sqrt(own_var))
    return PooledEffect(effects, uncertainties, region_sd, own_sd, chance), residual


def _second_moment(coefficients: NDArray[Any], covariance: NDArray[Any], part: slice) -> float:
    values, variances = coefficients[part], np.diag(covariance)[part]
    return float((values**2 + variances).mean())
