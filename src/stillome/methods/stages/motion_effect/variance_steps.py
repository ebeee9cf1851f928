"""Steps of variances towards the maximum of their restricted likelihood.

Near the maximum these are Newton steps of the logarithms. A variance that is far too large would
be divided by at most e with each of them, and one that vanishes as well; each variance for itself
then goes where two other approximations of its likelihood have their maximum:

- Fisher scoring of the variance itself, with the expected information. It is exact where the data
  determine coefficients hardly at all, or nearly exactly.
- The fixed point of MacKay (1992): the sum of squares over the number of coefficients that the
  data determine. It is exact where the variance is far too large.
"""

from typing import NamedTuple

import numpy as np

from stillome.arrays import Floats

_FAR = 0.7  # in the logarithm: further than this, a Newton step is too short
_LARGEST_DECREASE, _LARGEST_INCREASE = 5.0, 6.0  # of a logarithm
_LARGEST_NEWTON_STEP = 2.0
_LEAST_DETERMINED = 1e-3  # coefficients, for a fixed point
_TINY = 1e-30


class Derivatives(NamedTuple):
    """Of the restricted likelihood, in the logarithms of the variances.

    Attributes
    ----------
    found, expected : arrays of shape (G,)
        Sums of squares relative to the variances, and what they would be on average if the
        variances were right: half their difference is the score.
    information : array of shape (G, G)
        Average information.
    alone : array of shape (G,)
        Expected information of each variance if the others are known.
    """

    found: Floats
    expected: Floats
    information: Floats
    alone: Floats


def next_step(
    derivatives: Derivatives, penalised: Floats, lowest: Floats, before: Floats
) -> tuple[Floats, float]:
    """Return the step of the logarithms (G,), and the size of a Newton step in standard errors.

    Parameters
    ----------
    derivatives : Derivatives
    penalised : array of shape (G,)
        1 for variances with the penalty that keeps them from 0, else 0.
    lowest : array of shape (G,)
        The smallest step, not above 0: to the floor.
    before : array of shape (G,)
        The step before; infinite without.
    """
    score = (derivatives.found - derivatives.expected) / 2
    # Second derivatives in a logarithm also contain the first derivative.
    information = derivatives.information + np.diag(np.maximum(-score, 0))
    score = score + penalised / 2
    # A variance at its floor stays there while the likelihood falls with it.
    free = (lowest < 0) | (score > 0)
    newton = np.zeros_like(score)
    newton[free] = _newton(score[free], information[np.ix_(free, free)])
    newton = np.maximum(newton, lowest)
    # Not shortened: where a variance is far too small, so is its information.
    size = float(np.sqrt(max(newton @ information @ newton, 0.0)))
    newton = np.clip(newton, -_LARGEST_NEWTON_STEP, _LARGEST_NEWTON_STEP)
    jump = _jump(derivatives, penalised)
    step = np.where(free & (np.abs(jump) > _FAR), jump, newton)
    # A step back is half as long at most, so that no variance goes back and forth for ever.
    most = np.where(step * np.sign(before) < 0, np.abs(before) / 2, np.inf)
    return np.maximum(np.clip(step, -most, most), lowest), size


def _jump(derivatives: Derivatives, penalised: Floats) -> Floats:
    """Return how far each logarithm is from its maximum, by the approximations above."""
    found, expected, _, alone = derivatives
    alone = np.maximum(alone, _TINY)
    # The ratio u to this variance at which score + alone (1 - u) + penalised / (2 u) is 0.
    linear = (found - expected) / 2 + alone
    root = np.sqrt(linear**2 + 2 * penalised * alone)
    smaller = penalised / np.maximum(root + np.abs(linear), _TINY)  # without a difference
    ratio = np.where(linear > 0, (linear + root) / (2 * alone), smaller)
    jump = np.log(np.maximum(ratio, np.exp(-_LARGEST_DECREASE)))
    determined = expected - penalised
    too_large = (found < determined) & (determined > _LEAST_DETERMINED)
    fixed = np.log(np.maximum(found, _TINY) / np.where(too_large, determined, 1))
    jump = np.where(too_large, np.minimum(jump, fixed), jump)
    return np.clip(jump, -_LARGEST_DECREASE, _LARGEST_INCREASE)


def _newton(score: Floats, information: Floats) -> Floats:
    if not len(score):
        return score
    ridge = 1e-9 * (np.trace(information) + 1e-9) * np.eye(len(score))
    return np.linalg.solve(information + ridge, score)
