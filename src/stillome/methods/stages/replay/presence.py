"""Presence apart from size: how often an edge has no fibres, with a motion effect of its own.

    P(A_e = 0) = Φ(b_e + η_e(0, c) + s · (η_e(z, c) − η_e(0, c)) + h(c) · d_e),
    η_e(z, c) = Φ⁻¹(P(NB < floor | z, c))

The negative binomial ties the share of zeros to mean and dispersion; real counts do not. The
deviation b of every edge is shrunk to 0, and the effects d are pooled over edges, so that the
negative binomial is what remains where it is enough.
"""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from scipy import special

from stillome.arrays import AnyFloats, Floats
from stillome.methods.stages.motion_effect.effect import drawn_slopes
from stillome.methods.stages.replay.probit_tables import PROBIT_RANGE

_LARGEST_PROBIT = 8.0


@dataclass(frozen=True)
class Presence:
    """Probit model of empty edges.

    Attributes
    ----------
    deviations : array of shape (E,)
        b.
    reliance : array of shape ()
        s, how much differences between subjects count; 1 if the negative binomial is right.
    slopes : array of shape (P, E)
        d.
    uncertainties : array of shape (P, E)
        Posterior standard deviations of the slopes.
    errors : array of shape (P, R, E)
        The part of these that edges share (see `PooledEffect`).
    """

    deviations: Floats
    reliance: Floats
    slopes: Floats
    uncertainties: Floats
    errors: Floats

    @classmethod
    def none(cls, n_functions: int, n_edges: int) -> Self:
        """Return the model in which the negative binomial is right."""
        slopes = np.zeros((n_functions, n_edges))
        errors = np.zeros((n_functions, 0, n_edges))
        return cls(np.zeros(n_edges), np.ones(()), slopes, slopes, errors)

    def of_edges(self, edges: slice) -> Self:
        """Return the model of some edges."""
        return replace(
            self,
            deviations=self.deviations[edges],
            slopes=self.slopes[:, edges],
            uncertainties=self.uncertainties[:, edges],
            errors=self.errors[..., edges],
        )

    def probabilities(self, below: Floats, usual: Floats, functions: AnyFloats) -> Floats:
        """Return the probability of an empty edge (n, E).

        Parameters
        ----------
        below, usual : arrays of shape (n, E)
            Probability of a count below the floor in the negative binomial, of these subjects
            and of the average subject (z = 0) at the same motion.
        functions : array of shape (n, P)
        """
        average = probits_of(usual)
        moved = self.deviations + average + functions @ self.slopes
        probits = moved + self.reliance * (probits_of(below) - average)
        return np.asarray(special.ndtr(np.clip(probits, -_LARGEST_PROBIT, _LARGEST_PROBIT)))

    def drawn(self, rng: np.random.Generator) -> Self:
        """Return the model with slopes drawn from their posterior."""
        return replace(self, slopes=drawn_slopes(self.slopes, self.uncertainties, self.errors, rng))


def probits_of(shares: Floats) -> Floats:
    """Return the normal scores of probabilities, bounded."""
    return np.asarray(special.ndtri(np.clip(shares, *PROBIT_RANGE)))
