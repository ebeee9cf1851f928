"""Summary numbers of networks, from which a probe may predict motion where edges do not show it."""

from collections.abc import Callable, Iterable

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from stillome.arrays import Floats
from stillome.cohort.edges import edges_to_matrices, matrices_to_edges
from stillome.evaluate.graph_measures import graph_measures
from stillome.evaluate.leakage.cohort_facts import CohortFacts

_STRONGEST_SHARE = 0.01
_EDGE_THIRDS = ("weak", "middle", "strong")
# Logarithms, NaN of an empty network until those of all others are known.
_LOGS = ["smallest", "largest", "relative_total"]

Parts = Callable[[], Iterable[Floats]]  # the edges (m, E) of all subjects, a few at a time


def summary_features(connectomes: ArrayLike) -> pd.DataFrame:
    """Summarise every subject's network in about forty numbers.

    They describe what a probe of single edges hardly sees: the support of the values (a floor, a
    lattice, fractional parts), and what all edges of a subject have in common.

    Parameters
    ----------
    connectomes : array-like of shape (n, V, V) or (n, V(V-1)/2)
        Counts or weights.

    Returns
    -------
    pandas.DataFrame with one row per subject
        ``equal_k``: share of edges whose value is k, for k = 1 to 10 and, where all values are
        whole numbers, for the ten smallest positive values of the whole cohort; ``distinct``:
        number of distinct positive values; ``fractional``, ``mean_fraction``: share of edges with
        a fractional part, and its mean; ``smallest``, ``largest``, ``total``: on the log scale;
        ``floor_of_largest``, ``floor_of_total``: log of the smallest positive value, relative to
        the largest and to the total; ``top_share``: share of the total in the strongest 1 % of
        edges; for the weak, middle and strong third of the edges (by their mean over subjects)
        ``present_*``, the share of edges present, ``size_*``, the mean log of the positive values,
        and ``deviation_*``, the root mean square of log(1 + value), standardised by edge;
        ``density``, ``strength``, ``clustering``, ``efficiency``, ``modularity``: see
        `graph_measures`.

    Examples
    --------
    >>> numbers = summary_features([[0, 3, 5], [1, 3, 4]])
    >>> numbers[["equal_1", "equal_3", "distinct", "density"]].round(2)
       equal_1  equal_3  distinct  density
    0     0.00     0.33       2.0     0.67
    1     0.33     0.33       3.0     1.00
    """
    edges = matrices_to_edges(connectomes).astype(np.float64)
    return summaries_in_parts(lambda: [edges])


def summaries_in_parts(parts: Parts) -> pd.DataFrame:
    """Summarise subjects a few at a time, as `summary_features` does all of them.

    Parameters
    ----------
    parts : callable
        Gives the edges (m, E) of consecutive subjects as 64-bit floats; it is called three times.

    Examples
    --------
    >>> edges = np.array([[0.0, 3.0, 5.0], [1.0, 3.0, 4.0], [2.0, 2.0, 6.0]])
    >>> in_parts = summaries_in_parts(lambda: [edges[:2], edges[2:]])
    >>> bool(np.allclose(in_parts, summary_features(edges)))
    True
    """
    cohort = CohortFacts.of(parts)
    numbers = pd.concat([_of_part(part, cohort) for part in parts()], ignore_index=True)
    for name in _LOGS:
        # An empty network gets the smallest of the others.
        numbers[name] = numbers[name].fillna(numbers[name].min()).fillna(0.0)
    numbers["total"] = numbers["largest"] + numbers.pop("relative_total")
    numbers["floor_of_largest"] = numbers["smallest"] - numbers["largest"]
    numbers["floor_of_total"] = numbers["smallest"] - numbers["total"]
    last = ["total", "floor_of_largest", "floor_of_total"]
    order = [name for name in numbers if name not in last]
    after = order.index("largest") + 1
    return numbers[[*order[:after], *last, *order[after:]]]


def _of_part(edges: Floats, cohort: CohortFacts) -> pd.DataFrame:
    table = _support(edges, cohort) | _sizes(edges) | _by_third(edges, cohort)
    # Relative to the cohort's largest value, so that no sum overflows.
    return pd.DataFrame(table).join(graph_measures(edges / (cohort.largest or 1.0)))


def region_features(connectomes: ArrayLike) -> Floats:
    """Return log(1 + strength) and degree of every region.

    Parameters
    ----------
    connectomes : array-like of shape (n, V, V) or (n, V(V-1)/2)

    Returns
    -------
    array of shape (n, 2V)

    Examples
    --------
    >>> region_features([[0, 3, 5]]).round(2).tolist()
    [[1.39, 1.79, 2.2, 1.0, 1.0, 2.0]]
    """
    edges = matrices_to_edges(connectomes)
    with np.errstate(over="ignore"):
        strength = edges_to_matrices(edges.astype(np.float64)).sum(axis=2)
    degree = edges_to_matrices((edges > 0).astype(np.float64)).sum(axis=2)
    largest = np.finfo(np.float64).max
    return np.hstack([np.log1p(np.minimum(strength, largest)), degree])


def _support(edges: Floats, cohort: CohortFacts) -> dict[str, Floats]:
    """Describe which values there are."""
    fraction = edges - np.floor(edges)
    in_order = np.sort(edges, axis=1)
    distinct = (np.diff(in_order, axis=1, prepend=0.0) > 0).sum(axis=1)
    return {
        **{f"equal_{value:g}": (edges == value).mean(axis=1) for value in cohort.counted},
        "distinct": distinct.astype(np.float64),
        "fractional": (fraction > 0).mean(axis=1),
        "mean_fraction": fraction.mean(axis=1),
    }


def _sizes(edges: Floats) -> dict[str, Floats]:
    """Describe how large the values are."""
    smallest = edges.min(axis=1, where=edges > 0, initial=np.inf)
    largest = edges.max(axis=1)
    relative = edges / np.where(largest > 0, largest, 1)[:, None]  # no sum overflows
    total = relative.sum(axis=1)
    n_strongest = max(1, round(_STRONGEST_SHARE * edges.shape[1]))
    strongest = np.partition(relative, -n_strongest, axis=1)[:, -n_strongest:].sum(axis=1)
    known = largest > 0
    logs = [
        np.log(values, where=known, out=np.full(len(edges), np.nan))
        for values in (smallest, largest, total)
    ]
    return dict(zip(_LOGS, logs, strict=True)) | {
        "top_share": strongest / np.where(known, total, 1)
    }


def _by_third(edges: Floats, cohort: CohortFacts) -> dict[str, Floats]:
    """Describe weak, middle and strong edges apart: motion need not affect them alike."""
    spread = cohort.log_spreads
    squares = ((np.log1p(edges) - cohort.log_means) / np.where(spread > 0, spread, 1)) ** 2
    present = edges > 0
    sizes = np.log(edges, where=present, out=np.zeros_like(edges))
    order = np.argsort(cohort.log_means, kind="stable")
    table = {}
    for name, third in zip(_EDGE_THIRDS, np.array_split(order, 3), strict=True):
        n_present = present[:, third].sum(axis=1)
        size = sizes[:, third].sum(axis=1) / np.maximum(n_present, 1)
        table[f"present_{name}"] = n_present / max(len(third), 1)
        table[f"size_{name}"] = size
        table[f"deviation_{name}"] = np.sqrt(squares[:, third].sum(axis=1) / max(len(third), 1))
    return table
