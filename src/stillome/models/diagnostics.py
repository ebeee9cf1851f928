"""What a trained latent is used for, said in numbers, because an empty one looks invariant."""

import warnings
from typing import NamedTuple

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from stillome.exceptions import StillomeWarning
from stillome.nn.equations import kl_to_prior
from stillome.nn.train import EpochRecord, active_units

# KL bounds the nats of information z has about a subject: with one nat it tells e ≈ 3 apart.
COLLAPSE_NATS = 1.0


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
    means = torch.from_numpy(mean)
    kl = kl_to_prior(means, torch.from_numpy(log_variance)).mean(0)
    return LatentDiagnostics(kl.numpy(), active_units(means))


def warn_if_collapsed(diagnostics: LatentDiagnostics) -> None:
    """Say that the latent is empty, if it is."""
    if diagnostics.collapsed:
        warnings.warn(
            f"The latent has collapsed: {diagnostics.kl:.2g} nats and {diagnostics.active_units} "
            f"active units of {len(diagnostics.kl_per_dimension)}. It looks free of motion because "
            "it says nothing about the person. Train longer or with a higher learning_rate, and "
            "read no invariance figure of this fit.",
            StillomeWarning,
            stacklevel=3,
        )


def history_table(records: list[EpochRecord]) -> pd.DataFrame:
    """Return one row per epoch: ``epoch``, ``training_nll``, ``validation_nll`` and so on."""
    rows = []
    for record in records:
        row: dict[str, float] = {"epoch": record.epoch}
        row |= {f"training_{name}": value for name, value in record.training._asdict().items()}
        if record.validation is not None:
            checked = record.validation._asdict()
            row |= {f"validation_{name}": value for name, value in checked.items()}
        rows.append(row)
    return pd.DataFrame(rows)
