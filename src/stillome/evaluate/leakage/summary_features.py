"""Summary numbers of networks, from which a probe may predict motion where edges do not show it."""

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from stillome.arrays import Floats
from stillome.cohort.edges import edges_to_matrices, matrices_to_edges
from stillome.evaluate.graph_measures import graph_measures

# How many of the smallest values are counted, and which whole numbers in any case.
_N_SMALLEST = 10
_SMALL_NUMBERS = range(1, 11)
_STRONGEST_SHARE = 0.01
_EDGE_THIRDS = ("weak", "middle", "strong")


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
    table = _support(edges) | _sizes(edges) | _by_third(edges)
    numbers = pd.DataFrame(table)
    # Relative to the cohort's largest value, so that no sum overflows.
    return numbers.join(graph_measures(edges / (edges.max(initial=0.0) or 1.0)))


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


def _support(edges: Floats) -> dict[str, Floats]:
    """Describe which values there are."""
    fraction = edges - np.floor(edges)
    counted = set(map(float, _SMALL_NUMBERS))
    if not fraction.any():
        counted |= set(_smallest_values(edges))
    in_order = np.sort(edges, axis=1)
    distinct = (np.diff(in_order, axis=1, prepend=0.0) > 0).sum(axis=1)
    return {
        **{f"equal_{value:g}": (edges == value).mean(axis=1) for value in sorted(counted)},
        "distinct": distinct.astype(np.float64),
        "fractional": (fraction > 0).mean(axis=1),
        "mean_fraction": fraction.mean(axis=1),
    }


def _smallest_values(edges: Floats) -> list[float]:
    found: list[float] = []
    last = 0.0
    while len(found) < _N_SMALLEST:
        last = float(edges.min(where=edges > last, initial=np.inf))
        if not np.isfinite(last):
            break
        found.append(last)
    return found


def _sizes(edges: Floats) -> dict[str, Floats]:
    """Describe how large the values are."""
    smallest = edges.min(axis=1, where=edges > 0, initial=np.inf)
    largest = edges.max(axis=1)
    relative = edges / np.where(largest > 0, largest, 1)[:, None]  # no sum overflows
    total = relative.sum(axis=1)
    n_strongest = max(1, round(_STRONGEST_SHARE * edges.shape[1]))
    strongest = np.partition(relative, -n_strongest, axis=1)[:, -n_strongest:].sum(axis=1)
    empty = largest == 0
    log_total = _log(largest, empty) + _log(total, empty)
    log_smallest = _log(smallest, empty)
    return {
        "smallest": log_smallest,
        "largest": _log(largest, empty),
        "total": log_total,
        "floor_of_largest": log_smallest - _log(largest, empty),
        "floor_of_total": log_smallest - log_total,
        "top_share": strongest / np.where(empty, 1, total),
    }


def _log(values: Floats, empty: NDArray[np.bool_]) -> Floats:
    """Take logarithms; an empty network gets the smallest of the others."""
    known = np.log(values[~empty])
    logs = np.full(len(values), known.min(initial=np.inf) if len(known) else 0.0)
    logs[~empty] = known
    return logs


def _by_third(edges: Floats) -> dict[str, Floats]:
    """Describe weak, middle and strong edges apart: motion need not affect them alike."""
    logs = np.log1p(edges)
    spread = logs.std(axis=0)
    squares = ((logs - logs.mean(axis=0)) / np.where(spread > 0, spread, 1)) ** 2
    present = edges > 0
    sizes = np.log(edges, where=present, out=np.zeros_like(edges))
    order = np.argsort(logs.mean(axis=0), kind="stable")
    table = {}
    for name, third in zip(_EDGE_THIRDS, np.array_split(order, 3), strict=True):
        n_present = present[:, third].sum(axis=1)
        size = sizes[:, third].sum(axis=1) / np.maximum(n_present, 1)
        table[f"present_{name}"] = n_present / max(len(third), 1)
        table[f"size_{name}"] = size
        table[f"deviation_{name}"] = np.sqrt(squares[:, third].sum(axis=1) / max(len(third), 1))
    return table
