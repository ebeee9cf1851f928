"""What of z still depends on motion, as it is found, taken out, and put back for the decoder."""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from stillome.arrays import AnyFloats, Floats
from stillome.methods.inv_fa.spreads import bounded_exp, fit_stretched, fit_unit_scale
from stillome.methods.inv_fa.tuning import TUNING, Tuning
from stillome.methods.stages.motion_effect.basis import MotionFunctions
from stillome.methods.stages.motion_effect.shrinkage import beyond_chance


@dataclass(frozen=True)
class RemainingDependence:
    """How means and spreads of z change with motion; `FactorEncoder` documents the arrays."""

    association: Floats
    unit_scale: Floats
    directions: Floats
    scale_slopes: Floats

    @classmethod
    def none(cls, n_functions: int, n_components: int) -> Self:
        """Return no dependence at all."""
        zero = np.zeros((n_functions, n_components))
        return cls(zero, zero, np.zeros((n_components, 0)), np.zeros((n_functions, 0)))

    @classmethod
    def fit(
        cls, latent: Floats, motion: MotionFunctions, share: Floats, tuning: Tuning = TUNING
    ) -> Self:
        """Find it in z (n, K) of the training subjects; `share` (K,) is the signal in each unit."""
        association = fit_association(latent, motion)
        scatter = motion.scatter(latent, around_motion=True)
        unit_scale = fit_unit_scale(scatter, motion.values, share, motion.groups)
        scatter *= bounded_exp(-motion.values @ unit_scale)
        directions, scale_slopes = fit_stretched(scatter, motion.values, tuning, motion.groups)
        left = latent - motion.values @ association
        association += _fit_association_along(directions, left, motion)
        return cls(association, unit_scale, directions, scale_slopes)

    def with_function(self) -> Self:
        """Return the same with one more function of motion, on which nothing depends."""
        names = ("association", "unit_scale", "scale_slopes")
        return replace(self, **{n: np.pad(getattr(self, n), ((0, 1), (0, 0))) for n in names})

    def removed(self, latent: Floats, functions: AnyFloats) -> Floats:
        """Return z (n, K) without it, for scans at these functions of motion (n, P)."""
        means = latent - functions @ self.association
        means *= bounded_exp(-functions @ self.unit_scale)
        along = means @ self.directions
        # The directions are orthonormal once units have unit variance.
        change = along * (bounded_exp(-functions @ self.scale_slopes) - 1)
        return np.asarray(means + change @ np.linalg.pinv(self.directions))

    def restored(self, latent: Floats, functions: AnyFloats, scanned_at: AnyFloats) -> Floats:
        """Return z with means as at these functions of motion and spreads as in the scan."""
        scale = bounded_exp(scanned_at @ self.unit_scale)
        return np.asarray(latent * scale + functions @ self.association)


def fit_association(latent: Floats, motion: MotionFunctions) -> Floats:
    """Regress the units on motion; keep what exceeds chance (James and Stein 1961), (P, K)."""
    slopes = motion.estimating.T.astype(np.float64) @ latent / len(latent)
    variances = latent.var(axis=0)
    n_active = int((variances > 0).sum())
    if n_active < 3:
        return np.zeros_like(slopes)
    squares = (slopes**2 / np.where(variances > 0, variances, np.inf)).sum(axis=1, keepdims=True)
    n_independent = motion.n_independent(latent)
    real = np.maximum(0, 1 - (n_active - 2) / np.maximum(n_independent * squares, 1e-12))
    return np.asarray(slopes * real / motion.spread[:, None])


def _fit_association_along(directions: Floats, latent: Floats, motion: MotionFunctions) -> Floats:
    """Regress z on motion along each of a few directions (K, J); keep what exceeds chance.

    Where the variance of z changes with motion, its mean often does, too. Among dozens of units
    such a change is within sampling error; along the direction alone it is not.
    """
    along = latent @ directions
    slopes = motion.estimating.T.astype(np.float64) @ along / len(latent)
    slopes = beyond_chance(slopes, along.var(axis=0) / motion.n_independent(along))
    return np.asarray(slopes / motion.spread[:, None] @ np.linalg.pinv(directions))
