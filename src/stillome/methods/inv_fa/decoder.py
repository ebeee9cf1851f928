"""The decoder: the distribution of a subject's counts given z, at any motion.

A_e ~ NB(rate_e, φ_e),   log rate_e = ξ_e + m_e(c) · (1 + z · s) + z · w_e
"""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from stillome.arrays import AnyFloats, Floats
from stillome.methods.inv_fa.susceptibility import susceptible_functions
from stillome.methods.stages.motion_effect.dispersion import scaled_dispersion
from stillome.methods.stages.motion_effect.effect import MotionEffect
from stillome.methods.stages.numeric_limits import LOG_RATE_RANGE


@dataclass(frozen=True)
class Decoder:
    """p(A | z, c): negative binomial, log rate ξ + m(c) (1 + z · susceptibility) + z · loadings.

    Attributes
    ----------
    offset : array of shape (E,)
        Added to ξ.
    loadings : array of shape (K, E)
    dispersion : array of shape (E,)
        Around the subject's own rate.
    dispersion_slopes : array of shape (P,)
    grain : array of shape ()
        For weights: see `fit_spread`; 0 for counts.
    susceptibility : array of shape (C, K)
        Relative change of each confound's effect per unit of z.
    shares : array of shape (C, P, P)
        Each confound's part of the functions.
    """

    offset: Floats
    loadings: Floats
    dispersion: Floats
    dispersion_slopes: Floats
    grain: Floats
    susceptibility: Floats
    shares: Floats

    def of_edges(self, edges: slice) -> Self:
        """Return the decoder of some edges."""
        return replace(
            self,
            offset=self.offset[edges],
            loadings=self.loadings[:, edges],
            dispersion=self.dispersion[edges],
        )

    def of_units(self, units: NDArray[np.intp]) -> Self:
        """Return the decoder of some units of z."""
        return replace(
            self, loadings=self.loadings[units], susceptibility=self.susceptibility[:, units]
        )

    def log_rates(self, effect: MotionEffect, functions: AnyFloats, latent: AnyFloats) -> AnyFloats:
        """Return the log rate of every edge, shape (n, E)."""
        dtype = functions.dtype
        log_rates = effect.log_rates(self.susceptible(functions, latent))
        log_rates += self.offset.astype(dtype)
        if latent.any():  # nobody's z, which presence is compared with, adds nothing
            # Loadings of many regions take longer to copy than to multiply.
            log_rates += latent.astype(dtype) @ self.loadings.astype(dtype, copy=False)
        return np.clip(log_rates, *LOG_RATE_RANGE, out=log_rates)

    def susceptible(self, functions: AnyFloats, latent: AnyFloats) -> AnyFloats:
        """Return functions of motion (n, P), multiplied by each subject's susceptibility."""
        return susceptible_functions(functions, latent, self.susceptibility, self.shares)

    def dispersions(self, functions: AnyFloats) -> AnyFloats:
        """Return the dispersion at this motion, shape (n, E)."""
        return scaled_dispersion(self.dispersion, self.dispersion_slopes, functions)
