"""Whether a run can be made of a cohort, judged before any work is done."""

from typing import Any

import numpy as np
import pandas as pd

from stillome.cohort.cohort import Cohort
from stillome.cohort.confound_choice import Removed
from stillome.cohort.kept_covariates import kept_covariates
from stillome.cohort.reference import resolve_reference
from stillome.cohort.validation import check_columns
from stillome.evaluate.prediction.trait_sizes import check_trait_sizes
from stillome.exceptions import InputError
from stillome.run.settings import RunSettings

MIN_SUBJECTS = 20  # what the leakage certificate needs
MIN_GROUPS = 5  # the folds of the certificate and of trait prediction


def check_cohort(cohort: Cohort, settings: RunSettings) -> None:
    """Refuse cohorts that are too small, or whose columns hold nothing to learn from.

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
    resolve_reference(coding, settings.reference)
    check_columns(cohort.traits, settings.trait, "trait")
    check_trait_sizes(cohort.traits, settings.trait)
    kept_covariates(cohort.traits, settings.keep)
    if settings.group is not None:
        _check_groups(cohort.traits[settings.group])
    if cohort.groups() is not None and len(set(cohort.people)) < MIN_GROUPS:
        raise InputError(
            f"{len(set(cohort.people))} people with several scans cannot be divided into "
            f"{MIN_GROUPS} folds; a run needs more people."
        )


def _check_groups(column: "pd.Series[Any]") -> None:
    if column.isna().any():
        raise InputError(
            f"{column.name}: the group of a subject is missing; give it one of its own."
        )
    if column.nunique() < MIN_GROUPS:
        raise InputError(
            f"{column.name}: {column.nunique()} groups cannot be divided into {MIN_GROUPS} folds. "
            "Name a column with more, or leave out group=..."
        )
