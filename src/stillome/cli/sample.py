"""`stillome sample`: synthetic subjects, drawn from a fitted model."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stillome.cli.console import heading, steps
from stillome.cli.options import CohortForm, CohortFormat, ModelFolder, Overwrite, Quiet, Seed
from stillome.cli.simulate import run_command

if TYPE_CHECKING:
    from stillome.cohort.cohort import Cohort
    from stillome.methods.fitted import FittedModel


def sample(
    model: ModelFolder,
    out: Annotated[Path, typer.Option(help="The folder for the synthetic study.")],
    subjects: Annotated[
        int, typer.Option(min=1, max=10**6, help="How many subjects to draw.")
    ] = 400,
    seed: Seed = 0,
    form: CohortFormat = CohortForm.mrtrix,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Draw a synthetic study from a fitted model: connectomes, motion and traits together.

    It has the files of simulate, and no row of it belongs to a real subject. It is not anonymous:
    who was among the training subjects can be guessed from it better than by chance.

    Example: stillome sample model --subjects 1000 --out synthetic
    """
    from stillome.io.write import DESCRIPTION
    from stillome.io.write_cohort import write_cohort
    from stillome.methods.fitted import load_fitted
    from stillome.methods.synthetic import DISCLOSED
    from stillome.persistence import check_replaceable

    check_replaceable(out, overwrite=overwrite, marker=DESCRIPTION)
    fitted = load_fitted(model)
    drawn_from = type(fitted.model).__name__
    with steps(2, quiet=quiet) as step:
        step("Drawing")
        cohort = draw_cohort(fitted, subjects, seed)
        step("Writing")
        files = write_cohort(
            out,
            cohort,
            form=form.value,
            description=f"synthetic fibre counts drawn from {drawn_from}. {DISCLOSED}",
            random_state=seed,
            overwrite=overwrite,
        )
    if quiet:
        print(out)
        return
    print(f"{subjects} synthetic subjects, {cohort.n_regions} regions, in {out}")
    print(f"{DISCLOSED}. Judge your own with stillome.evaluate.disclosure_report.")
    if files.motion is not None:
        print(heading("\nNow run"))
        print(f"  {run_command(files, list(fitted.traits)[:1])}")


def draw_cohort(fitted: "FittedModel", n_subjects: int, seed: int) -> "Cohort":
    """Draw synthetic subjects, and name their confounds, traits and regions as in the fit."""
    import numpy as np
    import pandas as pd

    from stillome.cohort.cohort import Cohort
    from stillome.io.region_names import described
    from stillome.simulate.simulated_cohort import numbered_ids

    model: Any = fitted.model
    drawn = model.sample(n_subjects, random_state=seed)

    def table(values: Any, names: tuple[str, ...]) -> pd.DataFrame:
        if values is None or not names:
            return pd.DataFrame(index=range(n_subjects))
        return pd.DataFrame(np.reshape(values, (n_subjects, -1)), columns=list(names))

    coding = fitted.coding
    known = table(drawn.confounds, coding.names)
    confounds = coding.decode(known) if len(known.columns) else known
    return Cohort(
        numbered_ids(n_subjects),
        drawn.connectomes,
        motion=confounds.drop(columns=list(coding.others), errors="ignore"),
        traits=table(drawn.traits, fitted.traits).join(confounds.filter(coding.others)),
        regions=described(fitted.regions)[0] if fitted.regions else pd.DataFrame(),
        lengths=fitted.model.get_params().get("lengths"),
    )
