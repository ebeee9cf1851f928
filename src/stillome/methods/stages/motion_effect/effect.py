"""The effect of motion on every edge: log rates that change with functions of motion.

    A_e ~ NB(rate_e, φ_e),   log rate_e = ξ_e + h(c) · β_e

`effect_fit` estimates it.
"""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from stillome.arrays import AnyFloats, Floats
from stillome.counts.edge_tables import AnyTable, EdgeTable, Tile
from stillome.counts.smallest_positive import smallest_positive
from stillome.methods.stages.numeric_limits import (
    DISPERSION_RANGE,
    LOG_RATE_RANGE,
)


@dataclass(frozen=True)
class MotionEffect:
    """log rate = baseline + functions of motion · slopes; variance = rate + dispersion · rate².

    Attributes
    ----------
    baseline : array of shape (E,)
        ξ, for functions of motion at their mean.
    slopes : array of shape (P, E)
        β.
    dispersion : array of shape (E,)
        φ around the rate given motion: individual differences and noise together.
    dispersion_slopes : array of shape (P,)
        log φ changes by this much per unit of each function of motion, for all edges.
    uncertainties : array of shape (P, E)
        Posterior standard deviations of the slopes.
    errors : array of shape (P, R, E)
        The part of this uncertainty that edges share (see `PooledEffect`).
    chance : array of shape (P,)
        See `PooledEffect`.
    """

    baseline: Floats
    slopes: Floats
    dispersion: Floats
    dispersion_slopes: Floats
    uncertainties: Floats
    errors: Floats
    chance: Floats

    def of_edges(self, edges: slice) -> Self:
        """Return the effect on some edges."""
        return replace(
            self,
            baseline=self.baseline[edges],
            slopes=self.slopes[:, edges],
            dispersion=self.dispersion[edges],
            uncertainties=self.uncertainties[:, edges],
            errors=self.errors[..., edges],
        )

    def rate_table(self, functions: AnyFloats, like: EdgeTable) -> EdgeTable:
        """Return exp(ξ + m(c)) as a table, in the blocks of another."""

        def look(edges: slice) -> Tile:
            own = self.of_edges(edges)
            return lambda rows: own.rates(functions[rows])

        return like.beside(look)

    def log_rates(self, functions: AnyFloats) -> AnyFloats:
        """Return ξ + m(c), shape (n, E)."""
        slopes = self.slopes.astype(functions.dtype, copy=False)
        return np.asarray(functions @ slopes + self.baseline.astype(functions.dtype, copy=False))

    def rates(self, functions: AnyFloats) -> AnyFloats:
        """Return exp(ξ + m(c)), shape (n, E)."""
        log_rates = np.clip(self.log_rates(functions), *LOG_RATE_RANGE)
        return np.exp(log_rates, out=log_rates)

    def drawn(self, rng: np.random.Generator) -> "MotionEffect":
        """Return the effect with slopes drawn from their posterior."""
        return replace(self, slopes=drawn_slopes(self.slopes, self.uncertainties, self.errors, rng))

    def log_dispersions(self, functions: AnyFloats) -> AnyFloats:
        """Return the logarithm of the dispersion at this motion, shape (n, E)."""
        dtype = functions.dtype
        moved = functions @ self.dispersion_slopes.astype(dtype)
        found = moved[:, None] + np.log(self.dispersion).astype(dtype)
        return np.asarray(np.clip(found, *np.log(DISPERSION_RANGE).astype(dtype), out=found))


def drawn_slopes(
    slopes: Floats, uncertainties: Floats, errors: Floats, rng: np.random.Generator
) -> Floats:
    """Draw slopes (P, E) from their posterior: errors that edges share, and their own."""
    shared = np.einsum("pr,pre->pe", rng.standard_normal(errors.shape[:2]), errors)
    own = np.sqrt(np.maximum(uncertainties**2 - (errors**2).sum(axis=1), 0))
    return np.asarray(slopes + shared + own * rng.standard_normal(slopes.shape))


def log_means(counts: AnyTable) -> Floats:
    """Return the log of the mean count of every edge.

    An edge without fibres counts as half of the smallest count in one subject. With a fixed number
    instead, a high floor would set such edges far apart from all others, and effects would be
    extrapolated to them.
    """
    means, smallest_of_edges = EdgeTable.of(counts).each(_mean_and_smallest)
    smallest = float(smallest_of_edges.min())
    least = 0.5 * (smallest if np.isfinite(smallest) else 1.0) / len(counts)
    return np.asarray(np.log(np.maximum(means, least)))


def _mean_and_smallest(counts: AnyFloats) -> tuple[Floats, Floats]:
    """Return the mean and the smallest positive count of every edge; infinite without one."""
    return counts.mean(axis=0, dtype=np.float64), smallest_positive(counts, axis=0)
