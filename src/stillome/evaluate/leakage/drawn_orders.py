"""Permutations of many subjects, drawn a few at a time and never kept."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from stillome.cohort.exchange import Shuffler

_AT_A_TIME = 2**22  # numbers of subjects


class DrawnOrders:
    """The order of the subjects as it is, and B permutations of it; the same in every pass.

    Parameters
    ----------
    groups : array of shape (n, 1) or (n, 3)
        From `group_levels`.
    n_permutations : int
        B.
    seed : int

    Examples
    --------
    >>> orders = DrawnOrders(np.arange(4)[:, None], 2, seed=0)
    >>> [batch.shape for batch in orders]
    [(1, 4), (2, 4)]
    """

    def __init__(self, groups: NDArray[np.intp], n_permutations: int, seed: int) -> None:
        self.n_subjects, self.n_permutations = len(groups), n_permutations
        self._seed = seed
        self._shuffler = Shuffler(groups)
        if n_permutations:
            self._shuffler.check_any()

    def __iter__(self) -> Iterator[NDArray[np.intp]]:
        """Give arrays (b, n): the order as it is by itself, then the permutations."""
        yield np.arange(self.n_subjects)[None]
        rng = np.random.default_rng(self._seed)
        step = max(1, _AT_A_TIME // self.n_subjects)
        for start in range(0, self.n_permutations, step):
            yield self._shuffler.draw_many(min(step, self.n_permutations - start), rng)
