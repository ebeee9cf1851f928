"""`stillome adjust`: connectomes as they would be at the reference motion."""

import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stillome.cli.cluster_option import runs_on_cluster
from stillome.cli.console import steps
from stillome.cli.file_options import reads_files
from stillome.cli.given_words import reference_of
from stillome.cli.options import (
    AdjustedForm,
    AdjustedFormat,
    CouplingName,
    Dropped,
    ModelFolder,
    MotionIfKnown,
    Overwrite,
    Quiet,
    Reference,
    TraitsOfModel,
)
from stillome.exceptions import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stillome.run.new_subjects import NewSubjects
    from stillome.run.study_files import StudyFiles


@runs_on_cluster
@reads_files(without=["lengths"], motion=MotionIfKnown, traits=TraitsOfModel)
def adjust(
    model: ModelFolder,
    files: "StudyFiles",
    out: Annotated[Path, typer.Option(help="The folder for the adjusted connectomes.")],
    reference: Reference = ["0"],  # noqa: B006 - typer shows it, nobody changes it
    form: AdjustedFormat = AdjustedForm.same,
    draws: Annotated[
        int | None, typer.Option(min=1, max=10_000, help="So many imputations, in draw-1, draw-2 …")
    ] = None,
    interval: Annotated[
        float | None, typer.Option(help="Also bounds that hold with this probability, e.g. 0.9.")
    ] = None,
    coupling: Annotated[
        CouplingName | None,
        typer.Option(
            help="For draws and bounds: motion lost streamlines (thinning, the default), or only "
            "changed counts (quantile)."
        ),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, help="For the draws; by default the model's own seed.")
    ] = None,
    dropped: Dropped = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Write the connectomes of subjects as they would be at the reference motion (0).

    Sites are adjusted to the one with most subjects in the fit, unless --reference names another.
    Files keep their names and format. With --draws or --interval the folder holds one folder for
    each draw (adjusted, if there is one) and bound (lower, upper). Motion that inv-fa inferred is
    in inferred_motion.tsv, with its standard deviation.

    Example: stillome adjust model --connectomes new --motion new.tsv --out adjusted
    """
    from stillome.cohort.reference import resolve_reference
    from stillome.cohort.scan_words import rows_counted
    from stillome.io.write import DESCRIPTION
    from stillome.methods.fitted import load_fitted
    from stillome.persistence import check_replaceable, written_aside
    from stillome.run.new_subjects import read_new_subjects

    check_replaceable(out, overwrite=overwrite, marker=DESCRIPTION)
    fitted = load_fitted(model)
    arguments: dict[str, Any] = {
        "n_draws": draws,
        "interval": interval,
        "coupling": None if coupling is None else coupling.value,
        "random_state": seed,
    }
    asked = {name: value for name, value in arguments.items() if value is not None}
    for name in asked.keys() - inspect.signature(fitted.model.adjust).parameters:
        raise InputError(
            f"{type(fitted.model).__name__} takes no {name}=...; its answer is one number."
        )
    level = reference_of(reference)
    resolve_reference(fitted.coding, level)  # judged before anything is read
    with (
        written_aside(out, overwrite=overwrite, marker=DESCRIPTION) as aside,
        steps(3, quiet=quiet) as step,
    ):
        step("Reading")
        new = read_new_subjects(fitted, files, dropped=dropped, overwrite=overwrite)
        step("Adjusting")
        if new.stay_in_file and draws is None and interval is None:
            answer = new.adjusted_in(aside.with_name(".adjusted.npy"), level, **asked)
        else:
            answer = new.adjusted(level, **asked)
        step("Writing")
        if seed is None:
            seed = fitted.model.get_params().get("random_state")
        _write(aside, new, _parts(answer, draws), form.value, seed)
    who = rows_counted(new.study.cohort.subject_ids)
    print(out if quiet else f"{who} adjusted in {out}")


def _parts(answer: Any, draws: int | None) -> "dict[str, NDArray[Any]]":
    """Return what `adjust` answered by the name of the folder it goes to; '' is the folder."""
    bounds = {}
    if isinstance(answer, tuple):
        answer, lower, upper = answer
        bounds = {"lower": lower, "upper": upper}
    if draws is not None:
        return {f"draw-{i + 1}": one for i, one in enumerate(answer)} | bounds
    return {"adjusted": answer, **bounds} if bounds else {"": answer}


def _write(
    aside: Path, new: "NewSubjects", parts: "dict[str, NDArray[Any]]", form: str, seed: Any
) -> None:
    from stillome.io.write import write_connectomes, write_dataset_description
    from stillome.persistence import write_table
    from stillome.run.inferred_motion import INFERRED

    description = f"motion-adjusted connectomes by {type(new.fitted.model).__name__}"
    if "" not in parts:
        aside.mkdir()
        write_dataset_description(aside, f"stillome: {description}")
    for name, matrices in parts.items():
        write_connectomes(
            aside / name,
            new.study.data,
            matrices,
            form=form,
            random_state=seed if isinstance(seed, int) else None,
            description=description,
        )
    if len(new.inferred):
        write_table(aside / INFERRED, new.inferred)
