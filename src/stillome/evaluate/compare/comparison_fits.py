"""One method on one fold: the unit of parallel work of a comparison."""

import time
import warnings
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone

from stillome.cohort.exchange import Shuffler
from stillome.cohort.validation import check_count
from stillome.evaluate.compare.comparison_data import Study
from stillome.evaluate.fidelity import fidelity_r2
from stillome.evaluate.leakage.certificate import probe_scores
from stillome.evaluate.prediction.folds import Fold, make_folds
from stillome.evaluate.prediction.trait_prediction import (
    Choices,
    FoldFit,
    choose,
    fit_fold,
    predicted_table,
)
from stillome.exceptions import ClusterError, FileError, StillomeError, StillomeWarning
from stillome.methods.contract import ConnectomeMethod
from stillome.threads import one_thread

# Failures that valid data can cause; programming errors are not caught.
FAILURES = (StillomeError, ValueError, RuntimeError, ArithmeticError)
FEWEST_PROBED = 20


class Task(NamedTuple):
    """One method on one fold."""

    name: str
    method: ConnectomeMethod
    choices: Choices
    fold: Fold
    permutation: int  # 0 is the cohort as it is
    order: NDArray[np.intp]  # whose traits each subject is given


class Run(NamedTuple):
    """The result of one task."""

    rows: list[dict[str, Any]]  # one for each trait
    predictions: pd.DataFrame | None  # of the test subjects; None if it failed, or of a permutation


def make_tasks(
    study: Study,
    known: Mapping[str, ConnectomeMethod],
    choices: Mapping[str, Choices],
    cv: int,
    repeats: int,
    permutations: int,
    random_state: int,
) -> list[Task]:
    """List every method on every fold, first as the cohort is, then with shuffled traits."""
    permutations = check_count(permutations, "permutations")
    n = len(study.subject_ids)
    folds = make_folds(n, cv=cv, repeats=repeats, groups=study.labels, random_state=random_state)
    rng = np.random.default_rng(random_state)
    shuffler = Shuffler(study.groups)
    orders = [np.arange(n), *(shuffler.draw(rng) for _ in range(permutations))]
    return [
        Task(name, method, choices.get(name, {}), fold, permutation, order)
        for permutation, order in enumerate(orders)
        for fold in folds
        for name, method in known.items()
    ]


@one_thread()
def run_task(
    task: Task,
    X: NDArray[Any],
    truth: NDArray[Any] | None,
    study: Study,
    probe: bool,
    random_state: int,
) -> Run:
    """Fit one method to one fold; return one row per trait, and the predictions."""
    start = time.perf_counter()
    permuted = study.with_traits_of(task.order)
    fold, shared = task.fold, dict[str, Any]()
    correlations = [float("nan")] * len(study.trait_names)
    predictions = None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", StillomeWarning)
        try:
            chosen = choose(task.method, task.choices, X, permuted, fold.train, random_state)
            method = clone(task.method).set_params(**chosen)
            fit = fit_fold(method, X, permuted, fold.train, fold.test)
            correlations = fit.correlations()
            shared["chosen"] = ", ".join(f"{name}={value}" for name, value in chosen.items())
            if task.permutation == 0:
                predictions = predicted_table(fit, study, fold)
                predictions.insert(0, "method", task.name)
                shared |= _quality(fit, X, truth, study, fold.test, probe, random_state)
        except (ClusterError, FileError):  # a full disk is no failure of the method
            raise
        except FAILURES as failure:
            shared["error"] = f"{type(failure).__name__}: {failure}"
    shared["note"] = _own_warnings(caught)
    seconds = time.perf_counter() - start
    trait_known = ~np.isnan(permuted.traits)
    rows = [
        {
            "method": task.name,
            "trait": trait,
            "permutation": task.permutation,
            "repeat": fold.repeat,
            "fold": fold.fold,
            "n_train": int(trait_known[fold.train, column].sum()),
            "n_test": int(trait_known[fold.test, column].sum()),
            "r": correlations[column],
            "leakage_z": float("nan"),
            "leakage_adjusted": float("nan"),
            "fidelity": float("nan"),
            "chosen": "",
            "seconds": seconds,
            "error": "",
        }
        | shared
        for column, trait in enumerate(study.trait_names)
    ]
    return Run(rows, predictions)


def _own_warnings(caught: list[warnings.WarningMessage]) -> str:
    """Return the warnings of stillome as text for the table; emit all others again."""
    own = []
    for item in caught:
        if issubclass(item.category, StillomeWarning):
            own.append(str(item.message))
        else:
            warnings.warn_explicit(item.message, item.category, item.filename, item.lineno)
    return " ".join(dict.fromkeys(own))


def _quality(
    fit: FoldFit,
    X: NDArray[Any],
    truth: NDArray[Any] | None,
    study: Study,
    test: NDArray[np.intp],
    probe: bool,
    random_state: int,
) -> dict[str, float]:
    """Measure leakage of motion, and fidelity, in the test subjects."""
    quality: dict[str, float] = {}
    probe = probe and len(test) >= FEWEST_PROBED
    motion = study.confounds[test]
    kept = None if study.covariates is None else study.covariates[test]
    arguments: dict[str, Any] = {
        "nuisance": kept,
        "groups": study.labels[test],
        "random_state": random_state,
    }
    if probe:
        Z = fit.model.transform(X[test], confounds=motion)
        quality["leakage_z"] = max(probe_scores(Z, motion, **arguments).values())
    if probe or truth is not None:
        adjusted = fit.model.adjust(X[test], confounds=motion)
    if probe:
        scores = probe_scores(adjusted, motion, kind="counts", **arguments)
        quality["leakage_adjusted"] = max(scores.values())
    if truth is not None:
        quality["fidelity"] = fidelity_r2(adjusted, truth[test])
    return quality
