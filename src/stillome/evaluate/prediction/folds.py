"""Cross-validation folds that never divide a group (family, site, scans of one person)."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import GroupKFold, GroupShuffleSplit

from stillome.cohort.groups import group_labels
from stillome.cohort.validation import check_count, check_random_state
from stillome.exceptions import InputError


class Fold(NamedTuple):
    """One outer division of the subjects, as positions in the cohort."""

    repeat: int
    fold: int
    train: NDArray[np.intp]
    test: NDArray[np.intp]


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
    groups : array-like of shape (n_subjects,) or (n_subjects, 2), optional
        Subjects with the same label stay together; see `group_levels`.
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
