"""`stillome inspect`: what a file or folder holds, before anything is done with it."""

from typing import Annotated

import typer

from stillome.cli.console import complain, heading, printable
from stillome.cli.file_options import ids_of
from stillome.cli.option_words import in_options
from stillome.cli.options import Atlas, Labels, Measure, Session, Subjects, Symmetrize


def inspect(
    paths: Annotated[list[str], typer.Argument(help="Files, folders or quoted patterns.")],
    atlas: Atlas = None,
    measure: Measure = None,
    labels: Labels = None,
    symmetrize: Symmetrize = None,
    subjects: Subjects = None,
    axis: Annotated[int | None, typer.Option(help="The axis of a stack over subjects.")] = None,
    session: Session = None,
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
                subjects=ids_of(subjects) or None,
                axis=axis,
                session=session,
                edge_order=edge_order,
            )
        except StillomeError as error:
            if refused is not None:
                complain(in_options(str(refused)))
            refused = error
            continue
        print(heading(printable(found.path)))
        width = max(len(name) for name in ("producer", *found.facts))
        for name, fact in {"producer": found.producer, **found.facts}.items():
            print(printable(f"  {name.ljust(width)}  {fact}"))
        for warning in found.warnings:
            print(printable(f"  note: {in_options(warning)}"))
    if refused is not None:
        raise refused
