"""Whether anything can be learned of a cohort, judged before any work is done."""

from typing import Any

import numpy as np
import pandas as pd

from stillome.cohort.cohort import Cohort
from stillome.cohort.reference import reference_of_run
from stillome.exceptions import InputError
from stillome.run.removed import Removed
from stillome.run.settings import RunSettings

MIN_SUBJECTS = 20  # what the certificate needs
MIN_GROUPS = 5  # its folds, and those of the traits


def check_cohort(cohort: Cohort, settings: RunSettings) -> None:
    """Refuse cohorts of which nothing could be learned, before any work is done.

    Raises
    ------
    InputError
    """
    removed = Removed(settings.confounds, settings.other_confounds)
    coding = removed.coding(cohort.motion, cohort.traits)
    confounds = coding.encode(cohort.motion, cohort.traits).to_numpy()
    n_known = int(np.isfinite(confounds).all(axis=1).sum())
    if n_known < MIN_SUBJECTS:
        subjects = "1 subject has" if n_known == 1 else f"{n_known} subjects have"
        raise InputError(
            f"{subjects} connectome, motion and traits; a run needs at least {MIN_SUBJECTS}."
        )
    reference_of_run(coding, settings.reference)
    for name in (*settings.trait, *settings.keep):
        _check_trait(cohort.traits[name], kept=name in settings.keep)
    if settings.group is not None:
        _check_groups(cohort.traits[settings.group])


def _check_groups(column: "pd.Series[Any]") -> None:
    if column.isna().any():
        raise InputError(
            f"{column.name}: the group of a subject is missing; give it one of its own."
        )
    if column.nunique() < MIN_GROUPS:
        raise InputError(
            f"{column.name}: {column.nunique()} groups cannot be divided into {MIN_GROUPS} folds. "
            "Name a column with more, or leave out --group."
        )


def _check_trait(column: "pd.Series[Any]", *, kept: bool) -> None:
    name = column.name
    if not pd.api.types.is_numeric_dtype(column):
        raise InputError(f"trait {name!r} holds text, not numbers. Code it as numbers first.")
    known = column.dropna()
    if known.empty:
        raise InputError(f"trait {name!r} holds no value for any of the subjects. Leave it out.")
    if known.nunique() < 2:
        raise InputError(f"trait {name!r} is {known.iloc[0]:g} for everybody. Leave it out.")
    if kept and len(known) < len(column):
        raise InputError(
            f"{name!r} is missing for {len(column) - len(known)} subjects; what is kept must be "
            "known for all. Leave them out of the table."
        )
