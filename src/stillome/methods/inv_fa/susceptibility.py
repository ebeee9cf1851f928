"""Susceptibility: individual differences in the strength of the motion effect.

The effect of motion on a subject is m(c) · (1 + z · s), with a susceptibility s per unit of z and
confound. Since it acts along the estimated effect only, all edges of all subjects estimate these
few numbers together, by weighted least squares on relative residuals.
"""

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from stillome.arrays import AnyFloats, Floats
from stillome.methods.inv_fa.tuning import TUNING, Tuning

_RIDGE = 1e-4
_TINY = 1e-9


def susceptible_functions(
    functions: AnyFloats, latent: AnyFloats, susceptibility: Floats, shares: Floats
) -> AnyFloats:
    """Return functions of motion (n, P), each confound's part multiplied by 1 + z · s.

    By definition of the model the factor lies between 0 (no effect) and 2 (twice the average).

    Parameters
    ----------
    functions : array of shape (n, P)
    latent : array of shape (n, K)
    susceptibility : array of shape (C, K)
    shares : array of shape (C, P, P)
        From `MotionBasis.confound_shares`.
    """
    changed = functions.astype(np.float64)
    for own, share in zip(susceptibility, shares, strict=True):
        factor = np.clip(latent @ own, -1, 1)
        changed += factor[:, None] * (functions @ share)
    return changed.astype(functions.dtype)


class RelativeResidual(NamedTuple):
    """Counts relative to their expectation, with weights that do not depend on motion.

    The likelihood weights counts by their rates, and so by motion. Where z does not describe
    subjects exactly, that alone would make the motion effect seem to differ between subjects.

    Attributes
    ----------
    values, weights : arrays of shape (n, E)
    """

    values: AnyFloats
    weights: AnyFloats

    @classmethod
    def of(
        cls,
        counts: AnyFloats,
        rates: AnyFloats,
        usual: AnyFloats,
        dispersion: AnyFloats,
        tuning: Tuning = TUNING,
    ) -> Self:
        """Compare counts with rates (n, E); `usual` are the same subjects' at average motion."""
        # Where motion removes nearly all fibres, the relative residual of one fibre is huge.
        least = tuning.least_ratio
        used = (rates > least * usual) & (usual > least * rates)
        weights = usual * dispersion
        weights += 1
        np.divide(usual, weights, out=weights)
        weights *= used
        values = counts / rates
        values -= 1
        values *= weights
        return cls(values, weights)

    def sums(self, slopes: Floats) -> tuple[AnyFloats, AnyFloats]:
        """Return sums over edges along the effect of motion, slopes (P, E): (n, P) and (n, P²)."""
        single = slopes.astype(self.values.dtype)
        pairs = (single[:, None] * single).reshape(-1, single.shape[1])
        return self.values @ single.T, self.weights @ pairs.T


class AlongEffects(NamedTuple):
    """Gradient and information of every subject in its factors of the confounds' effects.

    Attributes
    ----------
    gradient : array of shape (C, n)
    information : array of shape (C, C, n)
    """

    gradient: Floats
    information: Floats

    @classmethod
    def of(cls, parts: list[AnyFloats], residual: Floats, products: Floats) -> Self:
        """Project sums along the effect on the effect of each confound.

        Parameters
        ----------
        parts : list of arrays of shape (n, P)
            Each confound's part of the functions of motion.
        residual, products : arrays of shape (n, P) and (n, P²)
            From `RelativeResidual.sums`, over all edges.
        """
        functions = np.stack(parts).astype(np.float64)
        n, width = residual.shape
        gradient = (functions * residual).sum(axis=2)
        half = np.einsum("cnp,npq->cnq", functions, products.reshape(n, width, width))
        return cls(gradient, np.einsum("cnq,dnq->cdn", half, functions))

    def step(self, latent: Floats) -> Floats:
        """Return the Newton step (C, K) of the susceptibility."""
        information = self.information_of(latent)
        size = self.gradient.shape[0] * latent.shape[1]
        matrix = information.transpose(0, 2, 1, 3).reshape(size, size)
        # Empty units have no information, and stay 0.
        ridge = _RIDGE * max(float(np.trace(matrix)), _TINY) * np.eye(size)
        gradient = (self.gradient @ latent).ravel()
        step = np.linalg.solve(matrix + ridge, gradient)
        return np.asarray(step, np.float64).reshape(-1, latent.shape[1])

    def information_of(self, latent: Floats) -> Floats:
        """Return the information (C, C, K, K) about the susceptibility."""
        return np.stack(
            [np.stack([(latent.T * pair) @ latent for pair in row]) for row in self.information]
        )

    def in_standard_errors(self, change: Floats, latent: Floats) -> float:
        """Return the size of a change of the susceptibility (C, K)."""
        n_active = max(int(latent.any(axis=0).sum()), 1) * len(change)
        square = np.einsum("ck,cdkl,dl->", change, self.information_of(latent), change)
        return float(np.sqrt(max(square, 0.0) / n_active))

    def confirmed(
        self, susceptibility: Floats, latent: Floats, halves: list[NDArray[np.intp]]
    ) -> Floats:
        """Return the share of the susceptibility (C, K) that two halves of the subjects agree on.

        Halves are positions of subjects, drawn without looking at them (`two_halves`).
        """
        found = susceptibility + self.step(latent)
        one, other = (
            susceptibility + AlongEffects(*(part[..., half] for part in self)).step(latent[half])
            for half in halves
        )
        confirmed = np.zeros_like(found)
        for confound, row in enumerate(self.information_of(latent)):
            own = row[confound]
            size = max(float(found[confound] @ own @ found[confound]), _TINY)
            agreement = float(one[confound] @ own @ other[confound]) / size
            confirmed[confound] = found[confound] * np.clip(agreement, 0, 1)
        return confirmed
