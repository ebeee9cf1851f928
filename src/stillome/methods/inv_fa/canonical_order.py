"""Orders of subjects, confounds and edges that depend on the data, not on their positions.

A fit divides subjects into halves, takes subsamples and draws random numbers. If these went by
position, the result would change when rows, confound columns or regions are permuted. So a fit
sorts its subjects first, and gives every edge a rank, by what they hold:

- subjects by a hash of the set of their values, which permuting regions does not change;
- confounds by how much of the total fibre count they explain, the strongest first;
- edges by a hash of their values over the sorted subjects.

Ties are broken by the data themselves. What is still tied is identical, and its order harmless.
"""

from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stillome.arrays import Floats
from stillome.cohort.subject_rows import AnyRows, SubjectRows
from stillome.counts.edge_tables import AnyTable, EdgeTable
from stillome.counts.value_hashes import hashes_of_columns, hashes_of_sets
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

    def key(subject: int) -> tuple[Any, ...]:
        own = hashes[subject]
        if n_alike[own] == 1:
            return (own,)
        row = known(source[subject : subject + 1])[0]
        return own, int(hashes_of_columns(row[:, None])[0]), tuple(np.sort(confounds[subject]))

    parts = (part for _, part in source.parts())
    found = in_order(lambda part: hashes_of_sets(known(part)), parts)
    hashes = np.concatenate(list(found)).tolist()
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
    order = np.argsort(table.each(lambda block: hashes_of_columns(known(block))), kind="stable")
    ranks = np.empty(len(order), np.intp)
    ranks[order] = np.arange(len(order))
    return ranks
