"""`stillome fit`: learn what motion does, and keep the model for other subjects."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stillome.cli.cluster_option import runs_on_cluster
from stillome.cli.console import StepDisplay, heading, steps
from stillome.cli.file_options import reads_files
from stillome.cli.fit_inputs import FitInputs, read_to_fit
from stillome.cli.given_words import parameters_of
from stillome.cli.options import (
    Confound,
    Dropped,
    Group,
    Keep,
    Method,
    Overwrite,
    Quiet,
    Seed,
    Set,
    Trait,
    Weight,
)

if TYPE_CHECKING:
    from stillome.methods.contract import ConnectomeMethod
    from stillome.methods.fitted import FittedModel
    from stillome.run.study_files import StudyData, StudyFiles


@runs_on_cluster
@reads_files()
def fit(
    files: "StudyFiles",
    out: Annotated[Path, typer.Option(help="The folder for the model.")],
    trait: Trait = None,
    confound: Confound = None,
    keep: Keep = None,
    group: Group = None,
    method: Method = "inv-fa",
    settings: Set = None,
    invariance_weight: Weight = None,
    seed: Seed = 0,
    dropped: Dropped = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Learn from connectomes and motion, and save a model for these and other subjects.

    The folder holds JSON and plain arrays, no connectome of anybody, and can be given to others.
    Use it with transform, adjust, predict and sample.

    Example: stillome fit --connectomes counts --motion motion.tsv --traits participants.tsv
    --trait reading --out model
    """
    from stillome.cohort.confound_choice import check_apart
    from stillome.cohort.scan_words import rows_counted
    from stillome.methods.fitted import save_fitted
    from stillome.methods.storage import HEADER
    from stillome.persistence import written_aside
    from stillome.run.method_parameters import new_method

    # What cannot be meant, and a folder that cannot be written, is refused before the work.
    check_apart(confound or (), trait=trait or (), keep=keep or (), group=group)
    model = new_method(method, parameters_of(settings, invariance_weight), seed=seed)
    columns = [*(trait or ()), *(keep or ())]
    with (
        written_aside(out, overwrite=overwrite, marker=HEADER) as aside,
        steps(2, quiet=quiet) as step,
    ):
        step("Reading")
        read = read_to_fit(
            *(files, columns, confound, group, [model]), dropped=dropped, overwrite=overwrite
        )
        who = rows_counted(read.study.cohort.subject_ids)
        step(f"Fitting {type(model).__name__} to {who}")
        fitted = fit_study(model, read, trait or (), keep or (), group, seed=seed, step=step)
        save_fitted(fitted, aside)
    print(out if quiet else _summary(fitted, read.study, out))


def fit_study(
    model: "ConnectomeMethod",
    read: FitInputs,
    traits: Sequence[str],
    keep: Sequence[str],
    group: str | None,
    *,
    seed: int,
    step: StepDisplay,
) -> "FittedModel":
    """Fit a method to what was read, and keep the names of what it was fitted to.

    Without traits, covariates to keep and groups, all further columns of numbers are learned.
    """
    from stillome.cohort.kept_covariates import kept_covariates
    from stillome.cohort.validation import check_columns
    from stillome.methods.fitted import FittedModel
    from stillome.methods.storage import Storable
    from stillome.run.method_parameters import choose_weight

    cohort, removed = read.study.cohort, read.removed
    coding = removed.coding(cohort.motion, cohort.traits)
    coded = coding.encode(cohort.motion, cohort.traits)
    arguments: dict[str, Any] = {"confounds": check_columns(coded, coding.names, "confound")}
    covariates = kept_covariates(cohort.traits, keep)
    if keep:
        arguments["covariates_to_keep"] = covariates.values
    if not (traits or keep or group):
        numbers = cohort.traits.select_dtypes("number")
        traits = [n for n in numbers if n not in (*removed.motion, *removed.others)]
    predicted = tuple(dict.fromkeys(traits))
    y = check_columns(cohort.traits, predicted, "trait") if predicted else None
    groups = cohort.groups(group)
    if groups is not None:
        arguments["groups"] = groups
    _show_epochs(model, step)
    with coding.naming(cohort.subject_ids):
        X = cohort.connectomes
        model = choose_weight(model, X, y, seed=seed, **arguments).method
        model.fit(X, y, **arguments)
    assert isinstance(model, Storable)  # every method in METHODS is
    return FittedModel(
        model,
        coding,
        traits=predicted,
        keeping=covariates.coding,
        regions=tuple(cohort.regions["name"]),
        measure=read.study.data.measure,
    )


def _show_epochs(model: "ConnectomeMethod", step: StepDisplay) -> None:
    takes = model.get_params()
    if "callback" in takes:
        epochs = takes["max_epochs"]
        model.set_params(callback=lambda record: step.progress(record.epoch, epochs))


def _summary(fitted: "FittedModel", read: "StudyData", out: Path) -> str:
    from stillome.cohort.scan_words import rows_counted

    model = fitted.model
    lines = [
        f"{type(model).__name__} fitted to {rows_counted(read.cohort.subject_ids)} and "
        f"{read.cohort.n_regions} regions; motion is {', '.join(fitted.coding.motion)}.",
    ]
    if fitted.coding.others:
        lines.append(f"It also removes {', '.join(fitted.coding.others)}.")
    if fitted.kept:
        lines.append(f"It keeps {', '.join(fitted.kept)}.")
    diagnostics = getattr(model, "diagnostics_", None)
    if diagnostics is not None:
        lines.append(
            f"{diagnostics.active_units} active units of {len(diagnostics.kl_per_dimension)}, "
            f"{diagnostics.kl:.1f} nats."
        )
    if fitted.traits:
        lines.append(f"It predicts {', '.join(fitted.traits)}.")
    return "\n".join([*lines, heading("\nResults"), f"  {out}"])
