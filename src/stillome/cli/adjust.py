"""`stillome adjust`: connectomes as they would be had everybody lain as still as asked."""

import inspect
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stillome.cli.console import steps
from stillome.cli.inputs import Files, Inputs, confounds_of, read_new_subjects, reordered
from stillome.cli.options import (
    Atlas,
    Connectomes,
    Dropped,
    Labels,
    Measure,
    ModelFolder,
    MotionIfKnown,
    Overwrite,
    Quiet,
    Session,
    Subjects,
    Symmetrize,
    TraitsIfNeeded,
)
from stillome.exceptions import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stillome.methods.fitted import FittedModel


class Form(StrEnum):
    """Formats in which adjusted connectomes are written."""

    same = "same"
    relmat = "relmat"


def adjust(
    model: ModelFolder,
    connectomes: Connectomes,
    out: Annotated[Path, typer.Option(help="The folder for the adjusted connectomes.")],
    motion: MotionIfKnown = None,
    traits: TraitsIfNeeded = None,
    reference: Annotated[
        list[str] | None,
        typer.Option(help="What to adjust to: 0.1, or NAME=0.1 for each confound, or site=B."),
    ] = None,
    form: Annotated[
        Form, typer.Option("--format", help="The format that came in, or BIDS (relmat).")
    ] = Form.same,
    draws: Annotated[
        int | None, typer.Option(min=1, help="So many imputations, in draw-1, draw-2 …")
    ] = None,
    interval: Annotated[
        float | None, typer.Option(help="Also bounds that hold with this probability, e.g. 0.9.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, help="For the draws; by default the model's own seed.")
    ] = None,
    labels: Labels = None,
    atlas: Atlas = None,
    measure: Measure = None,
    symmetrize: Symmetrize = None,
    session: Session = None,
    subjects: Subjects = None,
    dropped: Dropped = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Write the connectomes of subjects as they would be at the reference motion (0).

    Sites are adjusted to the one with most subjects in the fit, unless --reference names another.
    Files keep their names and format. With --draws or --interval the folder holds one folder for
    each draw (adjusted, if there is one) and bound (lower, upper).

    Example: stillome adjust model --connectomes new --motion new.tsv --out adjusted
    """
    from stillome.cohort.reference import read_reference
    from stillome.io.write import DESCRIPTION
    from stillome.methods.fitted import load_fitted
    from stillome.persistence import check_replaceable

    check_replaceable(out, overwrite=overwrite, marker=DESCRIPTION)
    fitted = load_fitted(model)
    arguments = {"n_draws": draws, "interval": interval, "random_state": seed}
    asked = {name: value for name, value in arguments.items() if value is not None}
    for name in asked.keys() - inspect.signature(fitted.model.adjust).parameters:
        raise InputError(f"{type(fitted.model).__name__} has no {name}: its answer is one number.")
    level = read_reference(fitted.coding, reference or ())
    with steps(3, quiet=quiet) as step:
        step("Reading")
        files = Files(
            connectomes,
            motion,
            traits,
            labels=labels,
            atlas=atlas,
            measure=measure,
            symmetrize=symmetrize,
            session=session,
            subjects=subjects,
            dropped=dropped,
            overwrite=overwrite,
        )
        read = read_new_subjects(fitted, files)
        step("Adjusting")
        confounds = confounds_of(fitted, read)
        with fitted.coding.naming(read.cohort.subject_ids):
            answer = fitted.model.adjust(
                read.cohort.connectomes, confounds=confounds, reference=level, **asked
            )
        step("Writing")
        _write(out, fitted, read, _parts(answer, draws), form.value, seed, overwrite)
    print(out if quiet else f"{read.cohort.n_subjects} subjects adjusted in {out}")


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
    out: Path,
    fitted: "FittedModel",
    read: Inputs,
    parts: "dict[str, NDArray[Any]]",
    form: str,
    seed: int | None,
    overwrite: bool,
) -> None:
    import numpy as np

    from stillome.io.write import DESCRIPTION, write_connectomes, write_dataset_description
    from stillome.persistence import written_aside

    # Back from the model's order of regions to the one that was read.
    order = np.argsort(fitted.order_of(list(read.data.regions["name"])))
    if seed is None:
        seed = fitted.model.get_params().get("random_state")
    description = f"motion-adjusted connectomes by {type(fitted.model).__name__}"
    with written_aside(out, overwrite=overwrite, marker=DESCRIPTION) as aside:
        if "" not in parts:
            aside.mkdir()
            write_dataset_description(aside, f"stillome: {description}")
        for name, matrices in parts.items():
            write_connectomes(
                aside / name,
                read.data,
                reordered(matrices, order),
                form=form,
                random_state=seed if isinstance(seed, int) else None,
                description=description,
            )
