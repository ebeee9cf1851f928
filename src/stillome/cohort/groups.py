"""Groups of scans that stay together: families, and the scans of one person.

A group is never on both sides of a split into training and test subjects, or into two halves. In a
permutation test, whole groups are exchanged, and so are people within a family. The visits of a
person keep their order, since age and motion both change from visit to visit (Winkler et al. 2015,
multi-level exchangeability blocks).
"""

from collections import Counter

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from stillome.cohort.validation import check_count
from stillome.exceptions import InputError

Levels = NDArray[np.intp]  # (n, 1): groups; (n, 3): groups, people, and the visits of a person


def group_levels(groups: ArrayLike | None, n_subjects: int) -> Levels:
    """Return the numbers of groups and people of every scan.

    Parameters
    ----------
    groups : array-like of shape (n,), (n, 2) or (n, 3), or None
        Labels of groups whose members may be exchanged (families). With two columns, labels of
        groups and of people, where people have several scans, in the order of their visits, or
        with the number of the visit as third column. The first two are the same where people
        are not related. None: every scan is a group.
    n_subjects : int

    Returns
    -------
    array of shape (n, 1) or (n, 3)
        Number of the group; with people, also number of the person and of the visit.

    Raises
    ------
    InputError
        If a label is missing, or a person is in two groups.

    Examples
    --------
    >>> group_levels(["Smith", "Jones", "Smith"], 3).tolist()
    [[1], [0], [1]]
    >>> group_levels([["Smith", "Ann"], ["Smith", "Ann"], ["Smith", "Bob"]], 3).tolist()
    [[0, 0, 0], [0, 0, 1], [0, 1, 0]]
    """
    if groups is None:
        return np.arange(n_subjects)[:, None]
    values = np.asarray(groups)
    if values.shape[:1] != (n_subjects,) or values.shape[1:] not in ((), (1,), (2,), (3,)):
        raise InputError(
            f"groups: shape {values.shape}; expected one label for each of {n_subjects} subjects, "
            "or two, of the group and of the person."
        )
    if pd.isna(values).any():
        raise InputError("groups: a label is missing; pass a label of its own for that subject.")
    first, *more = values.reshape(n_subjects, -1).T
    columns = [column.astype(str) for column in (first, *more[:1])]
    numbers = [np.unique(column, return_inverse=True)[1].astype(np.intp) for column in columns]
    if len(numbers) == 1:
        return numbers[0][:, None]
    group, person = numbers
    visits = more[1] if len(more) == 2 else np.arange(n_subjects)
    homes = pd.Series(group).groupby(person).nunique()
    if (homes > 1).any():
        name = str(columns[1][int(np.flatnonzero(person == homes.idxmax())[0])])
        raise InputError(f"groups: the person {name!r} is in two groups; give each person one.")
    rank = pd.Series(visits).groupby(person).rank(method="first").astype(np.intp) - 1
    return np.column_stack([group, person, rank])


def group_labels(groups: ArrayLike | None, n_subjects: int) -> NDArray[np.intp]:
    """Return the number of each subject's group; without groups every subject is one.

    Examples
    --------
    >>> group_labels(["Smith", "Jones", "Smith"], 3).tolist()
    [1, 0, 1]
    """
    return group_levels(groups, n_subjects)[:, 0]


def renumbered(levels: Levels) -> Levels:
    """Return levels in which groups and people are numbered in the order of the rows.

    Examples
    --------
    >>> renumbered(np.array([[7], [2], [7]])).tolist()
    [[0], [1], [0]]
    """
    numbers = [pd.factorize(column)[0] for column in levels.T[:2]]
    return np.column_stack([*numbers, *levels.T[2:]]).astype(np.intp)


def two_halves(levels: Levels | None, n_subjects: int) -> list[NDArray[np.intp]]:
    """Divide rows, in an order without meaning, into two halves; no group is divided.

    Examples
    --------
    >>> [half.tolist() for half in two_halves(None, 5)]
    [[0, 2, 4], [1, 3]]
    >>> [half.tolist() for half in two_halves(np.array([[0], [0], [0], [1], [2]]), 5)]
    [[0, 1, 2], [3, 4]]
    """
    rows = np.arange(n_subjects)
    if levels is None:
        return [rows[::2], rows[1::2]]
    first = np.zeros(n_subjects, dtype=bool)
    sizes = [0, 0]
    for group, size in Counter(levels[:, 0].tolist()).items():
        half = int(sizes[1] < sizes[0])
        sizes[half] += size
        first |= (levels[:, 0] == group) & (half == 0)
    return [rows[first], rows[~first]]


def held_out(
    order: NDArray[np.intp], n_held_out: int, levels: Levels | None
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Divide rows into those to learn from and those held out: the first in `order`, by groups.

    Examples
    --------
    >>> held_out(np.array([2, 0, 1, 3]), 1, np.array([[0], [1], [0], [1]]))
    (array([1, 3]), array([0, 2]))
    """
    out = order[:n_held_out]
    if levels is not None:
        labels, chosen, n_chosen = levels[:, 0], set[int](), 0
        for row in order:
            if n_chosen >= n_held_out:
                break
            if labels[row] not in chosen:
                chosen.add(int(labels[row]))
                n_chosen += int((labels == labels[row]).sum())
        out = np.flatnonzero(np.isin(labels, list(chosen)))
    return np.setdiff1d(order, out), np.sort(out)


def grouped_parts(
    labels: NDArray[np.intp], n_parts: int, rng: np.random.Generator
) -> list[NDArray[np.intp]]:
    """Assign whole groups at random to parts of about equal size.

    scikit-learn has either: `GroupKFold` balances sizes in a fixed order, and with ``shuffle=True``
    it draws at random and ignores sizes, so that one large site makes parts very unequal.

    Parameters
    ----------
    labels : array of shape (n,)
        Group of each subject.
    n_parts : int
    rng : numpy.random.Generator

    Returns
    -------
    list of arrays
        Positions of the subjects of each part.

    Examples
    --------
    >>> parts = grouped_parts(np.array([0, 0, 1, 2, 2]), 2, np.random.default_rng(0))
    >>> [part.tolist() for part in parts]
    [[2, 3, 4], [0, 1]]
    """
    numbers = np.unique(labels, return_inverse=True)[1]
    sizes = np.bincount(numbers)
    n_groups = len(sizes)
    if check_count(n_parts, "n_folds", minimum=2) > n_groups:
        raise InputError(f"n_folds={n_parts} with {n_groups} groups; expected 2 to {n_groups}.")
    # Largest groups first, ties at random: each goes to the smallest part so far.
    order = np.lexsort((rng.permutation(n_groups), -sizes))
    filled = np.zeros(n_parts)
    part_of = np.empty(n_groups, dtype=np.intp)
    for group in order:
        part_of[group] = int(filled.argmin())
        filled[part_of[group]] += sizes[group]
    return [np.flatnonzero(part_of[numbers] == part) for part in range(n_parts)]


def design_effect(scores: NDArray[np.floating], levels: Levels | None) -> float:
    """Return how many times larger a variance is because scans of a group are alike.

    The variance of a sum over scans, by groups and by scans (Liang and Zeger 1986), as a mean over
    columns.

    Parameters
    ----------
    scores : array of shape (n, K)
        What each scan adds to each of K estimates.
    levels : array of shape (n, 1) or (n, 3), or None
        Without groups it is 1.

    Returns
    -------
    float
        From 1, where scans of a group are independent, to the size of the largest group.

    Examples
    --------
    >>> design_effect(np.array([[1.0], [1.0], [-1.0], [-1.0]]), np.array([[0], [0], [1], [1]]))
    2.0
    """
    if levels is None:
        return 1.0
    return float(mean_effects(design_effects(scores, levels)[None], levels)[0])


def design_effects(scores: NDArray[np.floating], levels: Levels) -> NDArray[np.float64]:
    """Return the same for every column (K,), as it is found; NaN where nothing varies."""
    numbers = np.unique(levels[:, 0], return_inverse=True)[1]
    order = np.argsort(numbers, kind="stable")
    starts = np.searchsorted(numbers[order], np.arange(numbers.max() + 1))
    sums = np.add.reduceat(scores[order].astype(np.float64), starts, axis=0)
    single = (scores.astype(np.float64) ** 2).sum(axis=0)
    used = single > 0
    return np.where(used, (sums**2).sum(axis=0) / np.where(used, single, 1), np.nan)


def mean_effects(found: NDArray[np.float64], levels: Levels) -> NDArray[np.float64]:
    """Return means over columns (R, K) of `design_effects`, from 1 to the size of a group."""
    used = ~np.isnan(found)
    means = np.where(used, found, 0).sum(axis=1) / np.maximum(used.sum(axis=1), 1)
    largest = np.unique(levels[:, 0], return_counts=True)[1].max()
    return np.clip(means, 1.0, largest)
