"""The leakage certificate: can any probe still read motion from these features?"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from stillome.edges import matrices_to_edges
from stillome.evaluate.probes import (
    Folds,
    ProbeResult,
    Shuffler,
    fit_svr,
    fit_trees,
    probe_by_fitting,
    probe_distance_correlation,
    probe_ridge,
)
from stillome.exceptions import InputError
from stillome.validation import check_confounds, check_features

PROBES = ("ridge", "svr", "trees", "distance correlation")
_MIN_SUBJECTS = 20

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class LeakageCertificate:
    """What the probes found.

    Attributes
    ----------
    table : pandas.DataFrame
        One row per probe: ``r2`` (cross-fitted R² of the confound that is read best; for distance
        correlation its bias-corrected square), ``p_value`` (exact permutation test), ``p_holm``
        (corrected over probes), ``null_95`` (95th percentile without leakage).
    worst : str
        The probe with the largest R².
    passed : bool
        Whether no probe beats permuted motion at `level` after Holm's correction.
    level : float
    """

    table: pd.DataFrame
    worst: str
    passed: bool
    level: float = 0.05

    @property
    def worst_r2(self) -> float:
        """Largest R² of any probe."""
        return float(self.table.loc[self.worst, "r2"])

    def sentence(self, features: str = "these features", raw: "LeakageCertificate | None" = None) -> str:
        """Say the verdict in plain words.

        Parameters
        ----------
        features : str
            What was probed, e.g. ``"z"``.
        raw : LeakageCertificate, optional
            The certificate of the unadjusted connectomes, for comparison.
        """
        if self.passed:
            shown, verdict = self.worst, f"No probe reads motion from {features} (worst: "
        else:
            # The worst R² need not be the significant one.
            shown = str(self.table["p_holm"].idxmin())
            caught = int((self.table["p_holm"] <= self.level).sum())
            verdict = f"{caught} of {len(self.table)} probes read motion from {features} (clearest: "
        row = self.table.loc[shown]
        text = f"{verdict}{shown}, R² {row['r2']:.3f}, p = {row['p_value']:.2g})"
        return text + (f"; raw connectomes: R² {raw.worst_r2:.2f}" if raw is not None else "")

    def __str__(self) -> str:
        return self.sentence()


def leakage_certificate(
    features: ArrayLike,
    confounds: ArrayLike,
    *,
    kind: Literal["features", "counts"] = "features",
    nuisance: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    n_permutations: int = 500,
    n_folds: int = 5,
    level: float = 0.05,
    random_state: int | None = 0,
    progress: Progress | None = None,
) -> LeakageCertificate:
    """Let every probe try to read the confounds from the features of held-out subjects.

    Parameters
    ----------
    features : array-like of shape (n, p), or (n, V, V) with ``kind="counts"``
        A representation, or connectomes.
    confounds : array-like of shape (n,) or (n, C)
        Motion; a probe is scored by the column that it reads best.
    kind : {"features", "counts"}, default="features"
        Counts are probed on the log scale, and their pattern of zeros by itself as well.
    nuisance : array-like of shape (n,) or (n, Q), optional
        What may legitimately link features and confounds (age, sex): its linear part is taken
        out of both before probing.
    groups : array-like of shape (n,), optional
        Family or site: kept together in folds and in permutations.
    n_permutations : int, default=500
        For ridge and distance correlation; the slower probes are tested prequentially.
    n_folds : int, default=5
    level : float, default=0.05
        Chance of a false alarm, over all probes.
    random_state : int or None, default=0
    progress : callable, optional
        Called with (probes done, probes in all).

    Returns
    -------
    LeakageCertificate

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> motion = rng.gamma(2.0, 0.2, 120)
    >>> clean = rng.standard_normal((120, 5))
    >>> leakage_certificate(clean, motion).passed
    True
    >>> leaking = clean + motion[:, None]
    >>> leakage_certificate(leaking, motion).passed
    False
    """
    data = _ProbeData.prepare(features, confounds, kind, nuisance, groups, n_folds, random_state)
    orders = np.stack([data.shuffler.draw(data.rng) for _ in range(_at_least_one(n_permutations))])
    jobs = data.jobs(orders)
    results = {}
    for done, (name, job) in enumerate(jobs.items(), start=1):
        results[name] = job()
        if progress is not None:
            progress(done, len(jobs))
    table = pd.DataFrame.from_dict(results, orient="index", columns=ProbeResult._fields)
    table.index.name = "probe"
    table.insert(2, "p_holm", holm(table["p_value"].to_numpy()))
    passed = bool((table["p_holm"] > level).all())
    return LeakageCertificate(table, str(table["r2"].idxmax()), passed, level)


def probe_scores(
    features: ArrayLike,
    confounds: ArrayLike,
    *,
    kind: Literal["features", "counts"] = "features",
    random_state: int | None = 0,
) -> dict[str, float]:
    """Return the R² of every probe, without tests; see `leakage_certificate`."""
    certificate = leakage_certificate(
        features, confounds, kind=kind, n_permutations=1, random_state=random_state
    )
    return {str(name): float(r2) for name, r2 in certificate.table["r2"].items()}


def holm(p_values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Correct p-values for having looked several times (Holm's step-down).

    Examples
    --------
    >>> holm(np.array([0.01, 0.04, 0.03])).tolist()
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p_values)
    steps = p_values[order] * np.arange(len(p_values), 0, -1)
    corrected = np.empty_like(p_values)
    corrected[order] = np.minimum(np.maximum.accumulate(steps), 1)
    return corrected


@dataclass(frozen=True)
class _ProbeData:
    """Features and confounds ready for probing, with the folds that all probes share."""

    features: NDArray[np.float64]
    zeros: NDArray[np.float64] | None
    confounds: NDArray[np.float64]
    groups: NDArray[np.intp]
    folds: Folds
    shuffler: Shuffler
    rng: np.random.Generator

    @classmethod
    def prepare(
        cls,
        features: ArrayLike,
        confounds: ArrayLike,
        kind: str,
        nuisance: ArrayLike | None,
        groups: ArrayLike | None,
        n_folds: int,
        random_state: int | None,
    ) -> "_ProbeData":
        if kind not in ("features", "counts"):
            raise InputError(f"kind={kind!r}; expected 'features' or 'counts'.")
        zeros = None
        if kind == "counts":
            edges = matrices_to_edges(features)
            table = np.log1p(edges.astype(np.float64))
            zeros = (edges == 0).astype(np.float64)
        else:
            table = check_features(features)
        n = len(table)
        targets = check_confounds(confounds, n_subjects=n)
        if n < _MIN_SUBJECTS:
            raise InputError(
                f"{n} subjects are too few to look for leakage; at least {_MIN_SUBJECTS} needed."
            )
        labels = np.arange(n) if groups is None else _group_labels(groups, n)
        if nuisance is not None:
            design = check_confounds(nuisance, n_subjects=n, name="nuisance")
            table, targets = _without(table, design), _without(targets, design)
            zeros = None if zeros is None else _without(zeros, design)
        rng = np.random.default_rng(random_state)
        folds = _grouped_folds(labels, n_folds, rng)
        standard = _standardised(table)
        zero_table = None if zeros is None else _standardised(zeros)
        if zero_table is not None and zero_table.shape[1] == 0:
            zero_table = None
        return cls(
            standard, zero_table, _standardised(targets), labels, folds, Shuffler(labels), rng
        )

    def jobs(self, orders: NDArray[np.intp]) -> dict[str, Callable[[], ProbeResult]]:
        """Return what is to be run, by the name it has in the table."""
        shared = (self.confounds, self.folds)
        fitted = (*shared, self.groups, self.rng)
        x = self.features
        jobs: dict[str, Callable[[], ProbeResult]] = {
            "ridge": lambda: probe_ridge(x, *shared, orders),
            "svr": lambda: probe_by_fitting(fit_svr, x, *fitted),
            "trees": lambda: probe_by_fitting(fit_trees, x, *fitted),
            "distance correlation": lambda: probe_distance_correlation(x, self.confounds, orders),
        }
        if (zeros := self.zeros) is not None:
            jobs["zeros, ridge"] = lambda: probe_ridge(zeros, *shared, orders)
            jobs["zeros, trees"] = lambda: probe_by_fitting(fit_trees, zeros, *fitted)
        return jobs


def _at_least_one(n_permutations: int) -> int:
    if n_permutations < 1:
        raise InputError(f"n_permutations={n_permutations}; expected at least 1.")
    return n_permutations


def _group_labels(groups: ArrayLike, n: int) -> NDArray[np.intp]:
    values = np.asarray(groups)
    if values.shape != (n,):
        raise InputError(f"groups: shape {values.shape}; expected one label for each of {n}.")
    labels: NDArray[np.intp] = np.unique(values.astype(str), return_inverse=True)[1]
    return labels


def _grouped_folds(
    labels: NDArray[np.intp], n_folds: int, rng: np.random.Generator
) -> Folds:
    """Deal whole groups at random into folds of about equal size."""
    n_groups = int(labels.max()) + 1
    if not 2 <= n_folds <= n_groups:
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


def _without(values: NDArray[np.float64], design: NDArray[np.float64]) -> NDArray[np.float64]:
    with_intercept = np.column_stack([np.ones(len(design)), design])
    fitted, *_ = np.linalg.lstsq(with_intercept, values, rcond=None)
    return np.asarray(values - with_intercept @ fitted)


def _standardised(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Centre and scale each column; columns that do not vary carry nothing and are left out."""
    spread = values.std(axis=0)
    varies = spread > 1e-12 * (1 + np.abs(values).max(axis=0))
    return np.asarray((values[:, varies] - values[:, varies].mean(axis=0)) / spread[varies])
