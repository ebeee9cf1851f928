"""Input of the probes in cohorts whose connectomes, or whose kernel, would not fit into memory.

Ridge regression sees all subjects and all features: as sums over subjects where features are few,
as inner products of subjects where these are few, and as random sums of features where both are
many. The other probes see a sample.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stillome.arrays import Floats
from stillome.cohort.groups import group_levels
from stillome.cohort.subject_rows import SubjectRows
from stillome.cohort.validation import check_connectomes, check_features, n_regions_of
from stillome.evaluate.graph_measures import GRAPH_MEASURES
from stillome.evaluate.leakage.large_views import LargeView, StandardisedView, edge_views
from stillome.evaluate.leakage.probe_data import (
    Blocks,
    ProbeData,
    Targets,
    check_any_left,
    check_any_varies,
    fold_blocks,
    prepare_tables,
    prepare_targets,
)
from stillome.evaluate.leakage.subject_sample import gathered, sampled_features, sampled_subjects
from stillome.evaluate.leakage.summary_features import summaries_in_parts

_MOST_SUBJECTS = 5000  # whose kernel is decomposed at once
_MOST_VALUES = 2**25  # subjects times features, of which several copies are made


@dataclass(frozen=True, eq=False)
class LargeProbeData:
    """Input of the probes in a large cohort.

    Attributes
    ----------
    views : dict of str to StandardisedView
        ``""`` are the features themselves, the others are those of `ProbeData`.
    targets : Targets
    groups : array of shape (n, 1) or (n, 3)
    blocks : list of Block
    subjects : array of int
        Who is in the sample.
    sample : ProbeData
    """

    views: dict[str, StandardisedView]
    targets: Targets
    groups: NDArray[np.intp]
    blocks: Blocks
    subjects: NDArray[np.intp]
    sample: ProbeData


def is_large(features: Any, kind: str) -> bool:
    """Say whether a cohort is probed in parts, which is decided by its size alone.

    Examples
    --------
    >>> is_large(np.zeros((1000, 68)), "features"), is_large(np.zeros((6000, 2)), "features")
    (False, True)
    """
    shape = getattr(features, "shape", None) or np.shape(features)
    if len(shape) < 2:
        return False
    n, width = int(shape[0]), int(shape[1])
    if kind == "counts" and len(shape) == 3:
        width = width * (width - 1) // 2
    return n > _MOST_SUBJECTS or n * width > _MOST_VALUES


def prepare_large(
    features: ArrayLike,
    confounds: ArrayLike,
    kind: str,
    nuisance: ArrayLike | None,
    groups: ArrayLike | None,
    n_folds: int,
    rng: np.random.Generator,
    within: ArrayLike | None = None,
    subjects: NDArray[np.intp] | None = None,
) -> LargeProbeData:
    """Check and standardise the input of `leakage_certificate`, which describes the arguments.

    With `subjects`, these are the sample (the same one in all repeats).
    """
    first, others = _views(features, kind)
    n = first.shape[0]
    targets = prepare_targets(confounds, nuisance, n)
    levels = group_levels(groups, n)
    blocks = fold_blocks(within, levels[:, 0], n_folds, rng)
    standardised = StandardisedView(first, blocks, targets.nuisance)
    check_any_varies(len(standardised.varying))
    check_any_left(len(standardised.kept))
    views = {"": standardised} | {
        name: StandardisedView(view, blocks, targets.nuisance) for name, view in others.items()
    }
    chosen = sampled_subjects(first) if subjects is None else subjects
    columns = sampled_features(standardised.kept, len(chosen), rng)
    tables: dict[str, Floats] = {
        name: gathered(others[name], chosen, columns if name == "zeros" else _all(others[name]))
        for name in ("zeros", "summary")
        if name in others
    }
    sample = prepare_tables(
        gathered(first, chosen, columns),
        tables,
        np.asarray(confounds)[chosen],
        _of(chosen, nuisance),
        _of(chosen, groups),
        n_folds,
        rng,
        _of(chosen, within),
    )
    kept = {name: view for name, view in views.items() if len(view.kept)}
    return LargeProbeData(kept, targets, levels, blocks, chosen, sample)


def _views(features: ArrayLike, kind: str) -> tuple[LargeView, dict[str, LargeView]]:
    if kind == "features":
        return LargeView.of_table(check_features(features)), {}
    connectomes = check_connectomes(features, in_slices=True)
    rows = SubjectRows(connectomes)
    edges = edge_views(rows, n_regions_of(rows.shape[1]))
    summary = summaries_in_parts(lambda: (part.astype(np.float64) for _, part in rows.parts()))
    measures = summary[list(GRAPH_MEASURES)].to_numpy()
    return edges["edges"], {
        "zeros": edges["zeros"],
        "summary": LargeView.of_table(summary.to_numpy()),
        "graph measures": LargeView.of_table(measures),
        "regions": edges["regions"],
    }


def _all(view: LargeView) -> NDArray[np.intp]:
    return np.arange(view.shape[1])


def _of(subjects: NDArray[np.intp], values: ArrayLike | None) -> NDArray[Any] | None:
    return None if values is None else np.asarray(values)[subjects]
