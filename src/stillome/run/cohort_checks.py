"""Whether a run can be made of a cohort, judged before any work is done."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from stillome.cohort.cohort import Cohort
from stillome.cohort.confound_choice import Removed
from stillome.cohort.kept_covariates import kept_covariates
from stillome.cohort.reference import resolve_reference
from stillome.cohort.validation import check_columns
from stillome.counts.available_memory import free_bytes
from stillome.evaluate.prediction.trait_sizes import check_trait_sizes
from stillome.exceptions import InputError
from stillome.methods.registry import make_method
from stillome.run.method_parameters import AUTO
from stillome.run.settings import RunSettings

MIN_SUBJECTS = 20  # what the leakage certificate needs
# For every subject and edge: methods that hold everybody have edges, their logarithms, residuals
# and answers in double precision, some of them as matrices.
_BYTES = 80
MIN_GROUPS = 5  # the folds of the certificate and of trait prediction


def check_cohort(cohort: Cohort, settings: RunSettings) -> None:
    """Refuse cohorts that are too small, or whose columns hold nothing to learn from.

    Raises
    ------
    InputError
    """
    _check_memory(cohort, settings)
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


def _check_memory(cohort: Cohort, settings: RunSettings) -> None:
    """Refuse methods that hold everybody in memory where it does not suffice."""
    n, n_regions = cohort.connectomes.shape[:2]
    needed = _BYTES * n * n_regions * (n_regions - 1) / 2
    free = free_bytes()
    if needed <= free:
        return
    why = (
        f"holds all subjects in memory, which takes about {needed / 1e9:,.0f} GB; "
        f"{free / 1e9:,.0f} GB are free."
    )
    if not make_method(settings.method, **_fixed(settings.parameters)).reads_parts:
        raise InputError(
            f"The method {settings.method!r} {why} Use 'inv-fa', which reads a few subjects at a "
            "time, or a machine with more memory."
        )
    for name in settings.baselines:
        if not make_method(name).reads_parts:
            raise InputError(
                f"The baseline {name!r} {why} Run without baselines ('none'), or on a machine "
                "with more memory."
            )
    if settings.trait:
        raise InputError(
            f"Predicting traits from connectomes as scanned {why} Leave out trait=..., or use a "
            "machine with more memory; `predict` of a fitted model reads a few at a time."
        )


def _fixed(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of a method; a weight that is chosen later is no value yet."""
    return {name: value for name, value in parameters.items() if value != AUTO}


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
