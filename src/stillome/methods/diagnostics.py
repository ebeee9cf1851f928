"""What a trained latent is used for, said in numbers, because an empty one looks invariant."""

import warnings
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stillome.exceptions import StillomeWarning

# KL bounds the nats of information z has about a subject: with one nat it tells e ≈ 3 apart.
COLLAPSE_NATS = 1.0
ACTIVE_VARIANCE = 0.01  # of a posterior mean between subjects (Burda et al.)


class LatentDiagnostics(NamedTuple):
    """How much of the latent is in use, over the training subjects.

    Attributes
    ----------
    kl_per_dimension : array of shape (K,)
        Mean KL(q(z_k | A) ‖ N(0, 1)) in nats.
    active_units : int
        Dimensions whose posterior mean varies between subjects by more than 0.01.
    """

    kl_per_dimension: NDArray[np.float64]
    active_units: int

    @property
    def kl(self) -> float:
        """KL to the prior in nats, summed over dimensions."""
        return float(self.kl_per_dimension.sum())

    @property
    def collapsed(self) -> bool:
        """Whether z says next to nothing about who a subject is."""
        return self.active_units == 0 or self.kl < COLLAPSE_NATS


def latent_diagnostics(
    mean: NDArray[np.float64], log_variance: NDArray[np.float64]
) -> LatentDiagnostics:
    """Measure posteriors (n, K) against the prior.

    Examples
    --------
    >>> latent_diagnostics(np.zeros((9, 2)), np.zeros((9, 2))).collapsed
    True
    """
    kl = 0.5 * (mean**2 + np.exp(log_variance) - 1 - log_variance).mean(axis=0)
    active = int((mean.var(axis=0) > ACTIVE_VARIANCE).sum())
    return LatentDiagnostics(kl, active)


def warn_if_collapsed(diagnostics: LatentDiagnostics, advice: str) -> None:
    """Say that the latent is empty, if it is, and what to do about it."""
    if diagnostics.collapsed:
        warnings.warn(
            f"The latent has collapsed: {diagnostics.kl:.2g} nats and {diagnostics.active_units} "
            f"active units of {len(diagnostics.kl_per_dimension)}. It looks free of motion because "
            f"it says nothing about the person. {advice} Read no invariance figure of this fit.",
            StillomeWarning,
            stacklevel=3,
        )
