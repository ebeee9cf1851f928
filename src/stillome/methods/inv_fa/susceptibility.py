"""Whom motion hits harder: the effect of motion, m(c), times 1 + z · susceptibility.

Asked along the effect of motion only, this is one number per unit of z and confound, and all edges
of all people answer it together.
"""

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from stillome.arrays import Floats

_STEP_LENGTH = 0.9
_LARGEST = 1.0  # nobody is hit less than not at all, or more than twice as hard
_MOST_SPREAD = 0.5  # standard deviation over people
_LEAST_LEFT = 0.05  # share of one rate in the other for an edge to be heard
_RIDGE = 1e-4
_TINY = 1e-9

Array = NDArray[np.floating[Any]]


def as_felt(functions: Array, latent: Array, susceptibility: Floats, shares: Floats) -> Array:
    """Return functions of motion (n, P), larger for those whom motion hits harder.

    Parameters
    ----------
    functions : array of shape (n, P)
    latent : array of shape (n, K)
    susceptibility : array of shape (C, K)
    shares : array of shape (C, P, P)
        From `MotionBasis.confound_shares`.
    """
    felt = functions.astype(np.float64)
    for own, share in zip(susceptibility, shares, strict=True):
        harder = np.clip(latent @ own, -_LARGEST, _LARGEST)
        felt += harder[:, None] * (functions @ share)
    return felt.astype(functions.dtype)


class RelativeResidual(NamedTuple):
    """Counts relative to what is expected of them, weighed as if everybody had moved the same.

    A likelihood weighs edges by their rates, and so by motion. Where z does not describe people
    exactly (it never does), that alone would make the restless look hit differently.

    Attributes
    ----------
    values, weights : arrays of shape (n, E)
    """

    values: Array
    weights: Array

    @classmethod
    def of(cls, counts: Array, rates: Array, usual: Array, dispersion: Array) -> Self:
        """Compare counts with rates (n, E); `usual` are the same people's at average motion."""
        # Where motion leaves next to nothing, a single fibre would speak for the person; and where
        # average motion does, those who kept still would.
        heard = (rates > _LEAST_LEFT * usual) & (usual > _LEAST_LEFT * rates)
        weights = np.where(heard, usual / (1 + usual * dispersion), 0)
        return cls((counts / rates - 1) * weights, weights)

    def along(self, functions: Array, slopes: Floats) -> "AlongEffect":
        """Project on the effect `slopes` (P, E) of one confound's part of the functions (n, P)."""
        single = slopes.astype(self.values.dtype)
        gradient = (functions * (self.values @ single.T)).sum(axis=1, dtype=np.float64)
        pairs = (single[:, None] * single).reshape(-1, single.shape[1])
        squares = (functions[:, :, None] * functions[:, None]).reshape(len(functions), -1)
        information = (squares * (self.weights @ pairs.T)).sum(axis=1, dtype=np.float64)
        return AlongEffect(gradient, np.maximum(information, _TINY))


class AlongEffect(NamedTuple):
    """How far people are from what is expected of them, along the effect of one confound.

    Attributes
    ----------
    gradient, information : arrays of shape (n,)
        In the factor by which motion hits a person harder.
    """

    gradient: Floats
    information: Floats

    def improved(self, susceptibility: Floats, latent: Floats, *, last: bool) -> Floats:
        """Return susceptibilities (K,) after a Newton step.

        Parameters
        ----------
        susceptibility : array of shape (K,)
        latent : array of shape (n, K)
        last : bool
            Whether to keep only as much of them as one half of the people confirms of the other's.
        """
        found = susceptibility + (1.0 if last else _STEP_LENGTH) * self._step(latent)
        if (latent @ found).std() > _MOST_SPREAD:
            # Where many would be hit by less than nothing, it is something else that differs.
            return np.zeros_like(found)
        if not last:
            return np.asarray(found)
        # Whole steps: shorter ones would leave in both halves what everybody said before.
        one, other = (
            susceptibility + AlongEffect(*(part[start::2] for part in self))._step(latent[start::2])
            for start in (0, 1)
        )
        information = (latent.T * self.information) @ latent
        size = max(float(found @ information @ found), _TINY)
        return np.asarray(found * np.clip(one @ information @ other / size, 0, 1))

    def _step(self, latent: Floats) -> Floats:
        information = (latent.T * self.information) @ latent
        # Units that carry nothing have no information, and stay 0.
        ridge = _RIDGE * max(float(np.trace(information)), _TINY) * np.eye(len(information))
        return np.asarray(np.linalg.solve(information + ridge, latent.T @ self.gradient))
