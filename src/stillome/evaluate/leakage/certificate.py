"""The leakage certificate: whether any probe predicts motion from features."""

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from stillome.arrays import Floats
from stillome.cohort.exchange import Shuffler
from stillome.cohort.validation import check_count, check_random_state, check_share
from stillome.evaluate.leakage.certificate_record import LeakageCertificate
from stillome.evaluate.leakage.forest import N_TREES, fit_trees
from stillome.evaluate.leakage.outcomes import ProbeResult, joined
from stillome.evaluate.leakage.probe_data import ProbeData, prepare_probes
from stillome.evaluate.leakage.probes import (
    Fitter,
    Outcome,
    fit_svr,
    probe_by_fitting,
    probe_distance_correlation,
    probe_ridge,
)
from stillome.exceptions import InputError, StillomeWarning
from stillome.progress import Progress

Kind = Literal["features", "counts"]
Job = Callable[[], Outcome]

# Summary numbers include the graph measures, so that trees see these too.
_ALSO_BY_TREES = ("zeros", "summary")


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
    data = [
        prepare_probes(one, confounds, kind, nuisance, groups, n_folds, rng, label)
        for one, label in zip(features, labels, strict=True)
    ]
    jobs = _jobs(data, n_permutations, rng)
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
    return LeakageCertificate(table, level, len(data[0].confounds))


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
    return {name: job().r2 for name, job in _jobs([data], 0, rng).items()}


def _jobs(
    repeats: Sequence[ProbeData], n_permutations: int, rng: np.random.Generator
) -> dict[str, Callable[[], ProbeResult]]:
    """Return the probes to run by their names in the table; 0 permutations make no test."""
    # Each probe has its own generator, so that scores are the same with and without tests.
    first = repeats[0]
    shuffles, *seeds = rng.integers(2**63, size=1 + 4 * len(repeats)).tolist()
    bootstrap = int(rng.integers(2**63))
    orders = np.empty((0, len(first.groups)), dtype=np.intp)
    if n_permutations:
        shuffler = Shuffler(first.groups).check_any()
        orders = shuffler.draw_many(n_permutations, np.random.default_rng(shuffles))
    jobs = [
        _jobs_of_repeat(data, orders, seeds[4 * i : 4 * i + 4]) for i, data in enumerate(repeats)
    ]

    def over_repeats(name: str) -> Callable[[], ProbeResult]:
        return lambda: joined(
            [one[name]() for one in jobs], first.confounds, first.groups, bootstrap
        )

    # A view that does not vary in one of the repeats is not probed in the others.
    return {name: over_repeats(name) for name in jobs[0] if all(name in one for one in jobs)}


def _jobs_of_repeat(
    data: ProbeData, orders: NDArray[np.intp], seeds: Sequence[int]
) -> dict[str, Job]:
    fits = [np.random.default_rng(seed) for seed in seeds]
    x, c, blocks, labels = data.features, data.confounds, data.blocks, data.two_valued
    groups = data.groups if len(orders) else None

    def ridge(view: Floats) -> Job:
        return lambda: probe_ridge(view, c, blocks, orders, labels)

    # The chance in a forest averages out over the forests of several blocks.
    trees = partial(fit_trees, n_trees=N_TREES // len(blocks))

    def fitting(fit: Fitter, view: Floats, own: np.random.Generator) -> Job:
        return lambda: probe_by_fitting(fit, view, c, blocks, groups, own, labels)

    jobs: dict[str, Job] = {
        "ridge": ridge(x),
        "svr": fitting(fit_svr, x, fits[0]),
        "trees": fitting(trees, x, fits[1]),
        "distance correlation": lambda: probe_distance_correlation(x, c, blocks, orders),
    }
    for name, view in data.views.items():
        jobs[f"{name}, ridge"] = ridge(view)
        if name in _ALSO_BY_TREES:
            own = fits[2 + _ALSO_BY_TREES.index(name)]
            jobs[f"{name}, trees"] = fitting(trees, view, own)
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
