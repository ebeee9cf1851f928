"""Every method on the same folds, traits and probes, in one table."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray

from stillome.cluster.engine import jobs_on_cluster
from stillome.cohort.cohort import Cohort
from stillome.cohort.edges import matrices_to_edges
from stillome.cohort.validation import check_connectomes
from stillome.evaluate.compare.comparison_data import Study
from stillome.evaluate.compare.comparison_fits import make_tasks, run_task
from stillome.evaluate.compare.comparison_tables import paired_tests, summarise
from stillome.evaluate.prediction.trait_prediction import Choices, check_choices, check_jobs
from stillome.exceptions import InputError
from stillome.methods.contract import ConnectomeMethod
from stillome.methods.registry import METHODS, make_method

Methods = Sequence[str] | Mapping[str, ConnectomeMethod]


@dataclass(frozen=True)
class ComparisonResult:
    """The result of `compare_methods`.

    Attributes
    ----------
    folds : pandas.DataFrame
        One row per method, trait, repeat and fold: ``r`` (Pearson, observed against predicted),
        ``n_train``, ``n_test`` (subjects with the trait), ``leakage_z`` and ``leakage_adjusted``
        (R² of the best probe that predicts motion from the test subjects' representation and
        adjusted connectomes), ``fidelity`` (R² against the motion-free connectomes, NaN where
        these are unknown), ``chosen`` (parameters), ``seconds``, ``error`` and
        ``note`` (the error and the warnings; empty if there were none).
    summary : pandas.DataFrame
        One row per method and trait: ``n_subjects`` (with the trait), ``r_mean``, ``r_low`` and
        ``r_high`` (95 % interval of the mean, by `corrected_interval`), ``r_sd``, ``r_min``,
        ``r_max`` over folds, means of the other figures, ``p_permutation``, ``status`` (``ok`` or
        ``failed``), ``reason``, ``note``.
    tests : pandas.DataFrame
        Nadeau–Bengio corrected paired tests of each method against the best of each trait and
        against GATE: ``difference`` in r, ``t``, ``df``, ``p_value``, ``p_holm`` (over methods).
    null : pandas.DataFrame
        ``r_mean`` of every method and trait in every permutation of the traits; empty without.
    predictions : pandas.DataFrame
        Index ``participant_id``; ``method``, ``trait``, and the columns of `predict_trait`:
        ``repeat``, ``fold``, ``observed``, ``residual``, ``predicted``. Folds in which a
        method failed are not there.

    Examples
    --------
    >>> from stillome.simulate import simulate_cohort
    >>> cohort = simulate_cohort(60, n_traits=1, random_state=0).cohort
    >>> found = compare_methods(cohort, ["raw"], confounds="rms_mm", cv=3, probe=False)
    >>> isinstance(found, ComparisonResult), len(found.folds), len(found.predictions)
    (True, 3, 60)
    """

    folds: pd.DataFrame
    summary: pd.DataFrame
    tests: pd.DataFrame
    null: pd.DataFrame
    predictions: pd.DataFrame


def compare_methods(
    cohort: Cohort,
    methods: Methods | None = None,
    traits: str | Sequence[str] | None = None,
    confounds: str | Sequence[str] | ArrayLike | None = None,
    *,
    keep: str | Sequence[str] | ArrayLike | None = None,
    choices: Mapping[str, Choices] | None = None,
    cv: int = 5,
    repeats: int = 1,
    groups: str | ArrayLike | None = None,
    n_components: int = 68,
    motion_free: ArrayLike | None = None,
    probe: bool = True,
    permutations: int = 0,
    n_jobs: int | None = None,
    random_state: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> ComparisonResult:
    """Compare methods by nested cross-validation (Section 5.2 of the paper, without its leaks).

    In every fold, a method is fitted once to the training subjects with all traits, after the
    effect of motion in the training subjects was removed from each trait. A method that fails is
    reported as failed with its reason; the others continue. Fits run in parallel through
    joblib; where a Dask client is active (``with Client(...)``), its workers run them.

    Parameters
    ----------
    cohort : Cohort
    methods : list of str, or mapping of name to ConnectomeMethod, optional
        Names in `METHODS` (all of them if not given), or methods with their parameters set.
    traits : str or list of str, optional
        Columns of the cohort's traits (all that hold numbers if not given). Missing values are
        left out trait by trait.
    confounds : str, list of str, or array-like of shape (n, C), optional
        Columns of the cohort's motion (the first of `CONFOUND_ORDER` that is there if none is
        named) or of its traits (site), coded as by `ConfoundCoding`; or the values themselves.
    keep : str, list of str, or array-like of shape (n, Q), optional
        Columns of the cohort's traits or motion that must not be removed with the confounds
        (age, sex), or the values themselves. They are passed to every fit; probes of leakage
        and the residuals of the traits account for them.
    choices : mapping of method name to (mapping of parameter name to values), optional
        Chosen inside each training part: fitted to 90 %, judged on 10 %, then refitted to all.
    cv : int, default=5
        Number of folds; 5 is the 80/20 of the paper.
    repeats : int, default=1
        Number of times the folds are drawn anew.
    groups : str or array-like of shape (n,) or (n, 2), optional
        Families or people, or the column that holds them: never on both sides of a fold, nor of a
        division inside a fit.
    n_components : int, default=68
        Size of the representation of every method given by name.
    motion_free : array-like of shape (n, V, V) or (n, V(V-1)/2), optional
        True connectomes without motion (of a simulation), for the fidelity column.
    probe : bool, default=True
        Whether leakage is measured.
    permutations : int, default=0
        Number of repetitions of the whole pipeline with the traits permuted between subjects.
    n_jobs : int, optional
        Fits at a time; see `joblib.Parallel`.
    random_state : int, default=0
    progress : callable, optional
        Called with (fits done, fits in all).

    Examples
    --------
    >>> from stillome.simulate import simulate_cohort
    >>> cohort = simulate_cohort(60, n_traits=1, random_state=0).cohort
    >>> settings = {"confounds": "rms_mm", "cv": 3, "n_components": 5, "probe": False}
    >>> result = compare_methods(cohort, ["sog", "edgewise"], **settings)
    >>> result.summary[["method", "status"]].to_numpy().tolist()
    [['sog', 'ok'], ['edgewise', 'ok']]
    """
    check_jobs(n_jobs)
    study = Study.of(cohort, traits, confounds, groups, keep)
    known = _known_methods(methods, n_components, random_state)
    tasks = make_tasks(
        study, known, _known_choices(known, choices), cv, repeats, permutations, random_state
    )
    X, truth = cohort.edges, _truth(motion_free, cohort)
    # Connectomes are arguments of their own, so that a cluster sends them to a worker once.
    with jobs_on_cluster():
        runs = Parallel(n_jobs=n_jobs, return_as="generator")(
            delayed(run_task)(task, X, truth, study, probe, random_state) for task in tasks
        )
    rows: list[dict[str, Any]] = []
    predictions: list[pd.DataFrame] = []
    for done, run in enumerate(runs, start=1):
        rows.extend(run.rows)
        predictions += [] if run.predictions is None else [run.predictions]
        if progress is not None:
            progress(done, len(tasks))
    return _result(pd.DataFrame(rows), predictions, list(known), study.trait_names)


def _result(
    rows: pd.DataFrame,
    predictions: list[pd.DataFrame],
    methods: Sequence[str],
    traits: Sequence[str],
) -> ComparisonResult:
    observed = rows["permutation"] == 0
    folds = rows[observed].drop(columns="permutation").reset_index(drop=True)
    null = (
        rows[~observed]
        .groupby(["method", "trait", "permutation"], sort=False)["r"]
        .mean()
        .rename("r_mean")
        .reset_index()
    )
    summary = summarise(folds, null, methods, traits)
    tests = paired_tests(folds, summary)
    return ComparisonResult(folds, summary, tests, null, _in_order(predictions, methods, traits))


def _in_order(
    predictions: list[pd.DataFrame], methods: Sequence[str], traits: Sequence[str]
) -> pd.DataFrame:
    """Put the predictions of all folds into one table: by method, trait, repeat and fold."""
    if not predictions:
        return pd.DataFrame()
    table = pd.concat(predictions)
    method = pd.Categorical(table["method"], list(methods)).codes
    trait = pd.Categorical(table["trait"], list(traits)).codes
    return table.iloc[np.lexsort((table["fold"], table["repeat"], trait, method))]


def _known_methods(
    methods: Methods | None, n_components: int, random_state: int
) -> dict[str, ConnectomeMethod]:
    if isinstance(methods, Mapping):
        known = dict(methods)
    elif methods is not None and (
        not isinstance(methods, Sequence) or not all(isinstance(name, str) for name in methods)
    ):
        raise InputError(f"methods: {methods!r}; expected names, or a mapping of name to method.")
    else:
        names = (
            [methods] if isinstance(methods, str) else list(METHODS if methods is None else methods)
        )
        shared = {"n_components": n_components, "random_state": random_state}
        known = {}
        for name in names:
            method = make_method(name)
            takes = method.get_params()
            known[name] = method.set_params(**{k: v for k, v in shared.items() if k in takes})
    if not known:
        raise InputError("methods: none given; name at least one.")
    for name, method in known.items():
        if not isinstance(method, ConnectomeMethod):
            raise InputError(f"methods: {name!r} is a {type(method).__name__}, not a method.")
    return known


def _known_choices(
    known: Mapping[str, ConnectomeMethod], choices: Mapping[str, Choices] | None
) -> Mapping[str, Choices]:
    if choices is not None and not isinstance(choices, Mapping):
        raise InputError(f"choices: {choices!r}; expected parameters to try by method name.")
    for name, grid in (choices or {}).items():
        if name not in known:
            raise InputError(f"choices: {name!r} is not among the methods {list(known)}.")
        check_choices(known[name], grid)
    return choices or {}


def _truth(motion_free: ArrayLike | None, cohort: Cohort) -> NDArray[Any] | None:
    if motion_free is None:
        return None
    truth = check_connectomes(
        motion_free,
        subject_ids=cohort.subject_ids,
        n_regions=cohort.n_regions,
        name="motion_free",
    )
    return matrices_to_edges(truth, check=False)
