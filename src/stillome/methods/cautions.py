"""Warnings about designs that cannot be separated, and about extrapolation."""

import warnings

import numpy as np

from stillome.arrays import Floats
from stillome.cohort.residuals import least_squares
from stillome.cohort.subject_rows import SubjectRows
from stillome.cohort.validation.subject_twins import identical_subjects
from stillome.exceptions import InputError, StillomeWarning

_NOT_SEPARABLE = 0.8
_FAR = 1.0  # standard deviations outside the training range
_VERY_FAR = 4.0  # for subjects: in a new sample some always move more than any before


def warn_of_twins(connectomes: SubjectRows) -> None:
    """Warn if subjects of a fit have the same connectome; refuse if all of them do.

    Raises
    ------
    InputError
    """
    twins = identical_subjects(row for _, part in connectomes.parts() for row in part)
    if not twins:
        return
    if len(twins[0]) == len(connectomes):
        raise InputError(
            f"X: all {len(connectomes)} subjects have the same connectome; there is nothing to "
            "learn from. Give one connectome for each."
        )
    warnings.warn(
        f"X: subjects {twins[0][0]} and {twins[0][1]} have the same connectome, edge for edge. Is "
        "a person there twice? Keep one of them.",
        StillomeWarning,
        stacklevel=5,
    )


def warn_of_nothing_to_remove(method: str) -> None:
    """Warn of a fit without confounds: it is the model of connectomes as they were scanned."""
    warnings.warn(
        f"{method}.fit: no confounds were given, so that nothing is removed: the effects of motion "
        "stay in the latents and in adjusted connectomes. Pass confounds=...; in a pipeline, ask "
        "for them with set_fit_request(confounds=True).",
        StillomeWarning,
        stacklevel=4,
    )


def refuse_negative(level: Floats, low: Floats) -> None:
    """Refuse a reference (C,) below 0 of a confound that was never below 0: motion is not.

    Raises
    ------
    InputError
    """
    wrong = np.flatnonzero((level < 0) & (low >= 0))
    if len(wrong):
        raise InputError(
            f"reference={level[wrong[0]]:g} is negative; confound {wrong[0]} was at least "
            f"{low[wrong[0]]:.3g} in the fit. Pass a reference of at least 0."
        )


def warn_if_not_separable(covariates: Floats, motion: Floats) -> None:
    """Warn if covariates to keep (n, Q) explain nearly all the variance of a confound (n, C)."""
    fitted = least_squares(motion, covariates).predict(covariates)
    total = motion.var(axis=0)
    explained = fitted.var(axis=0) / np.where(total > 0, total, np.inf)
    if explained.max() > _NOT_SEPARABLE:
        warnings.warn(
            f"covariates_to_keep explain {explained.max():.0%} of confound "
            f"{int(explained.argmax())}: the effects of the two can hardly be separated in these "
            "data. Interpret adjusted connectomes with care.",
            StillomeWarning,
            stacklevel=5,
        )


def warn_of_design(confounds: Floats, traits: Floats | None) -> None:
    """Warn of confounds (n, C) that go with one subject alone, or with a trait (n, T)."""
    _warn_of_single_subjects(confounds)
    if traits is not None:
        _warn_if_removed_with(traits, confounds)


def _warn_if_removed_with(traits: Floats, confounds: Floats) -> None:
    """Warn if confounds (n, C) explain nearly all of a trait (n, T), as sites of patients only do.

    What is then removed with the confounds is the trait as well. NaN is missing.
    """
    known = ~np.isnan(confounds).any(axis=1)
    for column, values in enumerate(traits.T):
        rows = known & ~np.isnan(values)
        if rows.sum() <= confounds.shape[1] + 2:
            continue
        target = values[rows][:, None]
        left = least_squares(target, confounds[rows]).residuals(target, confounds[rows])
        explained = 1 - left.var() / max(float(target.var()), 1e-300)
        if explained > _NOT_SEPARABLE:
            warnings.warn(
                f"y: the confounds explain {explained:.0%} of trait {column}: what goes with the "
                "trait and what the confounds do cannot be told apart, and both are removed.",
                StillomeWarning,
                stacklevel=6,
            )


def _warn_of_single_subjects(confounds: Floats) -> None:
    """Warn if one subject alone has a value of a confound of two values: a site with one."""
    for column, values in enumerate(confounds.T):
        levels, first, sizes = np.unique(
            values[~np.isnan(values)], return_index=True, return_counts=True
        )
        if len(levels) == 2 and sizes.min() == 1:
            one = int(sizes.argmin())
            row = np.flatnonzero(~np.isnan(values))[first[one]]
            warnings.warn(
                f"confounds: subject {row} alone has the value {levels[one]:g} of column {column}: "
                "what it stands for cannot be told apart from the subject. Leave the subject out, "
                "or pass NaN for it.",
                StillomeWarning,
                stacklevel=6,
            )


def warn_if_unlike_training(motion: Floats, low: Floats, high: Floats, spread: Floats) -> None:
    """Warn if confounds (n, C) of new subjects are far outside the training range; NaN: unknown."""
    gap = np.nan_to_num(np.maximum(low - motion, motion - high) / spread)
    far = (gap > _VERY_FAR).any(axis=1)
    if far.any():
        row, column = np.unravel_index(int(gap.argmax()), gap.shape)
        warnings.warn(
            f"confounds: {int(far.sum())} of {len(motion)} subjects lie far outside the training "
            f"range {low[column]:.3g} to {high[column]:.3g} of confound {column} (row {row} has "
            f"{motion[row, column]:.3g}); the model extrapolates. Are the units the same?",
            StillomeWarning,
            stacklevel=4,
        )


def warn_if_far(level: Floats, low: Floats, high: Floats, spread: Floats) -> None:
    """Warn if a reference (C,) is more than one standard deviation outside the training range.

    This is the rule of all methods, for a reference that was passed and for the default of 0.

    Parameters
    ----------
    level, low, high, spread : arrays of shape (C,)
        Reference, least and largest training value, and standard deviation of each confound.
    """
    gap = np.maximum(low - level, level - high) / np.where(spread > 0, spread, np.inf)
    worst = int(gap.argmax())
    if gap[worst] > _FAR:
        warnings.warn(
            f"reference={level[worst]:g} lies {gap[worst]:.2g} standard deviations outside "
            f"the training range {low[worst]:.3g} to {high[worst]:.3g} of confound {worst}: "
            "the model extrapolates. Pass reference=... to stay near the training range.",
            StillomeWarning,
            stacklevel=4,
        )


def warn_of_inference() -> None:
    """Warn that no confounds came, so that motion is inferred: forgotten, or not routed."""
    warnings.warn(
        "No confounds were given, so that motion is inferred from the connectomes, which removes "
        "less of it. Pass confounds=..., NaN where motion is not known; in a pipeline, ask for "
        "them with set_transform_request(confounds=True) or set_predict_request(confounds=True).",
        StillomeWarning,
        stacklevel=4,
    )
