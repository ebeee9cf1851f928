"""`stillome report`: the report of a run, drawn again from its folder."""

from pathlib import Path
from typing import Annotated

import typer

from stillome.cli.console import steps
from stillome.cli.options import Overwrite, Quiet, WithSubjects


def report(
    run: Annotated[
        Path, typer.Argument(metavar="RUN", help="The folder that `stillome run` wrote.")
    ],
    with_subjects: WithSubjects = False,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Draw the report of a run again from its results; nothing is fitted.

    Without --with-subjects, the page shows no single subject.

    Example: stillome report results --with-subjects --overwrite
    """
    from stillome.report import write_report

    with steps(1, quiet=quiet) as step:
        step("Drawing")
        place = write_report(run, with_subjects=with_subjects, overwrite=overwrite)
    print(place if quiet else f"The report is {place}")
