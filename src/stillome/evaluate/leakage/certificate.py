"""The leakage certificate: whether any probe predicts motion from features."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from stillome.arrays import Floats
from stillome.cohort.validation import check_count, check_random_state, check_share
from stillome.evaluate.leakage.probe_data import ProbeData, prepare_probes
from stillome.evaluate.leakage.probes import (
    Fitter,
    ProbeResult,
    Shuffler,
    fit_svr,
    fit_trees,
    probe_by_fitting,
    probe_distance_correlation,
    probe_ridge,
)
from stillome.exceptions import StillomeWarning
from stillome.progress import Progress

Kind = Literal["features", "counts"]
Job = Callable[[], ProbeResult]

# Summary numbers include the graph measures, so that trees see these too.
_ALSO_BY_TREES = ("zeros", "summary")


@dataclass(frozen=True, eq=False)
class LeakageCertificate:
    """What the probes found.

    Attributes
    ----------
    table : pandas.DataFrame
        One row per probe: ``r2`` (cross-fitted R² of the confound predicted best; for distance
        correlation its bias-corrected square), ``p_value`` (exact permutation test), ``p_holm``
        (corrected over probes), ``null_95`` (95th percentile without leakage), ``auc`` (area under
        the ROC curve of the confound with two values that is predicted best; NaN where no confound
        has two values, and for distance correlation).
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

    @property
    def clearest(self) -> str:
        """The probe with the smallest corrected p-value; the worst R² need not be significant."""
        return str(self.table["p_holm"].idxmin())

    @property
    def n_reading(self) -> int:
        """Number of probes that beat permuted motion at `level`."""
        return int((self.table["p_holm"] <= self.level).sum())

    def sentence(
        self,
        features: str = "these features",
        raw: "LeakageCertificate | None" = None,
        *,
        confounds: str = "motion",
    ) -> str:
        """Say the verdict in plain words.

        Parameters
        ----------
        features : str
            What was probed, e.g. ``"z"``.
        raw : LeakageCertificate, optional
            The certificate of the unadjusted connectomes, for comparison.
        confounds : str, default="motion"
            What the probes looked for.
        """
        if self.passed:
            shown, verdict = self.worst, f"No probe reads {confounds} from {features} (worst: "
        else:
            shown = self.clearest
            reads = "reads" if self.n_reading == 1 else "read"
            verdict = (
                f"{self.n_reading} of {len(self.table)} probes {reads} {confounds} from {features} "
                "(clearest: "
            )
        row = self.table.loc[shown]
        auc = f", AUC {row['auc']:.2f}" if np.isfinite(row["auc"]) else ""
        text = f"{verdict}{shown}, R² {row['r2']:.3f}{auc}, p = {row['p_value']:.2g})"
        return text + (f"; raw connectomes: R² {raw.worst_r2:.2f}" if raw is not None else "")

    def __str__(self) -> str:
        return self.sentence()


def leakage_certificate(
    features: ArrayLike,
    confounds: ArrayLike,
    *,
    kind: Kind = "features",
    nuisance: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    n_permutations: int = 500,
    n_folds: int = 5,
    level: float = 0.05,
    random_state: int | np.random.Generator | None = 0,
    progress: Progress | None = None,
) -> LeakageCertificate:
    """Test whether any probe predicts the confounds of held-out subjects from the features.

    Parameters
    ----------
    features : array-like of shape (n, p), or (n, V, V) with ``kind="counts"``
        A representation, or connectomes.
    confounds : array-like of shape (n,) or (n, C)
        Motion; a probe is scored by the column that it predicts best.
    kind : {"features", "counts"}, default="features"
        Counts are probed on the log scale. The pattern of zeros, summary numbers
        (`summary_features`), graph measures, and strength and degree of every region are probed by
        themselves as well: few numbers show a leak that is common to many edges.
    nuisance : array-like of shape (n,) or (n, Q), optional
        Covariates that may associate features and confounds (age, sex): both are residualised on
        them before probing.
    groups : array-like of shape (n,), optional
        Family or site: kept together in folds and in permutations.
    n_permutations : int, default=500
        For ridge and distance correlation; the slower probes are tested prequentially, with a
        number of their own.
    n_folds : int, default=5
    level : float, default=0.05
        Family-wise error rate, over all probes.
    random_state : int, numpy.random.Generator or None, default=0
    progress : callable, optional
        Called with (probes done, probes in all).

    Returns
    -------
    LeakageCertificate

    Raises
    ------
    InputError
        If the features are the same for all subjects: an empty representation passes any probe.

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
    level = check_share(level, "level")
    n_permutations = check_count(n_permutations, "n_permutations", minimum=1)
    rng = check_random_state(random_state)
    data = prepare_probes(features, confounds, kind, nuisance, groups, n_folds, rng)
    jobs = _jobs(data, n_permutations, rng)
    if n_permutations + 1 < len(jobs) / level:
        warnings.warn(
            f"n_permutations={n_permutations}: too few for ridge or distance correlation to fail "
            f"at level {level:g} over {len(jobs)} probes; use {int(np.ceil(len(jobs) / level))}.",
            StillomeWarning,
            stacklevel=2,
        )
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
    kind: Kind = "features",
    nuisance: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    n_folds: int = 5,
    random_state: int | np.random.Generator | None = 0,
) -> dict[str, float]:
    """Return the R² of every probe, without the tests, in less than half the time.

    Parameters are those of `leakage_certificate`, whose R² these are.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> motion = rng.gamma(2.0, 0.2, 120)
    >>> scores = probe_scores(rng.standard_normal((120, 5)) + motion[:, None], motion)
    >>> scores["ridge"] > 0.1
    True
    """
    rng = check_random_state(random_state)
    data = prepare_probes(features, confounds, kind, nuisance, groups, n_folds, rng)
    return {name: job().r2 for name, job in _jobs(data, 0, rng).items()}


def _jobs(data: ProbeData, n_permutations: int, rng: np.random.Generator) -> dict[str, Job]:
    """Return the probes to run by their names in the table; 0 permutations make no test."""
    # Each probe has its own generator, so that scores are the same with and without tests.
    seeds = rng.integers(2**63, size=5).tolist()
    shuffles, *fits = [np.random.default_rng(seed) for seed in seeds]
    orders = Shuffler(data.groups).draw_many(n_permutations, shuffles)
    x, c, folds, labels = data.features, data.confounds, data.folds, data.two_valued
    groups = data.groups if n_permutations else None

    def ridge(view: Floats) -> Job:
        return lambda: probe_ridge(view, c, folds, orders, labels)

    def fitting(fit: Fitter, view: Floats, own: np.random.Generator) -> Job:
        return lambda: probe_by_fitting(fit, view, c, folds, groups, own, labels)

    jobs: dict[str, Job] = {
        "ridge": ridge(x),
        "svr": fitting(fit_svr, x, fits[0]),
        "trees": fitting(fit_trees, x, fits[1]),
        "distance correlation": lambda: probe_distance_correlation(x, c, orders),
    }
    for name, view in data.views.items():
        jobs[f"{name}, ridge"] = ridge(view)
        if name in _ALSO_BY_TREES:
            own = fits[2 + _ALSO_BY_TREES.index(name)]
            jobs[f"{name}, trees"] = fitting(fit_trees, view, own)
    return jobs


def holm(p_values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Correct p-values for multiple tests (Holm's step-down).

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
