"""The choice of `invariance_weight` by a certificate on held-out subjects."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from stillome.arrays import Floats
from stillome.cohort.edges import matrices_to_edges
from stillome.cohort.groups import Levels, group_levels, renumbered
from stillome.cohort.validation import check_confounds, check_connectomes, check_traits
from stillome.evaluate.leakage.certificate import leakage_certificate
from stillome.evaluate.prediction.folds import inner_split
from stillome.evaluate.prediction.statistics import pearson_r
from stillome.exceptions import InputError
from stillome.methods.contract import ConnectomeMethod
from stillome.methods.inv_fa.canonical_order import subject_order

WEIGHTS = (0.0, 0.25, 0.5, 0.75, 1.0)
COLUMNS = ("weight", "worst_r2", "p_value", "passed", "log_likelihood", "trait_r", "n_test")
_TEST_SHARE = 0.3
_LEAST_TESTED = 20  # what the certificate needs


@dataclass(frozen=True)
class InvarianceFrontier:
    """Leakage, likelihood and trait prediction of held-out subjects for several weights.

    Attributes
    ----------
    table : pandas.DataFrame
        One row per weight: ``weight``, ``worst_r2``, ``p_value`` (smallest, Holm), ``passed``,
        ``log_likelihood``, ``trait_r`` (mean over traits; NaN without), ``n_test``.
    weight : float
        The chosen weight; see `smallest_passing`.
    """

    table: pd.DataFrame
    weight: float


class _Subjects(NamedTuple):
    """Subjects whose confounds are all known."""

    edges: NDArray[Any]  # (n, E)
    confounds: Floats  # (n, C)
    traits: Floats | None  # (n, T)
    covariates: Floats | None  # (n, Q)
    groups: Levels | None  # (n, 1) or (n, 3)

    def take(self, rows: NDArray[np.intp]) -> "_Subjects":
        return _Subjects(
            self.edges[rows],
            self.confounds[rows],
            None if self.traits is None else self.traits[rows],
            None if self.covariates is None else self.covariates[rows],
            None if self.groups is None else self.groups[rows],
        )

    @property
    def labels(self) -> NDArray[np.intp]:
        """Number of the group of each subject (n,)."""
        return np.arange(len(self.edges)) if self.groups is None else self.groups[:, 0]


def choose_invariance_weight(
    method: ConnectomeMethod,
    X: ArrayLike,
    y: ArrayLike | None = None,
    *,
    confounds: ArrayLike,
    covariates_to_keep: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    random_state: int = 0,
) -> InvarianceFrontier:
    """Choose the smallest `invariance_weight` whose certificate passes on held-out subjects.

    Parameters
    ----------
    method : ConnectomeMethod
        Unfitted, with the parameter ``invariance_weight`` (`InvFA`, `InvVAE`); it is not changed.
    X : array-like of shape (n, V, V) or (n, V(V-1)/2)
    y : array-like of shape (n,) or (n, T), optional
        Traits; NaN is missing.
    confounds : array-like of shape (n,) or (n, C)
        Subjects with NaN are left out.
    covariates_to_keep : array-like of shape (n,) or (n, Q), optional
        Passed to `fit`, and accounted for by the probes.
    groups : array-like of shape (n,) or (n, 2), optional
        Families, or scans of one person: never on both sides of the split into fitting and
        testing, nor of a split inside a fit; see `group_levels`.
    random_state : int, default=0

    Returns
    -------
    InvarianceFrontier

    Raises
    ------
    InputError
        If the method has no such parameter, or too few subjects can be held out.

    Examples
    --------
    >>> from stillome.methods import InvFA
    >>> from stillome.simulate import simulate_cohort
    >>> data = simulate_cohort(80, random_state=0)
    >>> frontier = choose_invariance_weight(InvFA(5), data.X, confounds=data.confounds)
    >>> model = InvFA(5, invariance_weight=frontier.weight)
    """
    if not isinstance(method, ConnectomeMethod) or "invariance_weight" not in method.get_params():
        raise InputError(
            f"method: {type(method).__name__} has no parameter 'invariance_weight'; give an "
            "InvFA or InvVAE."
        )
    subjects = _known(X, y, confounds, covariates_to_keep, groups)
    train, test = _split(subjects, random_state)
    rows = [
        _judged(weight, model, test, random_state)
        for weight, model in _fitted(method, train).items()
    ]
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    return InvarianceFrontier(table, smallest_passing(table))


def smallest_passing(frontier: pd.DataFrame) -> float:
    """Return the smallest weight that passes.

    If none does: the smallest whose worst R² is within one standard error of the best.
    """
    passing = frontier[frontier["passed"]]
    if len(passing):
        return float(passing["weight"].min())
    within = frontier["worst_r2"] <= best_leakage(frontier).high
    return float(frontier.loc[within, "weight"].min())


class BestLeakage(NamedTuple):
    """The smallest worst R² of all weights, and one standard error above it."""

    r2: float
    high: float


def best_leakage(frontier: pd.DataFrame) -> BestLeakage:
    """Return the best R² and one standard error above it, given `n_test` subjects."""
    best = float(frontier["worst_r2"].min())
    return BestLeakage(best, best + 2 * float(np.sqrt(max(best, 0) / frontier["n_test"].iloc[0])))


def _known(
    X: ArrayLike,
    y: ArrayLike | None,
    confounds: ArrayLike,
    covariates_to_keep: ArrayLike | None,
    groups: ArrayLike | None,
) -> _Subjects:
    """Validate the arguments; return the subjects with known confounds."""
    edges = matrices_to_edges(check_connectomes(X, name="X"), check=False)
    n = len(edges)
    motion = check_confounds(confounds, n_subjects=n, allow_missing=True)
    traits = None if y is None else check_traits(y, n_subjects=n, name="y")
    kept = None
    if covariates_to_keep is not None:
        kept = check_confounds(covariates_to_keep, n_subjects=n, name="covariates_to_keep")
    known = np.flatnonzero(~np.isnan(motion).any(axis=1))
    # In an order that depends on the subjects, not on their position; so do the groups' numbers.
    known = known[subject_order(edges[known], motion[known])]
    levels = None if groups is None else group_levels(groups, n)
    subjects = _Subjects(edges, motion, traits, kept, levels).take(known)
    return subjects if levels is None else subjects._replace(groups=renumbered(levels[known]))


def _split(subjects: _Subjects, random_state: int) -> tuple[_Subjects, _Subjects]:
    """Divide the subjects into those that fit (70 %) and those that test; no group is divided."""
    labels = subjects.labels
    n, n_groups = len(labels), len(np.unique(labels))
    everybody = np.arange(n)
    train = test = everybody[:0]
    if n_groups > 1:
        train, test = inner_split(everybody, labels, share=_TEST_SHARE, random_state=random_state)
    if len(test) < _LEAST_TESTED:
        raise InputError(
            f"invariance_weight: {n} subjects in {n_groups} groups are too few to hold out "
            f"{_LEAST_TESTED} of them; at least {round(_LEAST_TESTED / _TEST_SHARE)} subjects "
            "are needed. Set invariance_weight to a number."
        )
    return subjects.take(train), subjects.take(test)


def _fitted(method: ConnectomeMethod, train: _Subjects) -> dict[float, ConnectomeMethod]:
    """Fit the method with every weight."""
    given: dict[str, Any] = {
        "confounds": train.confounds,
        "covariates_to_keep": train.covariates,
    }
    belonging = {} if train.groups is None else {"groups": train.groups}

    def fit(weight: float) -> ConnectomeMethod:
        model = clone(method).set_params(invariance_weight=weight)
        return model.fit(train.edges, train.traits, **given, **belonging)

    if not hasattr(method, "with_invariance_weight"):
        return {weight: fit(weight) for weight in WEIGHTS}
    reweighted = fit(1.0).with_invariance_weight
    subjects = {"X": train.edges, "y": train.traits, "confounds": train.confounds}
    subjects |= belonging
    return {weight: reweighted(weight, **subjects) for weight in WEIGHTS}


def _judged(weight: float, model: Any, test: _Subjects, random_state: int) -> dict[str, Any]:
    """Return one row of the table."""
    latent = model.transform(test.edges, confounds=test.confounds)
    certificate = leakage_certificate(
        latent,
        test.confounds,
        nuisance=test.covariates,
        groups=test.groups,
        random_state=random_state,
    )
    return {
        "weight": weight,
        "worst_r2": certificate.worst_r2,
        "p_value": float(certificate.table["p_holm"].min()),
        "passed": certificate.passed,
        "log_likelihood": model.log_likelihood(test.edges, confounds=test.confounds),
        "trait_r": _trait_r(model, test),
        "n_test": len(test.edges),
    }


def _trait_r(model: ConnectomeMethod, test: _Subjects) -> float:
    """Return Pearson's r of predicted and observed traits, its mean over traits."""
    if test.traits is None:
        return float("nan")
    predicted = model.predict(test.edges, confounds=test.confounds)
    pairs = zip(test.traits.T, predicted.reshape(test.traits.shape).T, strict=True)
    found = [
        r for r in (pearson_r(observed, guess) for observed, guess in pairs) if not np.isnan(r)
    ]
    return float(np.mean(found)) if found else float("nan")
