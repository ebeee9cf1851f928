"""Features and confounds prepared for the probes, with the folds that all probes share."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stillome.arrays import Floats
from stillome.cohort.edges import matrices_to_edges
from stillome.cohort.groups import group_levels, grouped_parts
from stillome.cohort.residuals import residualised
from stillome.cohort.validation import check_confounds, check_features
from stillome.cohort.validation.sliced import is_sliced, read_slice
from stillome.evaluate.graph_measures import GRAPH_MEASURES
from stillome.evaluate.leakage.auc import Folds, two_valued
from stillome.evaluate.leakage.summary_features import region_features, summary_features
from stillome.exceptions import ConfoundsError, InputError

_MIN_SUBJECTS = 20


class Block(NamedTuple):
    """Subjects among whom probes are trained and tested."""

    members: NDArray[np.intp]  # positions of the subjects, in order
    folds: Folds  # positions that are predicted together, by a probe trained on the other members


Blocks = list[Block]


@dataclass(frozen=True, eq=False)
class ProbeData:
    """Input of the probes.

    Attributes
    ----------
    features : array of shape (n, p)
        Standardised within every block; 0 where a feature does not vary there.
    views : dict of str to arrays of shape (n, q)
        For counts, other descriptions of the same networks, treated alike: ``zeros`` (which counts
        are zero), ``summary``, ``graph measures`` and ``regions``. Those that do not vary are left
        out.
    confounds : array of shape (n, C)
        Standardised.
    two_valued : array of shape (n, C)
        0 and 1 for confounds with two values; NaN for the others.
    groups : array of shape (n, 1) or (n, 3)
        Numbers of the groups, and people, of the subjects; see `group_levels`.
    blocks : list of Block
    """

    features: Floats
    views: dict[str, Floats]
    confounds: Floats
    two_valued: Floats
    groups: NDArray[np.intp]
    blocks: Blocks


def prepare_probes(
    features: ArrayLike,
    confounds: ArrayLike,
    kind: str,
    nuisance: ArrayLike | None,
    groups: ArrayLike | None,
    n_folds: int,
    rng: np.random.Generator,
    within: ArrayLike | None = None,
) -> ProbeData:
    """Check and standardise the input of `leakage_certificate`, which describes the arguments."""
    table, views = _tables(features, kind)
    return prepare_tables(table, views, confounds, nuisance, groups, n_folds, rng, within)


class Targets(NamedTuple):
    """What probes predict, and the covariates that features are residualised on."""

    confounds: Floats  # (n, C), residualised on the nuisance and standardised
    two_valued: Floats  # (n, C); see `ProbeData`
    nuisance: Floats | None  # (n, Q), of size about 1


def prepare_targets(confounds: ArrayLike, nuisance: ArrayLike | None, n_subjects: int) -> Targets:
    """Check the number of subjects, the confounds and the nuisance."""
    if n_subjects < _MIN_SUBJECTS:
        raise InputError(
            f"features: {n_subjects} subjects are too few to look for leakage; "
            f"at least {_MIN_SUBJECTS} needed."
        )
    given = check_confounds(confounds, n_subjects=n_subjects)
    targets, design = _scaled(given), None
    if nuisance is not None:
        design = _scaled(check_confounds(nuisance, n_subjects=n_subjects, name="nuisance"))
        targets, left = _without(targets, design)
        if not left.all():
            raise ConfoundsError(
                f"confounds: column {int(left.argmin())} is a linear function of the nuisance, so "
                "that nothing is left to predict; leave it out of confounds or of nuisance."
            )
    return Targets(_standardised(targets), two_valued(given), design)


def prepare_tables(
    table: Floats,
    views: dict[str, Floats],
    confounds: ArrayLike,
    nuisance: ArrayLike | None,
    groups: ArrayLike | None,
    n_folds: int,
    rng: np.random.Generator,
    within: ArrayLike | None = None,
) -> ProbeData:
    """Check and standardise features (n, p) and other tables of the same subjects."""
    n_subjects = len(table)
    targets = prepare_targets(confounds, nuisance, n_subjects)
    levels = group_levels(groups, n_subjects)
    blocks = fold_blocks(within, levels[:, 0], n_folds, rng)
    _, varies = _by_block(table, blocks, None)
    check_any_varies(int(varies.sum()))
    prepared, varies = _by_block(table, blocks, targets.nuisance)
    check_any_left(int(varies.sum()))
    others = {name: _by_block(view, blocks, targets.nuisance) for name, view in views.items()}
    return ProbeData(
        features=prepared[:, varies],
        views={name: view[:, kept] for name, (view, kept) in others.items() if kept.any()},
        confounds=targets.confounds,
        two_valued=targets.two_valued,
        groups=levels,
        blocks=blocks,
    )


def check_any_varies(n_varying: int) -> None:
    """Refuse features that do not vary."""
    if not n_varying:
        raise InputError(
            "features: the same for all subjects (collapsed), so that there is nothing to probe; "
            "pass a representation that varies. An empty one is not evidence of invariance."
        )


def check_any_left(n_left: int) -> None:
    """Refuse features of which the nuisance leaves nothing."""
    if not n_left:
        raise InputError(
            "features: a linear function of the nuisance; nothing is left to probe. "
            "Leave nuisance out."
        )


def fold_blocks(
    within: ArrayLike | None, labels: NDArray[np.intp], n_folds: int, rng: np.random.Generator
) -> Blocks:
    """Divide subjects into blocks by the labels in `within`, and every block into folds."""
    parts = np.zeros(len(labels)) if within is None else np.asarray(within)
    if parts.shape != labels.shape:
        raise InputError(
            f"within: shape {parts.shape}; expected one label for each of {len(labels)} subjects."
        )
    blocks = []
    for part in np.unique(parts):
        members = np.flatnonzero(parts == part)
        folds = grouped_parts(labels[members], n_folds, rng)
        blocks.append(Block(members, [members[fold] for fold in folds]))
    return blocks


def _by_block(
    values: Floats, blocks: Blocks, design: Floats | None
) -> tuple[Floats, NDArray[np.bool_]]:
    """Residualise on the design and standardise, both within blocks.

    Returns
    -------
    array of shape (n, p)
        0 where a column has no variance left in a block.
    array of shape (p,)
        Which columns have variance left in any block.
    """
    prepared = np.zeros_like(values)
    varies = np.zeros(values.shape[1], dtype=bool)
    for members, _ in blocks:
        block, left = values[members], _varying(values[members])
        if design is not None and _varying(design[members]).any():
            block, left = _without(block, design[members])
        prepared[np.ix_(members, left)] = _standardised(block[:, left])
        varies |= left
    return prepared, varies


def _tables(features: ArrayLike, kind: str) -> tuple[Floats, dict[str, Floats]]:
    """Return the features and, for counts, other descriptions of the networks."""
    if kind == "features":
        return _scaled(check_features(_in_memory(features))), {}
    if kind == "counts":
        edges = matrices_to_edges(_in_memory(features))
        summary = summary_features(edges)
        views = {
            "zeros": (edges == 0).astype(np.float64),
            "summary": summary.to_numpy(),
            "graph measures": summary[list(GRAPH_MEASURES)].to_numpy(),
            "regions": region_features(edges),
        }
        scaled = {name: _scaled(view) for name, view in views.items()}
        return np.log1p(edges, dtype=np.float64), scaled
    raise InputError(f"kind={kind!r}; expected 'features' or 'counts'.")


def _in_memory(features: Any) -> ArrayLike:
    if not is_sliced(features):
        return features
    return read_slice(features, slice(0, features.shape[0]), "features")


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
