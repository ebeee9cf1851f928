"""Write the figures and the page of a run into its folder."""

import os
from pathlib import Path

from stillome.persistence import check_replaceable, write_json, written_aside
from stillome.progress import Progress
from stillome.report.figures import draw_figures
from stillome.report.page import render
from stillome.run.folder import RunFolder

MARKER = "figures.json"


def write_report(
    run_folder: str | os.PathLike[str],
    *,
    with_subjects: bool = False,
    overwrite: bool = False,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> Path:
    """Write the report of a finished run: one HTML file that needs nothing else.

    Nothing is fitted. ``figures/`` gets every figure as PNG and PDF, with their captions in
    ``figures.json``.

    Parameters
    ----------
    run_folder : path-like
        What `stillome run` left.
    with_subjects : bool, default=False
        Whether the page shows single subjects: their ids, their rows and some connectomes.
        Without it, the page may be shown to anybody.
    overwrite : bool, default=False
        Whether an earlier report may be replaced.
    n_jobs : int, optional
        Figures drawn at a time; see `joblib.Parallel`.
    progress : callable, optional
        Called with (figures done, figures in all).

    Returns
    -------
    pathlib.Path
        ``report.html`` in the folder.

    Raises
    ------
    FileError
        If the folder holds no finished run, or a report that may not be replaced.

    Examples
    --------
    A folder that holds no run is refused; `run_pipeline` makes one, and its report.

    >>> import tempfile
    >>> from stillome import StillomeError
    >>> try:
    ...     write_report(tempfile.mkdtemp())
    ... except StillomeError as error:
    ...     print(str(error).split(": ", 1)[1])
    no results of `stillome run` (run.json is missing).
    """
    folder = RunFolder(run_folder)
    page, figures = folder.place("report"), folder.place("figures")
    check_replaceable(page, overwrite=overwrite)
    folder.check()
    # Without a page, earlier figures are what an interrupted report left.
    replace = overwrite or not page.exists()
    with written_aside(figures, overwrite=replace, marker=MARKER) as aside:
        aside.mkdir()
        pictures, left_out = draw_figures(
            folder, aside, with_subjects=with_subjects, n_jobs=n_jobs, progress=progress
        )
        captions = {one.name: f"{one.title}. {one.caption}" for one in pictures}
        write_json(aside / MARKER, {"figures": captions, "left_out": left_out})
    html = render(folder, pictures, left_out, with_subjects=with_subjects)
    with written_aside(page, overwrite=overwrite) as aside:
        aside.write_text(html, encoding="utf-8")
    return page
