"""Permutations of scans under which the null distribution stays as it is."""

from itertools import groupby
from typing import Self

import numpy as np
from numpy.typing import NDArray

from stillome.cohort.groups import Levels
from stillome.exceptions import InputError

Stack = NDArray[np.intp]  # (blocks, rows of a block): rows of blocks that may be exchanged


class Shuffler:
    """Draw permutations of subjects that keep groups (families, sites, people) together.

    Groups alike are exchanged as a whole. Without people, groups of one size are alike, and the
    members of a group are permuted too. With people, groups are alike that have as many people with
    as many scans; people of a group with equally many scans are exchanged as well, and the visits
    of a person stay in their order.

    Parameters
    ----------
    groups : array of shape (n,), (n, 1) or (n, 3)
        From `group_levels`.

    Examples
    --------
    >>> from stillome.cohort.groups import group_levels
    >>> scans = group_levels([["Ann", "Ann"], ["Ann", "Ann"], ["Bob", "Bob"], ["Bob", "Bob"]], 4)
    >>> orders = Shuffler(scans).draw_many(9, np.random.default_rng(0))
    >>> sorted({tuple(order) for order in orders.tolist()})
    [(0, 1, 2, 3), (2, 3, 0, 1)]
    """

    def __init__(self, groups: NDArray[np.intp]) -> None:
        levels = groups.reshape(len(groups), -1)
        self._n = len(levels)
        self._people = levels.shape[1] == 3
        if self._people:
            self._stacks = _by_structure(levels)
            return
        _, sizes = np.unique(levels[:, 0], return_counts=True)
        rows = np.argsort(levels[:, 0], kind="stable")  # those of a group beside each other
        size_of = np.repeat(sizes, sizes)
        self._by_size = [rows[size_of == size].reshape(-1, size) for size in np.unique(sizes)]

    def check_any(self) -> Self:
        """Refuse people of whom no two can be exchanged; else return this shuffler."""
        if self._people and all(
            len(alike) == 1 and all(len(people) == 1 for people in alike[0])
            for alike in self._stacks
        ):
            raise InputError(
                "groups: no two people have equally many scans, so that nothing can be permuted. "
                "Leave out scans until some people have as many as others."
            )
        return self

    def draw(self, rng: np.random.Generator) -> NDArray[np.intp]:
        """Return one permutation of 0 … n-1."""
        return self.draw_many(1, rng)[0]

    def draw_many(self, n_draws: int, rng: np.random.Generator) -> NDArray[np.intp]:
        """Return permutations of 0 … n-1, of shape (n_draws, n)."""
        if self._people:
            return np.stack([self._draw_people(rng) for _ in range(n_draws)]).reshape(-1, self._n)
        orders = np.empty((n_draws, self._n), dtype=np.intp)
        for members in self._by_size:
            places = np.tile(np.arange(len(members)), (n_draws, 1))
            shuffled = members[rng.permuted(places, axis=1)]  # (n_draws, groups, size)
            if members.shape[1] > 1:
                shuffled = rng.permuted(shuffled, axis=2)
            orders[:, members] = shuffled
        return orders

    def _draw_people(self, rng: np.random.Generator) -> NDArray[np.intp]:
        order = np.arange(self._n)
        for alike in self._stacks:
            given = [[rng.permutation(people) for people in group] for group in alike]
            for group, other in zip(alike, rng.permutation(len(alike)), strict=True):
                for rows, theirs in zip(group, given[other], strict=True):
                    order[rows] = theirs
        return order


def _by_structure(levels: Levels) -> list[list[list[Stack]]]:
    """Return lists of groups that are alike; a group is its people, stacked by number of scans."""
    groups: dict[tuple[tuple[int, int], ...], list[list[Stack]]] = {}
    for group in np.unique(levels[:, 0]):
        inside = np.flatnonzero(levels[:, 0] == group)
        people = [inside[levels[inside, 1] == one] for one in np.unique(levels[inside, 1])]
        visits = sorted((rows[np.argsort(levels[rows, 2])] for rows in people), key=len)
        stacks = [np.stack(list(same)) for _, same in groupby(visits, key=len)]
        groups.setdefault(tuple(stack.shape for stack in stacks), []).append(stacks)
    return list(groups.values())
