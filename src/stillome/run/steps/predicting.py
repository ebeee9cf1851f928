"""Predict traits of subjects who were not in the fit, by the method and by its baselines."""

from typing import Any

from stillome.evaluate.compare.comparison import compare_methods
from stillome.io.write import write_described_table
from stillome.methods.registry import RAW
from stillome.run.folder import RunFolder
from stillome.run.parallel import Workers, one_thread_each
from stillome.run.steps.fitting import method_of_run

N_FOLDS = 5


def predict_step(folder: RunFolder, workers: Workers) -> None:
    """Write how well each method predicts each trait on the same folds, and every prediction.

    Leakage is not probed here: the certificates say more about it, on more subjects.
    """
    settings, known = folder.settings, folder.known
    names = list(dict.fromkeys((settings.method, *settings.baselines, RAW)))
    kept: dict[str, Any] = {"keep": list(settings.keep)} if settings.keep else {}
    with one_thread_each(workers.n_jobs):
        result = compare_methods(
            folder.cohort.select(known),
            {name: method_of_run(folder, name) for name in names},
            list(settings.trait),
            [*settings.confounds, *settings.other_confounds],
            cv=N_FOLDS,
            groups=None if folder.groups is None else folder.groups[known],
            motion_free=None if folder.truth is None else folder.truth[known],
            probe=False,
            n_jobs=workers.n_jobs,
            random_state=settings.seed,
            progress=workers.progress,
            **kept,
        )
    # Computation times differ between runs; everything else is reproducible.
    tables = {
        "folds": result.folds.drop(columns="seconds"),
        "summary": result.summary.drop(columns="seconds"),
        "tests": result.tests,
    }
    folder.write_tables("comparison", tables)
    predictions = result.predictions
    # What the confounds explain, by the regression of the training part, is added to what was
    # predicted of the rest.
    explained = predictions["observed"] - predictions["residual"]
    predictions = predictions.assign(predicted_trait=predictions["predicted"] + explained)
    write_described_table(
        folder.place("predictions"),
        predictions[predictions["method"] == settings.method].drop(columns="method"),
        description="Traits of every subject as predicted by a model fitted to others: observed; "
        "residual, observed less what the confounds explain; predicted, of the residual; "
        "predicted_trait, the same in the unit of the trait, n/a where it was not observed.",
        random_state=settings.seed,
        overwrite=True,
    )
