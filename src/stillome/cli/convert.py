"""`stillome convert`: connectomes as one chunked store, from which fits read in slices."""

from pathlib import Path
from typing import Annotated

import typer

from stillome.cli.console import steps
from stillome.cli.file_options import ids_of
from stillome.cli.options import Atlas, Labels, Measure, Quiet, Session, Subjects, Symmetrize


def convert(
    connectomes: Annotated[list[str], typer.Argument(help="Files, a folder or quoted patterns.")],
    out: Annotated[Path, typer.Option(help="The store, such as cohort.zarr.")],
    atlas: Atlas = None,
    measure: Measure = None,
    labels: Labels = None,
    symmetrize: Symmetrize = None,
    subjects: Subjects = None,
    axis: Annotated[int | None, typer.Option(help="The axis of a stack over subjects.")] = None,
    session: Session = None,
    quiet: Quiet = False,
) -> None:
    """Write connectomes as one zarr store of edge vectors, in the dtype they have.

    A few subjects are in memory at a time. Files of single subjects are read twice, first for sizes
    and names. Stopped anywhere, the same command goes on where it was. In Python,
    ``zarr.open_array("cohort.zarr/connectomes")`` can be given to ``InvFA`` as it is.

    Example: stillome convert stack.h5 --out cohort.zarr
    """
    from stillome.io.edge_store import convert_connectomes

    with steps(1, quiet=quiet) as step:
        step("Converting")
        written = convert_connectomes(
            connectomes[0] if len(connectomes) == 1 else connectomes,
            out,
            progress=step.progress,
            atlas=atlas,
            measure=measure,
            labels=labels,
            symmetrize=symmetrize,
            subjects=ids_of(subjects) or None,
            axis=axis,
            session=session,
        )
    print(written)
