"""Traits of people whom the model never saw, by the method and by its baselines."""

from functools import partial

import numpy as np
import pandas as pd

from stillome.evaluate.compare import compare_methods
from stillome.evaluate.folds import Fold, make_folds
from stillome.evaluate.prediction import fit_fold
from stillome.evaluate.study import Study
from stillome.io.writers import write_described_table
from stillome.models.base import ConnectomeMethod
from stillome.pipeline.parallel import run_jobs
from stillome.pipeline.work import Work

N_FOLDS = 5


def compare_step(work: Work) -> None:
    """Write how well each method predicts each trait, on the same folds.

    Leakage is not probed here: the certificates say more about it, on more subjects.
    """
    settings, cohort = work.settings, work.cohort.select(work.known)
    names = (settings.method, *settings.baselines)
    result = compare_methods(
        cohort,
        {name: work.new_method(name) for name in names},
        list(settings.trait),
        list(settings.confounds),
        cv=N_FOLDS,
        groups=None if work.groups is None else work.groups[work.known],
        motion_free=None if work.truth is None else work.truth[work.known],
        probe=False,
        n_jobs=work.n_jobs,
        random_state=settings.seed,
        progress=work.progress,
    )
    # How long it took is not the same twice.
    tables = {
        "folds": result.folds.drop(columns="seconds"),
        "summary": result.summary.drop(columns="seconds"),
        "tests": result.tests,
    }
    work.write_tables("comparison", tables)


def predict_step(work: Work) -> None:
    """Write everybody's traits as predicted by a model fitted to the others."""
    settings, cohort = work.settings, work.cohort.select(work.known)
    groups = None if work.groups is None else work.groups[work.known]
    study = Study.of(cohort, list(settings.trait), list(settings.confounds), groups)
    folds = make_folds(
        cohort.n_subjects, cv=N_FOLDS, groups=study.labels, random_state=settings.seed
    )
    method, X = work.new_method(settings.method), cohort.edges
    jobs = [partial(_predicted, method, X, study, fold) for fold in folds]
    tables = run_jobs(jobs, n_jobs=work.n_jobs, progress=work.progress)
    table = pd.concat(tables)
    order = {trait: i for i, trait in enumerate(settings.trait)}
    table = table.sort_values(
        ["trait", "fold"], key=lambda c: c.map(order) if c.name == "trait" else c, kind="stable"
    )
    write_described_table(
        work.out / "predictions.tsv",
        table,
        description="Traits of every subject as predicted by a model fitted to others: observed; "
        "residual, what motion does not explain of it; predicted, of the residual.",
        random_state=settings.seed,
        overwrite=True,
    )


def _predicted(method: ConnectomeMethod, X: np.ndarray, study: Study, fold: Fold) -> pd.DataFrame:
    outcome = fit_fold(method, X, study.traits, study.confounds, fold.train, fold.test)
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
