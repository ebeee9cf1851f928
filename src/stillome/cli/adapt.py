"""`stillome adapt`: a fitted model learns a site that training never saw."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stillome.cli.console import heading, steps
from stillome.cli.file_options import reads_files
from stillome.cli.options import ModelFolder, Overwrite, Quiet, TraitsOfModel

if TYPE_CHECKING:
    from stillome.run.study_files import StudyFiles


@reads_files(without=["lengths"], traits=TraitsOfModel)
def adapt(
    model: ModelFolder,
    files: "StudyFiles",
    site: Annotated[str, typer.Option(help="What the new site is called in your tables.")],
    out: Annotated[Path, typer.Option(help="The folder for the adapted model.")],
    column: Annotated[str, typer.Option(help="The column of sites.")] = "site",
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Learn a new site or scanner from at least 10 of its people, with the trained sites as prior.

    Give files of the new site only. The new model answers for all sites, the new one included;
    nothing that was fitted changes.

    Example: stillome adapt model --connectomes new --motion new.tsv --site utrecht --out model2
    """
    import math

    from stillome.cohort.scan_words import rows_counted
    from stillome.methods.fitted import load_fitted, save_fitted
    from stillome.methods.storage import HEADER
    from stillome.persistence import written_aside
    from stillome.run.site_adapting import adapt_to_site

    fitted = load_fitted(model)
    with (
        written_aside(out, overwrite=overwrite, marker=HEADER) as aside,
        steps(1, quiet=quiet) as step,
    ):
        step(f"Learning {column} {site}")
        adapted, found, study = adapt_to_site(fitted, files, site, column=column)
        save_fitted(adapted, aside)
    if quiet:
        print(out)
        return
    percent = [100 * (math.exp(value) - 1) for value in (found.mean, found.low, found.high)]
    print(
        f"{column} {site} learned from {rows_counted(study.cohort.subject_ids)}. Relative to "
        f"{column} {adapted.coding.levels[column][0]!r}, the mean edge has {percent[0]:+.0f} % "
        f"fibres (95 % interval {percent[1]:+.0f} to {percent[2]:+.0f} %); the effect on a single "
        f"edge is known to ±{100 * 1.96 * float(found.sd.mean()):.0f} % on average."
    )
    print("\n".join([heading("\nResults"), f"  {out}"]))
