"""Features and confounds made ready for probing, with the folds that all probes share."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stillome.cohort.edges import matrices_to_edges
from stillome.cohort.validation import check_confounds, check_count, check_features
from stillome.evaluate.leakage.probes import Array, Folds
from stillome.evaluate.prediction.folds import group_labels
from stillome.exceptions import ConfoundsError, InputError
from stillome.methods.linear.confound_regression import ConfoundRegression

_MIN_SUBJECTS = 20


@dataclass(frozen=True, eq=False)
class ProbeData:
    """What probes are given.

    Attributes
    ----------
    features : array of shape (n, p)
        Standardised.
    zeros : array of shape (n, q), or None
        Which counts are zero, standardised; None where there is no such pattern.
    confounds : array of shape (n, C)
        Standardised.
    groups : array of shape (n,)
        Number of the group of each subject.
    folds : list of arrays
        Test positions of each fold.
    """

    features: Array
    zeros: Array | None
    confounds: Array
    groups: NDArray[np.intp]
    folds: Folds


def prepare_probes(
    features: ArrayLike,
    confounds: ArrayLike,
    kind: str,
    nuisance: ArrayLike | None,
    groups: ArrayLike | None,
    n_folds: int,
    rng: np.random.Generator,
) -> ProbeData:
    """Judge what `leakage_certificate` was given, which see for the arguments."""
    table, zeros = _tables(features, kind)
    n_subjects = len(table)
    if n_subjects < _MIN_SUBJECTS:
        raise InputError(
            f"features: {n_subjects} subjects are too few to look for leakage; "
            f"at least {_MIN_SUBJECTS} needed."
        )
    targets = _scaled(check_confounds(confounds, n_subjects=n_subjects))
    labels = group_labels(groups, n_subjects)
    kept = _varying(table)
    if not kept.any():
        raise InputError(
            "features: the same for all subjects (collapsed), so that there is nothing to probe; "
            "an empty representation says nothing about invariance."
        )
    zero_kept = _varying(zeros)
    if nuisance is not None:
        design = _scaled(check_confounds(nuisance, n_subjects=n_subjects, name="nuisance"))
        table, kept = _without(table, design)
        zeros, zero_kept = _without(zeros, design)
        targets, left = _without(targets, design)
        if not left.all():
            raise ConfoundsError(
                f"confounds: column {int(left.argmin())} is a linear function of the nuisance, so "
                "that nothing is left to read; leave it, or the nuisance, out."
            )
        if not kept.any():
            raise InputError("features: a linear function of the nuisance; nothing left to probe.")
    return ProbeData(
        features=_standardised(table[:, kept]),
        zeros=_standardised(zeros[:, zero_kept]) if zero_kept.any() else None,
        confounds=_standardised(targets),
        groups=labels,
        folds=_grouped_folds(labels, n_folds, rng),
    )


def _tables(features: ArrayLike, kind: str) -> tuple[Array, Array]:
    """Return what is probed, and for counts also where they are zero."""
    if kind == "features":
        table = _scaled(check_features(features))
        return table, np.empty((len(table), 0))
    if kind == "counts":
        edges = matrices_to_edges(features)
        return np.log1p(edges, dtype=np.float64), (edges == 0).astype(np.float64)
    raise InputError(f"kind={kind!r}; expected 'features' or 'counts'.")


def _grouped_folds(labels: NDArray[np.intp], n_folds: int, rng: np.random.Generator) -> Folds:
    """Deal whole groups at random into folds of about equal size."""
    n_groups = int(labels.max()) + 1
    if check_count(n_folds, "n_folds", minimum=2) > n_groups:
        raise InputError(f"n_folds={n_folds} with {n_groups} groups; expected 2 to {n_groups}.")
    sizes = np.bincount(labels)
    # Largest groups first, ties at random: each goes to the fold that is emptiest so far.
    order = np.lexsort((rng.permutation(n_groups), -sizes))
    filled = np.zeros(n_folds)
    fold_of = np.empty(n_groups, dtype=np.intp)
    for group in order:
        fold_of[group] = int(filled.argmin())
        filled[fold_of[group]] += sizes[group]
    return [np.flatnonzero(fold_of[labels] == fold) for fold in range(n_folds)]


def _scaled(values: Array) -> Array:
    """Divide each column by its largest size: no unit is so large that squares overflow."""
    largest = np.abs(values).max(axis=0)
    return np.asarray(values / np.where(largest > 0, largest, 1))


def _without(values: Array, design: Array) -> tuple[Array, NDArray[np.bool_]]:
    """Take out the linear part of the design; say which columns have anything left."""
    columns = design[:, _varying(design)]
    residual = ConfoundRegression.fit(columns, values).residuals(values, columns)
    # What rounding leaves of a linear function of the design must not pass for a feature.
    left = _varying(values) & (residual.std(axis=0) > 1e-8 * values.std(axis=0))
    return np.asarray(residual), left


def _varying(values: Array) -> NDArray[np.bool_]:
    """Say which columns, of size about 1, differ between subjects by more than rounding."""
    return np.asarray(np.ptp(values, axis=0) > 1e-12)


def _standardised(values: Array) -> Array:
    return np.asarray((values - values.mean(axis=0)) / values.std(axis=0))
