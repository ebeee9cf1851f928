"""Effects of motion on a cohort: fibre totals, changed edges, QC–SC correlations."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from stillome.arrays import Floats
from stillome.cohort.cohort import Cohort
from stillome.cohort.edges import edge_indices, matrices_to_edges
from stillome.cohort.motion_groups import MotionGroups
from stillome.cohort.subject_rows import AnyRows, SubjectRows
from stillome.cohort.validation import as_floats, check_confounds, check_count
from stillome.counts.block_plan import BlockPlan
from stillome.exceptions import InputError

# With fewer subjects a rank correlation is not reported.
_MIN_SUBJECTS = 4


@dataclass(frozen=True, eq=False)
class QCSC:
    """QC–SC (quality control – structural connectivity): correlation of each edge with motion.

    Attributes
    ----------
    correlations : array of shape (E,)
        Spearman correlation of each edge with motion over subjects; NaN where an edge does not
        vary.
    p_values : array of shape (E,)
        Two-sided, by Student's t; NaN where the correlation is.
    lengths : array of shape (E,), or None
        Mean fibre length of each edge in mm, where known.
    """

    correlations: Floats
    p_values: Floats
    lengths: Floats | None

    @property
    def median_absolute(self) -> float:
        """Median of |r| over the edges that vary."""
        known = np.abs(self.correlations[~np.isnan(self.correlations)])
        return float(np.median(known)) if len(known) else float("nan")

    @property
    def share_significant(self) -> float:
        """Share of varying edges that correlate with motion, at a false discovery rate of 5 %."""
        known = self.p_values[~np.isnan(self.p_values)]
        if not len(known):
            return float("nan")
        return float(np.mean(stats.false_discovery_control(known) <= 0.05))

    @property
    def length_dependence(self) -> float:
        """Spearman correlation of QC–SC with fibre length; NaN where lengths are unknown."""
        if self.lengths is None:
            return float("nan")
        known = ~np.isnan(self.correlations) & (self.lengths > 0)
        if known.sum() < _MIN_SUBJECTS:
            return float("nan")
        return float(_rank_correlations(self.correlations[known, None], self.lengths[known])[0])


@dataclass(frozen=True, eq=False)
class MotionEffects:
    """Effects of one motion measure on one cohort.

    Attributes
    ----------
    column : str
        The motion measure, with its unit.
    motion : array of shape (n,)
        Its values; subjects without one are left out of everything.
    regions : pandas.DataFrame
        The regions of the cohort, one row each.
    groups : MotionGroups
        The groups of small and large motion, and their cut-offs.
    totals : pandas.DataFrame
        See `fibre_totals_by_motion`.
    difference : array of shape (V, V)
        Mean of the large-motion group minus mean of the small.
    changed_edges : pandas.DataFrame
        See `top_changed_edges`.
    qcsc : QCSC
        See `qcsc_correlations`.

    Examples
    --------
    >>> from stillome import simulate_cohort
    >>> cohort = simulate_cohort(100, "thinning", random_state=0).cohort
    >>> effects = describe_motion_effects(cohort, "rms_mm")
    >>> effects.share_lost > 0.1, effects.qcsc.median_absolute > 0.1
    (True, True)
    >>> effects.difference.shape, len(effects.changed_edges)
    ((68, 68), 10)
    """

    column: str
    motion: Floats
    regions: pd.DataFrame
    groups: MotionGroups
    totals: pd.DataFrame
    difference: Floats
    changed_edges: pd.DataFrame
    qcsc: QCSC

    @property
    def share_lost(self) -> float:
        """Share of fibres lost between the first and the last group of `totals`."""
        first, last = self.totals["fibres_mean"].iloc[[0, -1]]
        return float(1 - last / first) if first > 0 else float("nan")


def describe_motion_effects(
    cohort: Cohort,
    column: str,
    *,
    quantile: float = 0.1,
    n_groups: int = 10,
    n_edges: int = 10,
) -> MotionEffects:
    """Describe how one motion measure changes the connectomes of a cohort.

    Parameters
    ----------
    cohort : Cohort
    column : str
        A column of ``cohort.motion``.
    quantile : float, default=0.1
        Share of subjects in the large and in the small motion group.
    n_groups : int, default=10
        Number of equal groups for the fibre totals; 10 are deciles.
    n_edges : int, default=10
        How many of the most changed edges are listed.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> moved = np.linspace(0, 1, 40)
    >>> counts = np.zeros((40, 2, 2), dtype=int)
    >>> counts[:, 0, 1] = counts[:, 1, 0] = rng.poisson(100 * np.exp(-moved))
    >>> ids = [f"{i:02d}" for i in range(40)]
    >>> cohort = Cohort(ids, counts, motion=pd.DataFrame({"rms_mm": moved}))
    >>> effects = describe_motion_effects(cohort, "rms_mm")
    >>> effects.share_lost > 0.5, effects.qcsc.correlations[0] < -0.9
    (True, np.True_)
    """
    cohort = _with_motion(cohort, column)
    return MotionEffects(
        column=column,
        motion=as_floats(cohort.motion[column]),
        regions=cohort.regions,
        groups=cohort.motion_groups(column, quantile=quantile),
        totals=fibre_totals_by_motion(cohort, column, n_groups=n_groups),
        difference=cohort.group_difference(column, quantile=quantile),
        changed_edges=top_changed_edges(cohort, column, quantile=quantile, n_edges=n_edges),
        qcsc=qcsc_correlations(cohort, column),
    )


def fibre_totals_by_motion(cohort: Cohort, column: str, *, n_groups: int = 10) -> pd.DataFrame:
    """Average each subject's number of fibres over groups of growing motion.

    Returns
    -------
    pandas.DataFrame
        One row per group, from least to most motion: ``group`` (1 …), ``n_subjects``,
        ``motion_median`` (unit of `column`), ``fibres_mean`` and ``fibres_se`` (standard error).
    """
    cohort = _with_motion(cohort, column)
    n_groups = check_count(n_groups, "n_groups", minimum=2)
    if cohort.n_subjects < 2 * n_groups:
        raise InputError(
            f"n_groups={n_groups} for {cohort.n_subjects} subjects with {column!r}; "
            "each group needs at least two. Ask for fewer groups."
        )
    motion = as_floats(cohort.motion[column])
    edges = SubjectRows.of(cohort.edges)
    totals = np.concatenate([part.sum(axis=1, dtype=np.float64) for _, part in edges.parts()])
    rows = [
        {
            "group": number,
            "n_subjects": len(members),
            "motion_median": float(np.median(motion[members])),
            "fibres_mean": float(totals[members].mean()),
            "fibres_se": float(totals[members].std(ddof=1) / np.sqrt(len(members))),
        }
        for number, members in enumerate(
            np.array_split(np.argsort(motion, kind="stable"), n_groups), start=1
        )
    ]
    return pd.DataFrame(rows)


def top_changed_edges(
    cohort: Cohort, column: str, *, quantile: float = 0.1, n_edges: int = 10
) -> pd.DataFrame:
    """List the edges whose mean differs most between large and small motion.

    Returns
    -------
    pandas.DataFrame
        One row per edge, largest absolute difference first: ``region_a``, ``region_b``,
        ``length_mm`` (NaN where unknown), ``small_mean``, ``large_mean``, ``difference``
        (large − small, fibres) and ``change`` (share of the small-motion mean; NaN if that is 0).
    """
    cohort = _with_motion(cohort, column)
    n_edges = check_count(n_edges, "n_edges", minimum=1)
    groups = cohort.motion_groups(column, quantile=quantile)
    small, large = (
        matrices_to_edges(cohort.edge_means(members)[None], check=False)[0]
        for members in (groups.small, groups.large)
    )
    difference = large - small
    rows, columns = edge_indices(cohort.n_regions)
    names = cohort.regions["name"].to_numpy(dtype=object)
    lengths = _edge_lengths(cohort)
    top = np.argsort(-np.abs(difference), kind="stable")[:n_edges]
    return pd.DataFrame(
        {
            "region_a": names[rows[top]],
            "region_b": names[columns[top]],
            "length_mm": np.nan if lengths is None else lengths[top],
            "small_mean": small[top],
            "large_mean": large[top],
            "difference": difference[top],
            "change": difference[top] / np.where(small[top] > 0, small[top], np.nan),
        }
    )


def qcsc_correlations(cohort: Cohort, column: str) -> QCSC:
    """Correlate every edge with motion over subjects (Spearman, since motion is skewed)."""
    cohort = _with_motion(cohort, column)
    motion = check_confounds(cohort.motion[column], name=column)[:, 0]
    if cohort.n_subjects < _MIN_SUBJECTS:
        raise InputError(
            f"{cohort.n_subjects} subjects with {column!r}; a correlation needs "
            f"at least {_MIN_SUBJECTS}."
        )
    blocks = _blocks_of_edges(cohort.edges)
    correlations = np.concatenate([_rank_correlations(block, motion) for block in blocks])
    freedom = cohort.n_subjects - 2
    with np.errstate(divide="ignore"):  # |r| = 1 is p = 0
        t = np.abs(correlations) * np.sqrt(freedom / (1 - correlations**2))
    return QCSC(correlations, 2 * stats.t.sf(t, freedom), _edge_lengths(cohort))


def edge_table(effects: MotionEffects) -> pd.DataFrame:
    """Give the QC–SC of every edge as a table with the names of its two regions.

    Returns
    -------
    pandas.DataFrame
        ``region_a``, ``region_b``, ``length_mm`` (NaN where unknown), ``correlation``,
        ``p_value`` and ``difference`` (large − small motion, fibres); one row per edge.
    """
    rows, columns = edge_indices(len(effects.regions))
    names = effects.regions["name"].to_numpy(dtype=object)
    lengths = effects.qcsc.lengths
    return pd.DataFrame(
        {
            "region_a": names[rows],
            "region_b": names[columns],
            "length_mm": np.nan if lengths is None else lengths,
            "correlation": effects.qcsc.correlations,
            "p_value": effects.qcsc.p_values,
            "difference": effects.difference[rows, columns],
        }
    )


def _with_motion(cohort: Cohort, column: str) -> Cohort:
    """Leave out the subjects whose motion is unknown."""
    if not isinstance(cohort, Cohort):
        raise InputError(f"cohort: a {type(cohort).__name__}; expected a stillome Cohort.")
    if not isinstance(column, str) or column not in cohort.motion:
        raise InputError(f"motion has no column {column!r}; it has {list(cohort.motion.columns)}.")
    known = np.isfinite(as_floats(cohort.motion[column], f"motion: column {column!r}"))
    if not known.any():
        raise InputError(f"motion: column {column!r} holds no value for any subject.")
    return cohort if known.all() else cohort.select(known)


def _blocks_of_edges(edges: AnyRows) -> Iterator[NDArray[Any]]:
    """Give the values of some edges in all subjects; those of a store by way of a file."""
    if not isinstance(edges, SubjectRows):
        yield edges
        return
    plan = BlockPlan.of(edges.shape, None)
    store = plan.store(edges.shape, np.dtype(edges.dtype).newbyteorder("="))
    for start, part in edges.parts():
        store.write_rows(start, part)
    for number in range(len(store.blocks)):
        yield store.read(number)


def _edge_lengths(cohort: Cohort) -> Floats | None:
    if cohort.lengths is None:
        return None
    return np.asarray(matrices_to_edges(cohort.lengths[None], check=False)[0])


def _rank_correlations(features: Floats, values: Floats) -> Floats:
    """Return Spearman's r of each column of (n, F) with (n,); NaN where a column is constant."""
    ranks = stats.rankdata(features, axis=0)
    ranks -= ranks.mean(axis=0)
    ranked = stats.rankdata(values) - (len(values) + 1) / 2
    scale = np.sqrt((ranks**2).sum(axis=0) * (ranked @ ranked))
    scale[scale == 0] = np.nan
    return np.clip(ranked @ ranks / scale, -1, 1)
