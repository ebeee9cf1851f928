"""Subjects who have the same connectome, edge for edge: a person, or a file, is there twice."""

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

_FEWEST_EDGES = 10  # below, two people may have the same few counts by chance


def identical_subjects(connectomes: Iterable[NDArray[Any]]) -> list[tuple[int, ...]]:
    """Return the positions of subjects with the same connectome, one tuple for each of them.

    Parameters
    ----------
    connectomes : array of shape (n, V, V) or (n, E), or an iterable of its rows
        Those with fewer than 10 edges are not compared.

    Examples
    --------
    >>> counts = np.arange(1, 16) * np.array([[1], [2], [1]])
    >>> identical_subjects(counts)
    [(0, 2)]
    """
    found: dict[bytes, list[int]] = {}
    for position, one in enumerate(connectomes):
        values: Any = np.ascontiguousarray(one)
        n_edges = np.count_nonzero(values) / (2 if values.ndim == 2 else 1)
        if n_edges >= _FEWEST_EDGES:
            found.setdefault(hashlib.sha256(values).digest(), []).append(position)
    return [tuple(same) for same in found.values() if len(same) > 1]


def twins_divided(
    twins: Sequence[tuple[int, ...]], groups: Sequence[Any] | None = None
) -> list[tuple[int, ...]]:
    """Return those of identical subjects who are not in one group and may be divided.

    Examples
    --------
    >>> twins_divided([(0, 2), (1, 3)], ["a", "b", "a", "c"])
    [(1, 3)]
    """
    if groups is None:
        return list(twins)
    return [same for same in twins if len({groups[i] for i in same}) > 1]
