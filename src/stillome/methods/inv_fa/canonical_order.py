"""Orders of subjects, confounds and edges that depend on the data, not on their positions.

A fit divides subjects into halves, takes subsamples and draws random numbers. If these went by
position, the result would change when rows, confound columns or regions are permuted. So a fit
sorts its subjects first, and gives every edge a rank, by what they hold:

- subjects by a hash of the set of their values, which permuting regions does not change;
- confounds by how much of the total fibre count they explain, the strongest first;
- edges by a hash of their values over the sorted subjects.

Ties are broken by the data themselves. What is still tied is identical, and its order harmless.
"""

import hashlib
from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stillome.arrays import Floats
from stillome.cohort.subject_rows import AnyRows, SubjectRows
from stillome.counts.edge_tables import AnyTable, EdgeTable
from stillome.counts.workers import in_order
from stillome.methods.weight_units import Unitless

_DIGITS = 9  # of an explained share; rounding errors do not decide an order


def subject_order(edges: AnyRows, confounds: Floats) -> NDArray[np.intp]:
    """Return the order of subjects, shape (n,).

    Parameters
    ----------
    edges : array or SubjectRows of shape (n, E)
    confounds : array of shape (n, C)

    Examples
    --------
    >>> edges, motion = np.array([[3, 1], [0, 2], [5, 5]]), np.zeros((3, 1))
    >>> first = edges[subject_order(edges, motion)]
    >>> second = edges[[2, 0, 1]][subject_order(edges[[2, 0, 1]], motion)]
    >>> bool((first == second).all())
    True
    """
    source = SubjectRows.of(edges)
    known = Unitless.of(part for _, part in source.parts())

    def of_sets(part: NDArray[Any]) -> list[bytes]:
        # Sorted as they are given: whole numbers are sorted several times as fast as floats.
        return [_hash(row) for row in known(np.sort(part, axis=1))]

    def key(subject: int) -> tuple[Any, ...]:
        own = hashes[subject]
        if n_alike[own] == 1:
            return (own,)
        row = known(source[subject : subject + 1])[0]
        return own, _hash(row), tuple(np.sort(confounds[subject]))

    found = in_order(of_sets, (part for _, part in source.parts()))
    hashes = [one for some in found for one in some]
    n_alike = Counter(hashes)
    keys = [key(subject) for subject in range(len(hashes))]
    return np.array(sorted(range(len(keys)), key=keys.__getitem__), dtype=np.intp)


def confound_order(edges: AnyTable, confounds: Floats) -> NDArray[np.intp]:
    """Return the order of confounds, shape (C,); subjects must be in theirs.

    Parameters
    ----------
    edges : array or table of shape (n, E)
    confounds : array of shape (n, C)
        None of them constant.
    """
    sums = EdgeTable.of(edges).total(lambda block: block.sum(axis=1, dtype=np.float64))
    total = np.log(np.maximum(sums, 1e-300))
    total -= total.mean()
    standard = (confounds - confounds.mean(axis=0)) / confounds.std(axis=0)
    explained = (standard.T @ total) ** 2 / max(float(total @ total) * len(total), 1e-300)
    keys = [
        (-round(float(share), _DIGITS), *column)
        for share, column in zip(explained, confounds.T, strict=True)
    ]
    return np.array(sorted(range(len(keys)), key=keys.__getitem__), dtype=np.intp)


def edge_ranks(edges: AnyTable) -> NDArray[np.intp]:
    """Return the rank of every edge, shape (E,); subjects must be in their order."""
    table = EdgeTable.of(edges)
    known = Unitless.joined(table.answers(lambda block: Unitless.of([block])))

    def of_columns(block: NDArray[Any]) -> list[bytes]:
        # Column by column in memory, or each would be copied by itself.
        return [_hash(column) for column in np.ascontiguousarray(known(block).T)]

    blocks = table.answers(of_columns)
    hashes = [one for block in blocks for one in block]
    order = sorted(range(len(hashes)), key=hashes.__getitem__)
    ranks = np.empty(len(order), np.intp)
    ranks[order] = np.arange(len(order))
    return ranks


def _hash(values: NDArray[Any]) -> bytes:
    together: Any = np.ascontiguousarray(values, "<f8")
    return hashlib.blake2b(together, digest_size=16).digest()
