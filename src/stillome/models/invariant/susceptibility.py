"""Whom motion hits harder: the effect of motion, m(c), times 1 + z · susceptibility.

Asked along the effect of motion only, this is one number per unit of z and confound, and all edges
of all people answer it together.
"""

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

_STEP_LENGTH = 0.9
_LARGEST = 1.0  # nobody is hit less than not at all, or more than twice as hard
_RIDGE = 1e-4
_TINY = 1e-9

Floats = NDArray[np.float64]
Array = NDArray[np.floating[Any]]


def as_felt(functions: Array, latent: Array, susceptibility: Floats) -> Array:
    """Return functions of motion (n, P), larger for those whom motion hits harder.

    Parameters
    ----------
    functions : array of shape (n, P)
    latent : array of shape (n, K)
    susceptibility : array of shape (P, K)
        Of any shape if it is 0, as in models of earlier versions.
    """
    if not susceptibility.any():
        return functions
    harder = np.clip(latent @ susceptibility.T, -_LARGEST, _LARGEST)
    return np.asarray(functions * (1 + harder).astype(functions.dtype))


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
        weights = usual / (1 + usual * dispersion)
        return cls((counts / rates - 1) * weights, weights)

    def along(self, functions: Array, slopes: Floats) -> "AlongEffect":
        """Project on the effect `slopes` (P, E) of functions of motion (n, P)."""
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
        found, information = self._newton(susceptibility, latent)
        if not last:
            return found
        halves = [
            AlongEffect(*(part[start::2] for part in self))._newton(
                susceptibility, latent[start::2]
            )[0]
            for start in (0, 1)
        ]
        size = max(float(found @ information @ found), _TINY)
        confirmed = float(halves[0] @ information @ halves[1])
        return np.asarray(found * np.clip(confirmed / size, 0, 1))

    def _newton(self, susceptibility: Floats, latent: Floats) -> tuple[Floats, Floats]:
        information = (latent.T * self.information) @ latent
        # Units that carry nothing have no information, and stay 0.
        ridge = _RIDGE * max(float(np.trace(information)), _TINY) * np.eye(len(information))
        step = np.linalg.solve(information + ridge, latent.T @ self.gradient)
        return susceptibility + _STEP_LENGTH * step, information
