"""Trait prediction by cross-validation; all estimates come from the training part of a fold."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid

from stillome.cluster.engine import jobs_on_cluster
from stillome.cohort.cohort import Cohort
from stillome.cohort.residuals import least_squares
from stillome.evaluate.compare.comparison_data import Study
from stillome.evaluate.prediction.folds import Fold, inner_split, make_folds
from stillome.evaluate.prediction.statistics import pearson_r
from stillome.exceptions import InputError
from stillome.methods.contract import ConnectomeMethod
from stillome.methods.registry import make_method
from stillome.threads import one_thread

INNER_SHARE = 0.1
Choices = Mapping[str, Sequence[Any]]


class FoldFit(NamedTuple):
    """A method fitted to one training part, with its predictions of the test part."""

    model: ConnectomeMethod
    observed: NDArray[np.float64]  # (n_test, T), residualised on motion
    predicted: NDArray[np.float64]  # (n_test, T)

    def correlations(self) -> list[float]:
        """Return Pearson's r of every trait."""
        return [pearson_r(o, p) for o, p in zip(self.observed.T, self.predicted.T, strict=True)]


def residualised_traits(
    traits: NDArray[np.float64],
    confounds: NDArray[np.float64],
    train: NDArray[np.intp],
    covariates: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Residualise each trait on the confounds, with a regression fitted to the training subjects.

    Parameters
    ----------
    traits : array of shape (n, T)
        NaN is missing.
    confounds : array of shape (n, C)
    train : array of positions
        Only these subjects are learned from; the regression is applied to everybody.
    covariates : array of shape (n, Q), optional
        To keep: the effect of the confounds is estimated beside theirs.

    Returns
    -------
    array of shape (n, T)
        Exactly 0 where the confounds explain a trait entirely (the rest is rounding error); NaN
        for a trait with too few training values for a regression.

    Examples
    --------
    >>> motion = np.arange(6.0)[:, None]
    >>> residualised_traits(3 * motion + 1, motion, np.arange(4))[:, 0]
    array([0., 0., 0., 0., 0., 0.])
    """
    residuals = np.full_like(traits, np.nan)
    for column, values in enumerate(traits.T):
        known = ~np.isnan(values)
        learn = train[known[train]]
        kept = None if covariates is None else covariates[learn]
        if len(learn) < confounds.shape[1] + 2 + (0 if kept is None else kept.shape[1]):
            continue
        regression = least_squares(values[learn, None], confounds[learn], kept)
        left = regression.residuals(values[:, None], confounds)[:, 0]
        explained = left[learn].std() <= 1e-9 * values[learn].std()
        residuals[known, column] = 0.0 if explained else left[known]
    return residuals


def fit_fold(
    method: ConnectomeMethod,
    X: NDArray[Any],
    study: Study,
    train: NDArray[np.intp],
    test: NDArray[np.intp],
) -> FoldFit:
    """Fit a clone of `method` to the training part, once for all traits, and predict the rest."""
    traits, confounds, covariates = study.traits, study.confounds, study.covariates
    residuals = residualised_traits(traits, confounds, train, covariates)
    # A trait that does not vary, or is not known, in the training part cannot be learned.
    learnable = np.array([len(np.unique(t[~np.isnan(t)])) > 1 for t in residuals[train].T])
    y = residuals[train][:, learnable] if learnable.any() else None
    kept = None if covariates is None else covariates[train]
    model = clone(method).fit(
        X[train],
        y,
        confounds=confounds[train],
        covariates_to_keep=kept,
        **study.given_groups(train),
    )
    predicted = np.zeros((len(test), traits.shape[1]))
    if learnable.any():
        predicted[:, learnable] = model.predict(X[test], confounds=confounds[test])
    return FoldFit(model, residuals[test], predicted)


def choose(
    method: ConnectomeMethod,
    choices: Choices,
    X: NDArray[Any],
    study: Study,
    train: NDArray[np.intp],
    random_state: int,
) -> dict[str, Any]:
    """Return the parameters that predict best inside one training part (90 % fit, 10 % choose).

    Parameters
    ----------
    choices : mapping of parameter name to values
        Every combination is tried; the mean r over traits decides.
    """
    candidates = list(ParameterGrid(choices))
    if len(candidates) == 1:
        return dict(candidates[0])
    fit, decide = inner_split(train, study.labels, share=INNER_SHARE, random_state=random_state)
    scores: list[float] = []
    for parameters in candidates:
        candidate = clone(method).set_params(**parameters)
        outcome = fit_fold(candidate, X, study, fit, decide)
        known = [r for r in outcome.correlations() if not np.isnan(r)]
        scores.append(float(np.mean(known)) if known else 0.0)
    return dict(candidates[int(np.argmax(scores))])


def predict_trait(
    cohort: Cohort,
    trait: str,
    method: str | ConnectomeMethod = "inv-fa",
    confounds: str | Sequence[str] | ArrayLike | None = None,
    *,
    keep: str | Sequence[str] | ArrayLike | None = None,
    choices: Choices | None = None,
    cv: int = 5,
    repeats: int = 1,
    groups: str | ArrayLike | None = None,
    n_jobs: int | None = None,
    random_state: int = 0,
) -> pd.DataFrame:
    """Predict one trait of every subject, each by a model that was not fitted to that subject.

    Parameters
    ----------
    cohort : Cohort
    trait : str
        A column of the cohort's traits. It is residualised on motion, by a regression fitted to
        the training part of every fold.
    method : str or ConnectomeMethod, default="inv-fa"
        A name in `METHODS`, or a method with its parameters set.
    confounds : str, list of str, or array-like of shape (n, C), optional
        Columns of the cohort's motion (all of them if not given), or the values themselves.
    keep : str, list of str, or array-like of shape (n, Q), optional
        Columns that must not be removed with the confounds (age, sex), or their values.
    choices : mapping of parameter name to values, optional
        Parameters of the method to choose inside each training part.
    cv, repeats, groups, random_state
        See `make_folds`; `groups` may name a column of the cohort's tables.
    n_jobs : int, optional
        Number of folds computed in parallel; see `joblib.Parallel`.

    Returns
    -------
    pandas.DataFrame
        Index ``participant_id``; columns ``repeat``, ``fold``, ``observed`` (in the trait's
        units), ``residual`` (residualised on motion), ``predicted`` (of the residual). Subjects
        without the trait are predicted too.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> counts = rng.poisson(9, size=(40, 6, 6))
    >>> tables = rng.normal(size=(40, 2))
    >>> cohort = Cohort(
    ...     [f"sub-{i:02d}" for i in range(40)],
    ...     np.triu(counts, 1) + np.swapaxes(np.triu(counts, 1), 1, 2),
    ...     motion=pd.DataFrame({"rms_mm": tables[:, 0]}),
    ...     traits=pd.DataFrame({"reading": tables[:, 1]}),
    ... )
    >>> predict_trait(cohort, "reading", "edgewise").columns.tolist()
    ['repeat', 'fold', 'observed', 'residual', 'predicted']
    """
    study = Study.of(cohort, [trait], confounds, groups, keep)
    model = make_method(method) if isinstance(method, str) else method
    if not isinstance(model, ConnectomeMethod):
        raise InputError(f"method: a {type(method).__name__}; expected a name or a method.")
    check_choices(model, {} if choices is None else choices)
    check_jobs(n_jobs)
    folds = make_folds(
        cohort.n_subjects, cv=cv, repeats=repeats, groups=study.labels, random_state=random_state
    )
    X = cohort.edges
    with jobs_on_cluster():
        tables = Parallel(n_jobs=n_jobs)(
            delayed(_predict_fold)(model, choices or {}, X, study, fold, random_state)
            for fold in folds
        )
    return pd.concat(tables).sort_values(["repeat"], kind="stable")


def check_jobs(n_jobs: int | None) -> None:
    """Refuse a number of workers that joblib would not accept."""
    whole = isinstance(n_jobs, int) and not isinstance(n_jobs, bool) and n_jobs != 0
    if n_jobs is not None and not whole:
        raise InputError(f"n_jobs={n_jobs!r}; expected a whole number other than 0, or None.")


def check_choices(method: ConnectomeMethod, choices: Choices) -> None:
    """Refuse parameters that the method does not have, and empty lists of values."""
    if not isinstance(choices, Mapping):
        raise InputError(f"choices: {choices!r}; expected lists of values by parameter name.")
    known = method.get_params()
    for name, values in choices.items():
        if name not in known:
            raise InputError(
                f"choices: {type(method).__name__} has no parameter {name!r}; it has "
                f"{', '.join(known)}."
            )
        if isinstance(values, str) or not isinstance(values, Sequence) or not values:
            raise InputError(f"choices: {name}={values!r}; expected a list of values to try.")


@one_thread()
def _predict_fold(
    method: ConnectomeMethod,
    choices: Choices,
    X: NDArray[Any],
    study: Study,
    fold: Fold,
    random_state: int,
) -> pd.DataFrame:
    chosen = choose(method, choices, X, study, fold.train, random_state)
    outcome = fit_fold(clone(method).set_params(**chosen), X, study, fold.train, fold.test)
    return predicted_table(outcome, study, fold).drop(columns="trait")


def predicted_table(outcome: FoldFit, study: Study, fold: Fold) -> pd.DataFrame:
    """Return the predictions of one fit for its test subjects: a row per trait and subject."""
    index = pd.Index([study.subject_ids[i] for i in fold.test], name="participant_id", dtype=object)
    tables = [
        pd.DataFrame(
            {
                "trait": trait,
                "repeat": fold.repeat,
                "fold": fold.fold,
                "observed": study.traits[fold.test, column],
                "residual": outcome.observed[:, column],
                "predicted": outcome.predicted[:, column],
            },
            index=index,
        )
        for column, trait in enumerate(study.trait_names)
    ]
    return pd.concat(tables)
