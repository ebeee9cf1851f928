"""`stillome motion`: how much every subject moved, from whatever files there are."""

import math
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stillome.cli.console import heading
from stillome.cli.console import table as aligned
from stillome.cli.file_options import ids_of
from stillome.cli.options import Overwrite, Quiet, Subjects
from stillome.exceptions import InputError

if TYPE_CHECKING:
    import pandas as pd


class RotationUnit(StrEnum):
    """Units in which tools write rotations."""

    rad = "rad"
    deg = "deg"


def motion(
    folders: Annotated[
        list[Path], typer.Argument(help="Folders of eddy, QSIPrep, FLIRT, HCP …; or tables.")
    ],
    out: Annotated[Path, typer.Option(help="The table to write; a .json is put beside it.")] = Path(
        "motion.tsv"
    ),
    session: Annotated[
        str | None,
        typer.Option(
            "--session",
            "--event",
            help="One session of several; all: a row each.",
        ),
    ] = None,
    rotation_unit: Annotated[
        RotationUnit | None, typer.Option(help="The unit of rotations in parameter files.")
    ] = None,
    frames: Annotated[
        str | None, typer.Option(help="Which transforms are frames, e.g. '*b0*.mat'.")
    ] = None,
    confound: Annotated[
        list[str] | None,
        typer.Option(help="A further column of the tables to take; repeat for several."),
    ] = None,
    subjects: Subjects = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Summarise head motion and residual misalignment, one row per subject.

    Finds what eddy, eddy_quad, FLIRT, MCFLIRT, ANTs, QSIPrep and ABCD write, and columns of tables
    with a usual name (docs/cli.md lists them). Says which measure each column is, and never mixes
    the measures of different tools in one column.

    Example: stillome motion derivatives/eddy --out motion.tsv
    """
    from stillome import __version__
    from stillome.evaluate.words import things
    from stillome.io.motion.motion_table import sidecar_of, write_motion
    from stillome.io.motion.summary import read_motion
    from stillome.persistence import check_replaceable

    for place in (out, sidecar_of(out)):
        check_replaceable(place, overwrite=overwrite)
    unit = rotation_unit.value if rotation_unit else None
    found = read_motion(
        folders, session=session, rotation_unit=unit, frames=frames, confounds=confound or ()
    )
    wanted = ids_of(subjects)
    missing = next((subject for subject in wanted if subject not in found.index), None)
    if missing is not None:
        raise InputError(f"subjects: no motion of {missing!r}. Leave it out of the list.")
    found = found.loc[wanted] if wanted else found
    sidecar = write_motion(found, out, version=__version__, overwrite=overwrite)
    if quiet:
        print(out)
        return
    files = things(len(found.attrs["files"]), "file")
    print(f"{things(len(found), 'subject')}, {files} about motion.\n")
    print(heading("What was found"))
    print(aligned(_printed(found)))
    print(heading("\nResults"))
    print(f"  {out}\n  {sidecar}")


def _printed(found: "pd.DataFrame") -> "pd.DataFrame":
    import pandas as pd

    return pd.DataFrame(
        {
            "column": list(found.columns),
            "subjects": [int(found[name].notna().sum()) for name in found],
            "median": [_short(found[name].median()) for name in found],
            "largest": [_short(found[name].max()) for name in found],
            "measure": [found.attrs["measures"][name] for name in found],
        }
    )


def _short(value: float) -> str:
    return "n/a" if math.isnan(value) else f"{value:.4g}"
