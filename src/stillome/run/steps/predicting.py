"""Traits of people whom the model never saw, by the method and by its baselines."""

from stillome.evaluate.compare.comparison import compare_methods
from stillome.io.write import write_described_table
from stillome.run.folder import Work
from stillome.run.parallel import one_thread_each

N_FOLDS = 5


def predict_step(work: Work) -> None:
    """Write how well each method predicts each trait, on the same folds, and whom how.

    Leakage is not probed here: the certificates say more about it, on more subjects.
    """
    settings, cohort = work.settings, work.cohort.select(work.known)
    names = (settings.method, *settings.baselines)
    with one_thread_each(work.n_jobs):
        result = compare_methods(
            cohort,
            {name: work.new_method(name) for name in names},
            list(settings.trait),
            [*settings.confounds, *settings.other_confounds],
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
    everybody = result.predictions
    write_described_table(
        work.out / "predictions.tsv",
        everybody[everybody["method"] == settings.method].drop(columns="method"),
        description="Traits of every subject as predicted by a model fitted to others: observed; "
        "residual, what motion does not explain of it; predicted, of the residual.",
        random_state=settings.seed,
        overwrite=True,
    )
