"""Fidelity: what an adjustment kept of the individual connectomes."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import rankdata

from stillome.arrays import Floats
from stillome.cohort.validation import check_confounds, check_share
from stillome.evaluate.graph_measures import graph_measures
from stillome.evaluate.identity import (
    identification_rate,
    log_edges,
    mean_subject_correlation,
    paired_edges,
)
from stillome.evaluate.prediction.statistics import pearson_r, r_squared
from stillome.exceptions import InputError


@dataclass(frozen=True)
class FidelityReport:
    """What an adjustment kept; on the scale of log(1 + count) unless stated otherwise.

    Attributes
    ----------
    r2, subject_correlation, identification : float
        Against the motion-free connectomes: see `fidelity_r2`, `mean_subject_correlation` and
        `identification_rate`. NaN where these are unknown.
    edge_means_r2, edge_variances_r2 : float
        How well the mean and variance over subjects of every adjusted edge agree with those of the
        raw edges at small motion: R² over edges. 1 is perfect; below 0 is worse than one value
        for all edges.
    variance_ratio : float
        Sum of the edges' variances, adjusted over raw at small motion; near 0 when all subjects
        were given the same network.
    density_r, strength_r, clustering_r, efficiency_r, modularity_r : float
        Correlation over subjects of the measure in adjusted and raw networks; see
        `graph_measures`.
    zeros_adjusted, zeros_raw : float
        Share of edges without any fibre.
    total_ratio : float
        Mean number of fibres per subject, adjusted over raw.
    n_small_motion : int
        Number of subjects at small motion in the comparison; 0 where motion was not given and
        all raw connectomes were used.

    Examples
    --------
    >>> raw = np.random.default_rng(0).poisson(20, (30, 15))
    >>> report = fidelity_report(2 * raw, raw)
    >>> report.total_ratio, round(report.strength_r, 6)
    (2.0, 1.0)
    """

    r2: float
    subject_correlation: float
    identification: float
    edge_means_r2: float
    edge_variances_r2: float
    variance_ratio: float
    density_r: float
    strength_r: float
    clustering_r: float
    efficiency_r: float
    modularity_r: float
    zeros_adjusted: float
    zeros_raw: float
    total_ratio: float
    n_small_motion: int

    def sentence(self) -> str:
        """Summarise in a sentence what was kept."""
        raw = "raw connectomes" + (" at small motion" if self.n_small_motion else "")
        kept = (
            f"Edge means agree with {raw} by R² {self.edge_means_r2:.2f}, variances by "
            f"{self.edge_variances_r2:.2f} (adjusted / raw: {self.variance_ratio:.2f}); "
            f"across subjects, density correlates with the raw at {self.density_r:.2f}, strength "
            f"at {self.strength_r:.2f}, clustering at {self.clustering_r:.2f}, efficiency at "
            f"{self.efficiency_r:.2f}, modularity at {self.modularity_r:.2f}; zeros "
            f"{self.zeros_raw:.1%} before, {self.zeros_adjusted:.1%} after; "
            f"{self.total_ratio:.2f} times the fibres."
        )
        if np.isnan(self.r2):
            return kept
        return (
            f"Adjusted connectomes match the motion-free ones by R² {self.r2:.3f}; individual "
            f"deviations correlate at {self.subject_correlation:.3f}; "
            f"{self.identification:.1%} of subjects are identified. {kept}"
        )

    def __str__(self) -> str:
        return self.sentence()


def fidelity_r2(adjusted: ArrayLike, truth: ArrayLike) -> float:
    """R² of adjusted connectomes against the motion-free ones of the same subjects.

    On the scale of log(1 + count), over all subjects and edges; 1 is perfect, and the mean network
    of the truth for all subjects scores 0.

    Parameters
    ----------
    adjusted, truth : array-like of shape (n, V, V) or (n, V(V-1)/2)
        Fibre counts of the same subjects in the same order.

    Examples
    --------
    >>> truth = [[4, 0, 2], [1, 3, 2]]
    >>> fidelity_r2(truth, truth)
    1.0
    """
    found, known = log_edges(adjusted, truth)
    total = ((known - known.mean(axis=0)) ** 2).sum()
    if total == 0:
        raise InputError("truth: the same for all subjects, so that R² is not defined; pass more.")
    return float(1 - ((found - known) ** 2).sum() / total)


def fidelity_report(
    adjusted: ArrayLike,
    raw: ArrayLike,
    truth: ArrayLike | None = None,
    *,
    motion: ArrayLike | None = None,
    small_share: float = 0.25,
) -> FidelityReport:
    """Measure what an adjustment kept of the subjects, with or without a known truth.

    Parameters
    ----------
    adjusted, raw : array-like of shape (n, V, V) or (n, V(V-1)/2)
        Fibre counts of the same subjects, at least three, after and before adjusting.
    truth : array-like of the same shape, optional
        Motion-free connectomes of the same subjects (of a simulation).
    motion : array-like of shape (n,) or (n, C), optional
        Selects the subjects who moved least (by the sum of ranks over columns); without it, all
        raw connectomes are used.
    small_share : float, default=0.25
        Share of the subjects in the small-motion group.

    Returns
    -------
    FidelityReport

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> raw = rng.poisson(20, (30, 15))
    >>> report = fidelity_report(raw, raw, truth=raw)
    >>> report.r2, report.identification, report.total_ratio
    (1.0, 1.0, 1.0)
    """
    after, before = paired_edges(adjusted, raw, "raw", min_subjects=3)
    small = _small_motion(motion, len(before), check_share(small_share, "small_share"))
    return FidelityReport(
        **_against_truth(adjusted, truth),
        **_distributions(np.log1p(after), np.log1p(before[small])),
        **_measures_kept(after, before),
        zeros_adjusted=float((after == 0).mean()),
        zeros_raw=float((before == 0).mean()),
        total_ratio=_ratio(after.sum(), before.sum()),
        n_small_motion=0 if motion is None else len(small),
    )


def _against_truth(adjusted: ArrayLike, truth: ArrayLike | None) -> dict[str, float]:
    figures = {
        "r2": fidelity_r2,
        "subject_correlation": mean_subject_correlation,
        "identification": identification_rate,
    }
    return {
        name: float("nan") if truth is None else figure(adjusted, truth)
        for name, figure in figures.items()
    }


def _distributions(after: Floats, before: Floats) -> dict[str, float]:
    variances = after.var(axis=0, ddof=1), before.var(axis=0, ddof=1)
    return {
        "edge_means_r2": r_squared(after.mean(axis=0), before.mean(axis=0)),
        "edge_variances_r2": r_squared(*variances),
        "variance_ratio": _ratio(variances[0].sum(), variances[1].sum()),
    }


def _measures_kept(after: Floats, before: Floats) -> dict[str, float]:
    found, expected = graph_measures(after), graph_measures(before)
    return {
        f"{name}_r": pearson_r(expected[name].to_numpy(), found[name].to_numpy())
        for name in expected
    }


def _small_motion(motion: ArrayLike | None, n_subjects: int, share: float) -> NDArray[np.intp]:
    if motion is None:
        return np.arange(n_subjects)
    table = check_confounds(motion, n_subjects=n_subjects, name="motion")
    fewest = min(n_subjects, max(2, round(share * n_subjects)))  # one alone has no variance
    return np.argsort(rankdata(table, axis=0).sum(axis=1), kind="stable")[:fewest]


def _ratio(after: float, before: float) -> float:
    return float(after / before) if before > 0 else float("nan")
