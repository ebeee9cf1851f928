"""`stillome fit`: learn what motion does, and keep the model for other subjects."""

import ast
import inspect
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stillome.cli.console import Step, heading, steps
from stillome.cli.inputs import Files, Inputs, numbers, read_subjects
from stillome.cli.options import (
    Atlas,
    Confound,
    Connectomes,
    Dropped,
    Labels,
    Lengths,
    Measure,
    Motion,
    Overwrite,
    Quiet,
    Seed,
    Session,
    Subjects,
    Symmetrize,
    Trait,
    Traits,
)
from stillome.exceptions import InputError

if TYPE_CHECKING:
    from stillome.methods.contract import ConnectomeMethod
    from stillome.methods.fitted import FittedModel


def fit(
    connectomes: Connectomes,
    motion: Motion,
    out: Annotated[Path, typer.Option(help="The folder for the model.")],
    traits: Traits = None,
    trait: Trait = None,
    confound: Confound = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(help="A column of --traits (age, sex) that must not go with motion."),
    ] = None,
    method: Annotated[str, typer.Option(help="inv-fa, gate, combat, sog …")] = "inv-fa",
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="NAME=VALUE, a parameter of the method.")
    ] = None,
    seed: Seed = 0,
    labels: Labels = None,
    lengths: Lengths = None,
    atlas: Atlas = None,
    measure: Measure = None,
    symmetrize: Symmetrize = None,
    session: Session = None,
    subjects: Subjects = None,
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
    from stillome.methods.fitted import save_fitted
    from stillome.methods.storage import HEADER
    from stillome.persistence import written_aside

    model = new_method(method, parse_settings(settings or ()), seed)
    files = Files(
        connectomes,
        motion,
        traits,
        columns=[*(trait or ()), *(keep or ())] or None,
        confounds=confound or (),
        labels=labels,
        lengths=lengths,
        atlas=atlas,
        measure=measure,
        symmetrize=symmetrize,
        session=session,
        subjects=subjects,
        dropped=dropped,
        overwrite=overwrite,
    )
    # A folder that cannot be written is refused here, before the work.
    with (
        written_aside(out, overwrite=overwrite, marker=HEADER) as aside,
        steps(2, quiet=quiet) as step,
    ):
        step("Reading")
        read = read_subjects(files)
        step(f"Fitting {type(model).__name__} to {read.cohort.n_subjects} subjects")
        fitted = fit_subjects(model, read, confound or (), trait, keep or (), step)
        save_fitted(fitted, aside)
    print(out if quiet else _summary(fitted, read, out))


def new_method(name: str, parameters: dict[str, Any], seed: int) -> "ConnectomeMethod":
    """Return an unfitted method with the parameters asked for."""
    from stillome.methods import make_method

    model = make_method(name, **parameters)
    if "random_state" in model.get_params() and "random_state" not in parameters:
        model.set_params(random_state=seed)
    return model


def parse_settings(settings: Sequence[str]) -> dict[str, Any]:
    """Read NAME=VALUE; what is no number, list or the like is taken as text.

    Examples
    --------
    >>> parse_settings(["n_components=20", "invariance_weight=auto", "hidden=(64, 32)"])
    {'n_components': 20, 'invariance_weight': 'auto', 'hidden': (64, 32)}
    """
    parameters: dict[str, Any] = {}
    for setting in settings:
        name, mark, value = setting.partition("=")
        if not mark or not name.strip():
            raise InputError(f"--set {setting}: expected NAME=VALUE, such as n_components=20.")
        try:
            parameters[name.strip()] = ast.literal_eval(value.strip())
        except (ValueError, SyntaxError):
            parameters[name.strip()] = value.strip()
    return parameters


def fit_subjects(
    model: "ConnectomeMethod",
    read: Inputs,
    confounds: Sequence[str],
    traits: Sequence[str] | None,
    keep: Sequence[str],
    step: Step,
) -> "FittedModel":
    """Fit a method to what was read, and say what it was fitted to."""
    from stillome.methods.fitted import FittedModel
    from stillome.methods.storage import Storable
    from stillome.run.removed import check_apart, choose_removed

    cohort = read.cohort
    removed = choose_removed(cohort.motion, cohort.traits, confounds)
    check_apart(removed.others, trait=traits or (), keep=keep)
    coding = removed.coding(cohort.motion, cohort.traits)
    coded = coding.encode(cohort.motion, cohort.traits)
    arguments: dict[str, Any] = {"confounds": numbers(coded, coding.names, "confound")}
    if keep:
        if "covariates_to_keep" not in inspect.signature(model.fit).parameters:
            raise InputError(f"{type(model).__name__} cannot keep columns; leave out --keep.")
        arguments["covariates_to_keep"] = numbers(cohort.traits, keep, "column to keep")
    predicted = _traits_to_predict(read, traits, keep, removed.others)
    y = numbers(cohort.traits, predicted, "trait") if predicted else None
    takes = model.get_params()
    if "lengths" in takes and cohort.lengths is not None:
        model.set_params(lengths=cohort.lengths)
    if "callback" in takes:
        epochs = takes["max_epochs"]
        model.set_params(callback=lambda record: step.progress(record.epoch, epochs))
    with coding.naming(cohort.subject_ids):
        model.fit(cohort.connectomes, y, **arguments)
    assert isinstance(model, Storable)  # every method in METHODS is
    return FittedModel(
        model,
        coding,
        traits=predicted,
        kept=tuple(keep),
        regions=tuple(cohort.regions["name"]),
        measure=read.data.measure,
    )


def _traits_to_predict(
    read: Inputs, traits: Sequence[str] | None, keep: Sequence[str], removed: Sequence[str]
) -> tuple[str, ...]:
    if traits or keep:
        return tuple(dict.fromkeys(traits or ()))
    return tuple(n for n in read.cohort.traits.select_dtypes("number") if n not in removed)


def _summary(fitted: "FittedModel", read: Inputs, out: Path) -> str:
    model = fitted.model
    lines = [
        f"{type(model).__name__} fitted to {read.cohort.n_subjects} subjects and "
        f"{read.cohort.n_regions} regions; motion is {', '.join(fitted.coding.motion)}.",
    ]
    if fitted.coding.others:
        lines.append(f"It also removes {', '.join(fitted.coding.others)}.")
    diagnostics = getattr(model, "diagnostics_", None)
    if diagnostics is not None:
        lines.append(
            f"{diagnostics.active_units} active units of {len(diagnostics.kl_per_dimension)}, "
            f"{diagnostics.kl:.1f} nats."
        )
    if fitted.traits:
        lines.append(f"It predicts {', '.join(fitted.traits)}.")
    return "\n".join([*lines, heading("\nResults"), f"  {out}"])
