"""What the pooled effects of all edges are off by together."""

from typing import NamedTuple, Self

import numpy as np

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
        design, share, shared = self.design, self.share, self.share[:, None] * self.covariance
        both = design.squares(shared * share + np.diag(self.unknown))
        crossed, own = design.squares(shared), design.squares(self.covariance)
        # Where own deviations make up for all of it, rounding errors may have either sign.
        return np.maximum(both - 2 * self.kept * crossed + self.kept**2 * own, 0)

    def directions(self) -> Floats:
        """Return independent directions (16, E), each to be times a standard normal number."""
        design, share = self.design, self.share
        values, vectors = np.linalg.eigh(self.covariance)
        roots = vectors * np.sqrt(np.maximum(values, 0))
        used = np.flatnonzero(self.unknown > 0)
        free = np.zeros((len(self.unknown), len(used)))
        free[used, np.arange(len(used))] = np.sqrt(self.unknown[used])
        # All errors are D first − diag(kept) D then, times independent standard normal numbers.
        first = np.hstack([share[:, None] * roots, free])
        then = np.hstack([roots, np.zeros_like(free)])
        ones, once, twice = (design.gram(self.kept**power) for power in (0, 1, 2))
        cross = first.T @ once @ then
        gram = first.T @ ones @ first - cross - cross.T + then.T @ twice @ then
        _, turns = np.linalg.eigh(gram)
        found = [
            design.dot(first @ turn) - self.kept * design.dot(then @ turn)
            for turn in turns[:, ::-1][:, :_N_ERRORS].T
        ]
        return np.pad(np.stack(found), ((0, _N_ERRORS - len(found)), (0, 0)))


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
