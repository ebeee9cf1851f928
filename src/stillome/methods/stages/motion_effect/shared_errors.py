"""What the pooled effects of all edges are off by together."""

from typing import NamedTuple, Self

import numpy as np
from scipy.linalg import eigh

from stillome.arrays import Floats
from stillome.methods.stages.motion_effect.edge_columns import EdgeColumns

_N_ERRORS = 16  # directions of uncertainty that edges share


class SharedErrors(NamedTuple):
    """What the effects of all edges are off by together.

    It is the sum of (D S − diag(kept) D) b, b with covariance C, and of D u, u independent.

    Attributes
    ----------
    design : EdgeColumns of shape (E, Q)
        D.
    share : array of shape (Q,)
        The diagonal of S.
    kept : array of shape (E,)
    covariance : array of shape (Q, Q)
        C.
    unknown : array of shape (Q,)
        Variances of u.
    """

    design: EdgeColumns
    share: Floats
    kept: Floats
    covariance: Floats
    unknown: Floats

    def of_chosen(self) -> Self:
        """Return what the chosen edges are off by."""
        if (chosen := self.design.chosen) is None:
            return self
        return self._replace(design=self.design.of_chosen(), kept=self.kept[chosen])

    def variances(self) -> Floats:
        """Return the variance of every edge, (E,)."""
        return self.design.squares(self.covariance, self.share, self.kept, self.unknown)

    def directions(self) -> Floats:
        """Return independent directions (16, E), each to be times a standard normal number.

        Those in which the chosen edges vary most.
        """
        design, share, roots = self.design, self.share[:, None], _root(self.covariance)
        used = np.flatnonzero(self.unknown > 0)
        sizes = np.sqrt(self.unknown[used])
        some = self.of_chosen()
        ones, once, twice = (some.design.gram(some.kept**power) for power in (0, 1, 2))
        # All errors are D first − diag(kept) D then, times independent standard normal numbers;
        # first = (S R, U) and then = (R, 0), for R Rᵀ = C. This is their product with themselves.
        both = share * once
        inner = share * ones * share.T - both - both.T + twice
        across = roots.T @ (share * ones - once)[:, used] * sizes
        alone = ones[np.ix_(used, used)] * sizes * sizes[:, None]
        gram = np.block([[roots.T @ (inner @ roots), across], [across.T, alone]])
        strongest = max(len(gram) - _N_ERRORS, 0), len(gram) - 1
        turns = eigh(gram, subset_by_index=strongest)[1][:, ::-1]
        then = roots @ turns[: len(roots)]
        first = share * then
        first[used] += sizes[:, None] * turns[len(roots) :]
        n = turns.shape[1]
        parts = design.dot(np.hstack([first, then]))
        found = parts[:, :n] - self.kept[:, None] * parts[:, n:]
        return np.pad(found.T, ((0, _N_ERRORS - found.shape[1]), (0, 0)))


def _root(covariance: Floats) -> Floats:
    """Return R with R Rᵀ = covariance (Q, Q)."""
    try:
        return np.asarray(np.linalg.cholesky(covariance))
    except np.linalg.LinAlgError:  # where a coefficient is known, up to rounding errors
        values, vectors = np.linalg.eigh(covariance)
        return np.asarray(vectors * np.sqrt(np.maximum(values, 0)))


def strongest_directions(errors: Floats) -> Floats:
    """Return the 16 directions (16, E) with most of the variance of independent errors (E, R).

    Examples
    --------
    >>> strongest_directions(np.diag([1.0, 2.0])).shape
    (16, 2)
    """
    _, turns = np.linalg.eigh(errors.T @ errors)
    directions = (errors @ turns[:, ::-1][:, :_N_ERRORS]).T
    missing = _N_ERRORS - len(directions)
    return np.pad(directions, ((0, max(missing, 0)), (0, 0)))
