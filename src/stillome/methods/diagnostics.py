"""KL and active units of a latent: a collapsed posterior looks invariant, and must be reported."""

import warnings
from typing import NamedTuple

import numpy as np

from stillome.arrays import Floats
from stillome.exceptions import StillomeWarning

# KL is an upper bound on the information of z about a subject: one nat separates e ≈ 3 subjects.
COLLAPSE_NATS = 1.0
ACTIVE_VARIANCE = 0.01  # of a posterior mean between subjects (Burda et al.)


class LatentDiagnostics(NamedTuple):
    """The use of the latent by the training subjects.

    Attributes
    ----------
    kl_per_dimension : array of shape (K,)
        Mean KL(q(z_k | A) ‖ N(0, 1)) in nats.
    active_units : int
        Dimensions whose posterior mean varies between subjects by more than 0.01.
    """

    kl_per_dimension: Floats
    active_units: int

    @property
    def kl(self) -> float:
        """KL to the prior in nats, summed over dimensions."""
        return float(self.kl_per_dimension.sum())

    @property
    def collapsed(self) -> bool:
        """Whether z has next to no information about the subject."""
        return self.active_units == 0 or self.kl < COLLAPSE_NATS


def latent_diagnostics(mean: Floats, log_variance: Floats) -> LatentDiagnostics:
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
    """Warn if the posterior has collapsed to the prior, with advice."""
    if diagnostics.collapsed:
        warnings.warn(
            f"The latent has collapsed: {diagnostics.kl:.2g} nats and {diagnostics.active_units} "
            f"active units of {len(diagnostics.kl_per_dimension)}. It looks free of motion because "
            f"it has no information about the person. {advice} Do not interpret invariance figures "
            "of this fit.",
            StillomeWarning,
            stacklevel=3,
        )
