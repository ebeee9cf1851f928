"""Graph measures against motion, before and after an adjustment."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.stats import rankdata

from stillome.arrays import Floats
from stillome.cohort.exchange import Shuffler
from stillome.cohort.groups import group_levels
from stillome.cohort.residuals import residualised
from stillome.cohort.validation import check_random_state
from stillome.evaluate.graph_measures import GRAPH_MEASURES
from stillome.evaluate.leakage.certificate import holm

GRAPH_COLUMNS = ("r", "rms", "p_value", "p_holm")


def graph_motion(
    measures: Sequence[pd.DataFrame],
    motion: ArrayLike,
    *,
    within: Sequence[ArrayLike] | None = None,
    nuisance: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    n_permutations: int = 1000,
    random_state: int | np.random.Generator | None = 0,
) -> pd.DataFrame:
    """Correlate graph measures with motion by ranks, and test them by permutations of motion.

    Parameters
    ----------
    measures : sequence of pandas.DataFrame with n rows
        Columns `GRAPH_MEASURES`; one table for each repeat of a cross-fitting, or a single one.
    motion : array-like of shape (n,)
    within : sequence of arrays of shape (n,), optional
        Labels of each repeat: subjects with the same label were adjusted by the same model, and
        are ranked among themselves.
    nuisance : array-like of shape (n, Q), optional
        Both sides are residualised on it (partial rank correlation).
    groups : array-like of shape (n,), optional
        Families, which permutations keep together.
    n_permutations : int, default=1000
    random_state : int, numpy.random.Generator or None, default=0

    Returns
    -------
    pandas.DataFrame
        Index ``measure``; ``r``, Spearman's correlation, the mean over labels and repeats;
        ``rms``, the root of the mean of r²; ``p_value`` and ``p_holm`` (over measures) of that
        mean. The square is tested because
        the errors of cross-fitted models have opposite signs in different parts, so that the mean
        of r is near 0 even where motion can be read in each part. NaN where a measure does not
        vary.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> motion = rng.random(80)
    >>> table = pd.DataFrame(rng.random((80, 5)), columns=list(GRAPH_MEASURES))
    >>> table["strength"] -= motion
    >>> found = graph_motion([table], motion)
    >>> found.index[found["p_holm"] < 0.05].tolist()
    ['strength']
    """
    moved = np.asarray(motion, dtype=np.float64)
    n = len(moved)
    levels = group_levels(groups, n)
    design = None if nuisance is None else np.asarray(nuisance, dtype=np.float64).reshape(n, -1)
    shuffler = Shuffler(levels)
    orders = shuffler.draw_many(n_permutations, check_random_state(random_state))
    orders = np.concatenate([np.arange(n)[None], orders])
    parts = [
        (table, np.flatnonzero(np.asarray(label) == one))
        for table, label in zip(measures, within or [np.zeros(n)] * len(measures), strict=True)
        for one in np.unique(np.asarray(label))
    ]
    rows = {}
    for name in GRAPH_MEASURES:
        r = [
            _correlations(table[name].to_numpy(dtype=np.float64), moved, members, orders, design)
            for table, members in parts
        ]
        statistic = np.mean(np.square(r), axis=0)
        p_value = float((statistic >= statistic[0]).mean())  # the observed order is among them
        known = bool(np.isfinite(statistic[0]))
        size = float(np.sqrt(statistic[0]))
        rows[name] = (float(np.mean(r, axis=0)[0]), size, p_value if known else float("nan"))
    table = pd.DataFrame.from_dict(rows, orient="index", columns=["r", "rms", "p_value"])
    table.index.name = "measure"
    known = table["p_value"].notna()
    table["p_holm"] = np.nan
    table.loc[known, "p_holm"] = holm(table.loc[known, "p_value"].to_numpy())
    return table


def _correlations(
    values: Floats,
    motion: Floats,
    members: NDArray[np.intp],
    orders: NDArray[np.intp],
    design: Floats | None,
) -> Floats:
    """Return rank correlations (1 + B,) within one part, as observed and in every permutation."""
    ranks = rankdata(values[members])
    moved = rankdata(motion[orders[:, members]], axis=1).T  # (members, 1 + B)
    if design is not None:
        varying = design[members][:, np.ptp(design[members], axis=0) > 0]
        ranks, moved = (residualised(side, varying) for side in (ranks[:, None], moved))
        ranks = ranks[:, 0]
    left, right = ranks - ranks.mean(), moved - moved.mean(axis=0)
    scale = np.linalg.norm(left) * np.linalg.norm(right, axis=0)
    return np.asarray(left @ right / np.where(scale > 1e-9, scale, np.nan))
