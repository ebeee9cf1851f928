"""`stillome inspect`: what a file or folder holds, before anything is done with it."""

from pathlib import Path
from typing import Annotated

import typer

from stillome.cli.console import complain, heading


def inspect(
    paths: Annotated[list[str], typer.Argument(help="Files, folders or quoted patterns.")],
    atlas: Annotated[str | None, typer.Option(help="Which atlas, if files hold several.")] = None,
    measure: Annotated[
        str | None, typer.Option(help="Which measure; values are then taken for what you say.")
    ] = None,
    labels: Annotated[
        str | None, typer.Option(help="A file with the regions' names, or dk68.")
    ] = None,
    symmetrize: Annotated[
        str | None, typer.Option(help="max, mean or upper, for matrices that are not symmetric.")
    ] = None,
    subjects: Annotated[
        Path | None, typer.Option(help="A file with one subject id per line.")
    ] = None,
    axis: Annotated[int | None, typer.Option(help="The axis of a stack over subjects.")] = None,
    session: Annotated[str | None, typer.Option(help="The session, if there are several.")] = None,
    edge_order: Annotated[
        str | None, typer.Option(help="upper or lower, for numbered edges.")
    ] = None,
) -> None:
    """Say what is in files: producer, subjects, regions, measure, warnings.

    Works on connectomes of any known tool, on motion files, tables of subjects, JSON sidecars,
    lists of regions, saved cohorts and models, and loads no more than a few subjects of a large
    stack. What a reader would refuse is described too, with the reader's sentence as a note.
    """
    from stillome.exceptions import StillomeError
    from stillome.io.inspection import inspect_path

    refused: StillomeError | None = None
    for path in paths:
        try:
            found = inspect_path(
                path,
                atlas=atlas,
                measure=measure,
                labels=labels,
                symmetrize=symmetrize,
                subjects=subjects,
                axis=axis,
                session=session,
                edge_order=edge_order,
            )
        except StillomeError as error:
            if refused is not None:
                complain(str(refused))
            refused = error
            continue
        print(heading(found.path))
        width = max(len(name) for name in ("producer", *found.facts))
        for name, fact in {"producer": found.producer, **found.facts}.items():
            print(f"  {name.ljust(width)}  {fact}")
        for warning in found.warnings:
            print(f"  note: {warning}")
    if refused is not None:
        raise refused
