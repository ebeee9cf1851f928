"""Coupling: how the scan at the reference hangs together with the scan that was made.

The law at the reference says how counts are distributed there, and not which count goes with which.
Two answers are offered. With the *same quantile*, a count has the same place in both laws: motion
changed the scan and added no noise. With *thinning*, streamlines were lost one by one, so that the
same scan could have lost others: the quantiles are correlated, as counts before and after binomial
thinning are.
"""

from typing import Literal, get_args

import numpy as np

from stillome.arrays import Floats
from stillome.exceptions import InputError
from stillome.methods.stages.replay.count_law import CountLaw

Coupling = Literal["thinning", "quantile"]
COUPLINGS = get_args(Coupling)

_ROUNDING_VARIANCE = 1 / 6  # that a random position within a step adds to a mapped count


def check_coupling(value: str) -> None:
    """Check that this is the name of a coupling."""
    if value not in COUPLINGS:
        raise InputError(f"coupling={value!r}; expected 'thinning' or 'quantile'.")


def quantile_correlation(here: CountLaw, there: CountLaw, coupling: str) -> Floats:
    """Return the correlation (n, E) of a subject's normal scores in the two laws.

    Thinning keeps a share p of a rate λ. Counts before and after then have the squared correlation
    (p + φ p λ) / (1 + φ p λ): 1 without loss, and near 1 where the dispersion φ exceeds the Poisson
    noise. The part of this noise that the position within a step adds already is taken off.
    """
    if coupling == "quantile":
        return np.ones_like(here.log_rates)
    kept = np.exp(-np.abs(there.log_rates - here.log_rates))
    fewer = np.exp(np.minimum(here.log_rates, there.log_rates))
    excess = fewer * there.dispersions
    lost = (1 - kept) / (1 + excess)
    rates = np.exp(there.log_rates)
    variances = rates * (1 + rates * there.dispersions)
    return np.sqrt(1 - np.maximum(lost - np.minimum(lost, _ROUNDING_VARIANCE / variances), 0))
