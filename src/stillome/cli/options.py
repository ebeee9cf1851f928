"""Options that several verbs share, each with its name and help in one place."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

Connectomes = Annotated[
    list[str],
    typer.Option(help="A folder, files or a quoted pattern; repeat for several."),
]
Motion = Annotated[
    list[str],
    typer.Option(help="A motion table, or folders of eddy, QSIPrep, FLIRT …; repeat for several."),
]
MotionIfKnown = Annotated[
    list[str] | None,
    typer.Option("--motion", help="As for fit; inv-fa infers the motion of subjects without."),
]
Traits = Annotated[
    list[str] | None,
    typer.Option(help="Tables of subjects (participants.tsv) or a BIDS folder."),
]
TraitsIfNeeded = Annotated[
    list[str] | None,
    typer.Option("--traits", help="Tables with the site or the like that the model removes."),
]
Trait = Annotated[
    list[str] | None, typer.Option(help="A column of --traits to predict; repeat for several.")
]
Confound = Annotated[
    list[str] | None,
    typer.Option(
        help="A column of motion (by default the first usual one: rms_mm, fd_mm …), or of --traits "
        "(site) to remove with it; repeat for several."
    ),
]
Group = Annotated[
    str | None,
    typer.Option(
        "--group",
        "--keep-together",
        help="A column of --traits (family, site) whose members are never divided.",
    ),
]
Labels = Annotated[
    str | None, typer.Option(help="A file with the regions' names, or dk68, where files have none.")
]
Lengths = Annotated[str | None, typer.Option(help="Fibre lengths in mm: a matrix or a folder.")]
Atlas = Annotated[str | None, typer.Option(help="Which atlas, if files hold several.")]
Measure = Annotated[str | None, typer.Option(help="Which measure, if files hold several.")]
Symmetrize = Annotated[
    str | None, typer.Option(help="max, mean or upper, for matrices that are not symmetric.")
]
Session = Annotated[str | None, typer.Option(help="The session, where subjects have several.")]
Subjects = Annotated[
    Path | None, typer.Option(help="A file with the ids wanted, one per line; others are left out.")
]
Dropped = Annotated[
    Path | None, typer.Option(help="A table (dropped.tsv) for who was left out, and why.")
]
Seed = Annotated[int, typer.Option(min=0, help="The same seed gives the same result.")]
Jobs = Annotated[int, typer.Option(min=1, help="How many fits run at a time.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace an earlier result.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="Print the name of the result only.")]
ModelFolder = Annotated[Path, typer.Argument(metavar="MODEL", help="What `stillome fit` wrote.")]


class CohortForm(StrEnum):
    """Formats in which whole cohorts are written."""

    mrtrix = "mrtrix"
    relmat = "relmat"
    npz = "npz"
    hdf5 = "hdf5"
    mat = "mat"


CohortFormat = Annotated[
    CohortForm,
    typer.Option(
        "--format",
        help="Plain matrices (mrtrix), BIDS (relmat), or one stack (npz, hdf5, mat).",
    ),
]
