"""The arrays of a cohort that a comparison needs, looked up by name and validated once."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from stillome.arrays import Floats
from stillome.cohort.cohort import Cohort
from stillome.cohort.confound_choice import choose_removed
from stillome.cohort.groups import Levels, group_levels
from stillome.cohort.kept_covariates import kept_covariates
from stillome.cohort.validation import check_confounds, check_traits
from stillome.exceptions import InputError


@dataclass(frozen=True)
class Study:
    """Traits, confounds and groups of the same subjects, in one order.

    Attributes
    ----------
    subject_ids : tuple of str
    trait_names : tuple of str
    traits : array of shape (n, T)
        NaN is missing.
    confounds : array of shape (n, C)
    groups : array of shape (n, 1) or (n, 3)
        Numbers of the groups, and people, of the subjects; see `group_levels`.
    covariates : array of shape (n, Q) or None
        Not to be removed with the confounds.
    """

    subject_ids: tuple[str, ...]
    trait_names: tuple[str, ...]
    traits: Floats
    confounds: Floats
    groups: Levels
    covariates: Floats | None = None

    @classmethod
    def of(
        cls,
        cohort: Cohort,
        traits: str | Sequence[str] | None,
        confounds: str | Sequence[str] | ArrayLike | None,
        groups: str | ArrayLike | None,
        keep: str | Sequence[str] | ArrayLike | None = None,
    ) -> "Study":
        """Look everything up in a cohort; `compare_methods` documents the arguments."""
        if not isinstance(cohort, Cohort):
            raise InputError(f"cohort: a {type(cohort).__name__}; expected a stillome Cohort.")
        names = _names(traits, cohort.traits, "traits")
        values = check_traits(_columns(cohort.traits, names, "traits"))
        if groups is None or isinstance(groups, str):
            groups = cohort.groups(groups)
        return cls(
            tuple(cohort.subject_ids),
            names,
            values,
            _confounds(cohort, confounds),
            group_levels(groups, cohort.n_subjects),
            _covariates(cohort, keep),
        )

    @property
    def labels(self) -> NDArray[np.intp]:
        """Number of the group of each subject (n,); a group is in one part of every division."""
        return self.groups[:, 0]

    def given_groups(self, rows: NDArray[np.intp]) -> dict[str, NDArray[np.intp]]:
        """Return the groups of some subjects as an argument of `fit`; none if all are alone."""
        alone = len(np.unique(self.labels[rows])) == len(rows)
        return {} if alone else {"groups": self.groups[rows]}

    def with_traits_of(self, order: NDArray[np.intp]) -> "Study":
        """Give subject i the traits of subject ``order[i]``, as a permutation test does."""
        return replace(self, traits=self.traits[order])


def _confounds(cohort: Cohort, confounds: str | Sequence[str] | ArrayLike | None) -> Floats:
    is_array = not (confounds is None or isinstance(confounds, str) or _is_text(confounds))
    if is_array:
        return check_confounds(confounds, n_subjects=cohort.n_subjects)  # type: ignore[arg-type]
    asked: Any = [confounds] if isinstance(confounds, str) else confounds
    removed = choose_removed(cohort.motion, cohort.traits, asked or ())
    coding = removed.coding(cohort.motion, cohort.traits)
    coded = coding.encode(cohort.motion, cohort.traits)
    with coding.naming(cohort.subject_ids, "Fill it in, or leave out the subject."):
        return check_confounds(coded, name=f"confounds {[*coding.names]}")


def _covariates(cohort: Cohort, keep: str | Sequence[str] | ArrayLike | None) -> Floats | None:
    """Return the covariates to keep: columns of the cohort's tables, or the values themselves."""
    if keep is None or (_is_text(keep) and not len(keep)):  # type: ignore[arg-type]
        return None
    names: Any = [keep] if isinstance(keep, str) else keep
    if not _is_text(names):
        return check_confounds(names, n_subjects=cohort.n_subjects, name="keep")
    table = cohort.traits.join(cohort.motion[[n for n in cohort.motion if n not in cohort.traits]])
    return kept_covariates(table, _names(names, table, "columns to keep")).values


def _names(names: str | Sequence[str] | None, table: pd.DataFrame, where: str) -> tuple[str, ...]:
    """Return the columns asked for, or every column that holds numbers."""
    if isinstance(names, str):
        names = [names]
    if names is not None and not _is_text(names):
        raise InputError(f"{where}: {names!r}; expected the names of columns.")
    chosen = tuple(table.select_dtypes("number").columns if names is None else names)
    missing = [name for name in chosen if name not in table]
    if missing or not chosen:
        raise InputError(
            f"The cohort's {where} have no column {missing[0] if missing else '(of numbers)'!r}; "
            f"they have {list(table.columns)}."
        )
    if len(set(chosen)) < len(chosen):
        raise InputError(f"{where}: a column is named twice in {list(chosen)}.")
    return chosen


def _columns(table: pd.DataFrame, names: Sequence[str], where: str) -> Floats:
    try:
        return table[list(names)].to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError) as error:
        raise InputError(f"{where}: {list(names)} are not all numbers ({error}).") from error


def _is_text(values: Any) -> bool:
    return isinstance(values, Sequence) and all(isinstance(value, str) for value in values)
