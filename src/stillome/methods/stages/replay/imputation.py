"""Counts in place of zeros, as if nothing had been left out.

A zero means "below the floor", or an edge that was not tracked at all. Taken for a count of 0, it
lowers the rate, raises the dispersion and mixes the effect of motion on presence with that on
size. Rates are therefore fitted to counts drawn from the law in place of zeros (stochastic EM;
Celeux and Diebolt 1985): below the floor, or anywhere for zeros in excess of those.
"""

import numpy as np
from numpy.typing import NDArray

from stillome.arrays import Floats
from stillome.counts.negative_binomial import nb_quantile
from stillome.methods.stages.replay.count_law import CountLaw

_LEVELS = (1e-12, 1 - 1e-12)


def without_zeros(
    counts: NDArray[np.float32], law: CountLaw, level: Floats, lot: Floats
) -> NDArray[np.float32]:
    """Return counts (n, E) with drawn ones in place of zeros.

    Parameters
    ----------
    counts : array of shape (n, E)
    law : CountLaw
        Of these counts.
    level, lot : arrays of shape (n, E)
        Uniform numbers: the quantile of a drawn count, and which zeros are in excess.
    """
    empty = counts == 0
    share, below = law.empty[empty], law.below[empty]
    # A share (share − below) / (1 − below) of edges is empty whatever its count would have been.
    in_excess = lot[empty] * share * (1 - below) < share - below
    quantile = np.clip(np.where(in_excess, level[empty], level[empty] * below), *_LEVELS)
    drawn = nb_quantile(quantile, np.exp(law.log_rates[empty]), 1 / law.dispersions[empty])
    answer = counts.copy()
    answer[empty] = drawn
    return answer
