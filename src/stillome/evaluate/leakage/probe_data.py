"""Features and confounds prepared for the probes, with the folds that all probes share."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stillome.arrays import Floats
from stillome.cohort.edges import matrices_to_edges
from stillome.cohort.residuals import residualised
from stillome.cohort.validation import check_confounds, check_count, check_features
from stillome.evaluate.graph_measures import GRAPH_MEASURES
from stillome.evaluate.leakage.auc import Folds, two_valued
from stillome.evaluate.leakage.summary_features import region_features, summary_features
from stillome.evaluate.prediction.folds import group_labels
from stillome.exceptions import ConfoundsError, InputError

_MIN_SUBJECTS = 20


@dataclass(frozen=True, eq=False)
class ProbeData:
    """Input of the probes.

    Attributes
    ----------
    features : array of shape (n, p)
        Standardised.
    views : dict of str to arrays of shape (n, q)
        For counts, other descriptions of the same networks, standardised: ``zeros`` (which counts
        are zero), ``summary``, ``graph measures`` and ``regions``. Those that do not vary are left
        out.
    confounds : array of shape (n, C)
        Standardised.
    two_valued : array of shape (n, C)
        0 and 1 for confounds with two values; NaN for the others.
    groups : array of shape (n,)
        Number of the group of each subject.
    folds : list of arrays
        Test positions of each fold.
    """

    features: Floats
    views: dict[str, Floats]
    confounds: Floats
    two_valued: Floats
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
    """Check and standardise the input of `leakage_certificate`, which describes the arguments."""
    table, views = _tables(features, kind)
    n_subjects = len(table)
    if n_subjects < _MIN_SUBJECTS:
        raise InputError(
            f"features: {n_subjects} subjects are too few to look for leakage; "
            f"at least {_MIN_SUBJECTS} needed."
        )
    given = check_confounds(confounds, n_subjects=n_subjects)
    targets = _scaled(given)
    labels = group_labels(groups, n_subjects)
    kept = _varying(table)
    if not kept.any():
        raise InputError(
            "features: the same for all subjects (collapsed), so that there is nothing to probe; "
            "pass a representation that varies. An empty one is not evidence of invariance."
        )
    if nuisance is not None:
        design = _scaled(check_confounds(nuisance, n_subjects=n_subjects, name="nuisance"))
        table, kept = _without(table, design)
        for name, view in views.items():
            left_over, left = _without(view, design)
            views[name] = left_over[:, left]
        targets, left = _without(targets, design)
        if not left.all():
            raise ConfoundsError(
                f"confounds: column {int(left.argmin())} is a linear function of the nuisance, so "
                "that nothing is left to predict; leave it out of confounds or of nuisance."
            )
        if not kept.any():
            raise InputError(
                "features: a linear function of the nuisance; nothing is left to probe. "
                "Leave nuisance out."
            )
    return ProbeData(
        features=_standardised(table[:, kept]),
        views={name: _standardised(view) for name, view in views.items() if view.shape[1]},
        confounds=_standardised(targets),
        two_valued=two_valued(given),
        groups=labels,
        folds=_grouped_folds(labels, n_folds, rng),
    )


def _tables(features: ArrayLike, kind: str) -> tuple[Floats, dict[str, Floats]]:
    """Return the features and, for counts, other descriptions of the networks."""
    if kind == "features":
        return _scaled(check_features(features)), {}
    if kind == "counts":
        edges = matrices_to_edges(features)
        summary = summary_features(edges)
        views = {
            "zeros": (edges == 0).astype(np.float64),
            "summary": summary.to_numpy(),
            "graph measures": summary[list(GRAPH_MEASURES)].to_numpy(),
            "regions": region_features(edges),
        }
        scaled = {name: _scaled(view) for name, view in views.items()}
        varying = {name: view[:, _varying(view)] for name, view in scaled.items()}
        return np.log1p(edges, dtype=np.float64), varying
    raise InputError(f"kind={kind!r}; expected 'features' or 'counts'.")


def _grouped_folds(labels: NDArray[np.intp], n_folds: int, rng: np.random.Generator) -> Folds:
    """Assign whole groups at random to folds of about equal size.

    scikit-learn has either: `GroupKFold` balances sizes in a fixed order, and with ``shuffle=True``
    it draws at random and ignores sizes, so that one large site makes folds very unequal.
    """
    n_groups = int(labels.max()) + 1
    if check_count(n_folds, "n_folds", minimum=2) > n_groups:
        raise InputError(f"n_folds={n_folds} with {n_groups} groups; expected 2 to {n_groups}.")
    sizes = np.bincount(labels)
    # Largest groups first, ties at random: each goes to the smallest fold so far.
    order = np.lexsort((rng.permutation(n_groups), -sizes))
    filled = np.zeros(n_folds)
    fold_of = np.empty(n_groups, dtype=np.intp)
    for group in order:
        fold_of[group] = int(filled.argmin())
        filled[fold_of[group]] += sizes[group]
    return [np.flatnonzero(fold_of[labels] == fold) for fold in range(n_folds)]


def _scaled(values: Floats) -> Floats:
    """Divide each column by its largest absolute value, so that no square overflows."""
    largest = np.abs(values).max(axis=0)
    return np.asarray(values / np.where(largest > 0, largest, 1))


def _without(values: Floats, design: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """Residualise on the design; say which columns have any variance left."""
    residual = residualised(values, design[:, _varying(design)])
    # The rounding error of a linear function of the design must not count as a feature.
    left = _varying(values) & (residual.std(axis=0) > 1e-8 * values.std(axis=0))
    return np.asarray(residual), left


def _varying(values: Floats) -> NDArray[np.bool_]:
    """Say which columns, of size about 1, vary by more than rounding error."""
    return np.asarray(np.ptp(values, axis=0) > 1e-12)


def _standardised(values: Floats) -> Floats:
    return np.asarray((values - values.mean(axis=0)) / values.std(axis=0))
