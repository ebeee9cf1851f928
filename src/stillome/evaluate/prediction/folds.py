"""Cross-validation folds that never divide a group (family, site)."""

from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import GroupKFold, GroupShuffleSplit

from stillome.cohort.validation import check_count, check_random_state
from stillome.exceptions import InputError


class Fold(NamedTuple):
    """One outer division of the subjects, as positions in the cohort."""

    repeat: int
    fold: int
    train: NDArray[np.intp]
    test: NDArray[np.intp]


def group_labels(groups: ArrayLike | None, n_subjects: int) -> NDArray[np.intp]:
    """Return the number of each subject's group; without groups every subject is one.

    Examples
    --------
    >>> group_labels(["Smith", "Jones", "Smith"], 3).tolist()
    [1, 0, 1]
    """
    if groups is None:
        return np.arange(n_subjects)
    values = np.asarray(groups)
    if values.shape != (n_subjects,):
        raise InputError(
            f"groups: shape {values.shape}; expected one label for each of {n_subjects} subjects."
        )
    if pd.isna(values).any():
        raise InputError("groups: a label is missing; pass a label of its own for that subject.")
    labels: NDArray[np.intp] = np.unique(values.astype(str), return_inverse=True)[1]
    return labels


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


def make_folds(
    n_subjects: int,
    *,
    cv: int = 5,
    repeats: int = 1,
    groups: ArrayLike | None = None,
    random_state: int | None = 0,
) -> list[Fold]:
    """Divide the subjects at random into `cv` parts, each of which is once the test part.

    Parameters
    ----------
    n_subjects : int
    cv : int, default=5
        5 is the 80/20 of the paper.
    repeats : int, default=1
        Number of random divisions.
    groups : array-like of shape (n_subjects,), optional
        Subjects with the same label stay together.
    random_state : int or None, default=0

    Examples
    --------
    >>> [fold.test.tolist() for fold in make_folds(4, cv=2, groups=["a", "b", "a", "b"])]
    [[1, 3], [0, 2]]
    """
    labels = group_labels(groups, n_subjects)
    n_groups = len(np.unique(labels))
    if check_count(cv, "cv", minimum=2) > n_groups:
        raise InputError(f"cv={cv!r} with {n_groups} subjects or groups; expected 2 to {n_groups}.")
    repeats = check_count(repeats, "repeats", minimum=1)
    seeds = check_random_state(random_state).integers(2**31, size=repeats)
    return [
        Fold(repeat, fold, train, test)
        for repeat, seed in enumerate(seeds.tolist())
        for fold, (train, test) in enumerate(
            GroupKFold(cv, shuffle=True, random_state=seed).split(labels, groups=labels)
        )
    ]


def inner_split(
    train: NDArray[np.intp], labels: NDArray[np.intp], *, share: float, random_state: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Divide a training part into a fitting part (90 %) and a validation part (10 %).

    Examples
    --------
    >>> [len(part) for part in inner_split(np.arange(50), np.arange(50), share=0.1, random_state=0)]
    [45, 5]
    """
    if len(np.unique(labels[train])) < 2:
        raise InputError(
            "choices: a training part holds a single group, so that no validation part is left. "
            "Pass more groups or a larger cv=..., or leave choices out."
        )
    splitter = GroupShuffleSplit(1, test_size=share, random_state=random_state)
    fit, choose = next(iter(splitter.split(train, groups=labels[train])))
    return train[fit], train[choose]
