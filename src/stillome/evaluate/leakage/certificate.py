"""The leakage certificate: whether any probe predicts motion from features."""

import warnings
from collections.abc import Sequence
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from stillome.cohort.validation import check_count, check_random_state, check_share
from stillome.evaluate.leakage.certificate_record import LeakageCertificate
from stillome.evaluate.leakage.large_jobs import large_probe_jobs
from stillome.evaluate.leakage.large_probes import LargeProbeData, is_large, prepare_large
from stillome.evaluate.leakage.outcomes import ProbeResult
from stillome.evaluate.leakage.probe_data import prepare_probes
from stillome.evaluate.leakage.probe_jobs import Jobs, probe_jobs
from stillome.exceptions import InputError, StillomeWarning
from stillome.progress import Progress

Kind = Literal["features", "counts"]
# Confounds, kind, nuisance, groups, number of folds and generator.
_Given = tuple[ArrayLike, Kind, ArrayLike | None, ArrayLike | None, int, np.random.Generator]


def leakage_certificate(
    features: ArrayLike,
    confounds: ArrayLike,
    *,
    kind: Kind = "features",
    nuisance: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    within: ArrayLike | None = None,
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
        A representation, or connectomes. Those of large cohorts (more than 5,000 subjects, or 2²⁵
        values) are read in slices and may stay in a store (zarr, HDF5, Dask); see Notes.
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
    within : array-like of shape (n,), optional
        Probes are trained and tested only among subjects with the same label; predictions are
        pooled over labels. Needed where subjects were adjusted by different models, as in
        cross-fitting. The errors of these models are negatively correlated (what is estimated too
        large for one part is estimated too small for the others), so that a probe trained across
        parts misses leakage that is in each of them. Latents of different models are different
        coordinates, too.
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

    Notes
    -----
    In large cohorts, ridge regression is computed in parts. It is exact where there are at most
    3,000 subjects or at most 3,000 features; otherwise it sees 3,000 random sums of the features.
    Leakage that is spread evenly over E features must then be about (E / 3,000)^(1/4) times as
    large in each of them to be detected. Support vectors, trees and distance correlation see a
    sample of 2,000 subjects, which does not depend on their order, and at most 2,500 features of
    each; the table says how many of both every probe saw.

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
    return repeated_certificate(
        [features],
        confounds,
        within=None if within is None else [within],
        kind=kind,
        nuisance=nuisance,
        groups=groups,
        n_permutations=n_permutations,
        n_folds=n_folds,
        level=level,
        random_state=random_state,
        progress=progress,
    )


def repeated_certificate(
    features: Sequence[ArrayLike],
    confounds: ArrayLike,
    *,
    within: Sequence[ArrayLike] | None = None,
    kind: Kind = "features",
    nuisance: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    n_permutations: int = 500,
    n_folds: int = 5,
    level: float = 0.05,
    random_state: int | np.random.Generator | None = 0,
    progress: Progress | None = None,
) -> LeakageCertificate:
    """Certify the mean over several sets of features of the same subjects (repeated cross-fitting).

    Parameters
    ----------
    features : sequence of arrays, each of shape (n, p) or (n, V, V)
        What each repeat made of the subjects.
    within : sequence of arrays of shape (n,), optional
        The labels of every repeat; see `leakage_certificate`.
    confounds, kind, nuisance, groups, n_permutations, n_folds, level, random_state, progress
        As for `leakage_certificate`.

    Returns
    -------
    LeakageCertificate
        R² is the mean over repeats. A permutation gives the same motion to a subject in all
        repeats, and is compared by its mean over repeats.
    """
    level = check_share(level, "level")
    n_permutations = check_count(n_permutations, "n_permutations", minimum=1)
    rng = check_random_state(random_state)
    labels = [None] * len(features) if within is None else within
    if not len(features) or len(labels) != len(features):
        raise InputError(
            f"within: labels of {len(labels)} repeats for {len(features)} sets of features."
        )
    repeats = list(zip(features, labels, strict=True))
    given: _Given = (confounds, kind, nuisance, groups, n_folds, rng)
    jobs = _jobs(repeats, given, n_permutations)
    if n_permutations + 1 < len(jobs) / level:
        warnings.warn(
            f"n_permutations={n_permutations}: too few for ridge or distance correlation to fail "
            f"at level {level:g} over {len(jobs)} probes; use {int(np.ceil(len(jobs) / level))}.",
            StillomeWarning,
            stacklevel=3,
        )
    results = {}
    for done, (name, job) in enumerate(jobs.items(), start=1):
        results[name] = job()
        if progress is not None:
            progress(done, len(jobs))
    table = pd.DataFrame.from_dict(results, orient="index", columns=ProbeResult._fields)
    table.index.name = "probe"
    table.insert(2, "p_holm", holm(table["p_value"].to_numpy()))
    return LeakageCertificate(table, level, int(table["n_subjects"].max()))


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
    given: _Given = (confounds, kind, nuisance, groups, n_folds, rng)
    return {name: job().r2 for name, job in _jobs([(features, None)], given, 0).items()}


def _jobs(
    repeats: Sequence[tuple[ArrayLike, ArrayLike | None]], given: _Given, n_permutations: int
) -> Jobs:
    """Return the probes to run by their names in the table; 0 permutations make no test."""
    _, kind, *_, rng = given
    if not any(is_large(one, kind) for one, _ in repeats):
        data = [prepare_probes(one, *given, label) for one, label in repeats]
        return probe_jobs(data, n_permutations, rng)
    large: list[LargeProbeData] = []
    for one, label in repeats:
        subjects = large[0].subjects if large else None
        large.append(prepare_large(one, *given, label, subjects))
    return large_probe_jobs(large, n_permutations, rng)


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
