"""Draw the figures of the report, and say what is seen in each."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from joblib import Parallel, delayed
from markupsafe import Markup
from matplotlib.figure import Figure
from matplotlib.text import Text

from stillome.cohort.scan_words import row_words
from stillome.exceptions import InputError
from stillome.plot.style import house_style, save_figure
from stillome.progress import Progress
from stillome.report.embed import embed
from stillome.report.figure_plans import PLANS, Plan
from stillome.report.privacy import SMALL_GROUPS, large_groups
from stillome.run.folder import RunFolder


@dataclass(frozen=True)
class Picture:
    """One figure as the page shows it."""

    name: str
    section: str
    title: str
    caption: str
    html: Markup


def draw_figures(
    folder: RunFolder,
    place: Path,
    *,
    with_subjects: bool = False,
    plans: Sequence[Plan] = PLANS,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> tuple[list[Picture], dict[str, str]]:
    """Draw every figure that this run has the data for, and write it as PNG and PDF.

    Parameters
    ----------
    folder : RunFolder
    place : pathlib.Path
        An existing folder for the files.
    with_subjects : bool, default=False
        Whether single subjects are drawn, and means of very few.
    plans : sequence of Plan
        What to draw.
    n_jobs : int, optional
        Figures drawn at a time; see `joblib.Parallel`.
    progress : callable, optional
        Called with (figures done, figures in all).

    Returns
    -------
    pictures : list of Picture
        In the order of the page.
    left_out : dict of str to str
        Why a figure could not be drawn, by its title.
    """
    pictures, left_out = [], {}
    plans = [plan.worded(folder) for plan in plans if with_subjects or not plan.single]
    drawn = Parallel(n_jobs=n_jobs, return_as="generator")(
        delayed(_draw)(plan, folder, place, with_subjects) for plan in plans
    )
    for done, (plan, found) in enumerate(zip(plans, drawn, strict=True), start=1):
        if isinstance(found, Picture):
            pictures.append(found)
        elif found is not None:
            left_out[plan.title] = found
        if progress is not None:
            progress(done, len(plans))
    return pictures, left_out


def _draw(plan: Plan, folder: RunFolder, place: Path, with_subjects: bool) -> Picture | str | None:
    """Draw one figure; answer why where the data do not allow it, None where there are none."""
    if plan.ends and not with_subjects and not large_groups(folder):
        return SMALL_GROUPS
    try:
        figure = plan.draw(folder)
    except InputError as error:
        return str(error)
    if figure is None:
        return None
    words = row_words(folder.cohort.subject_ids)
    for text in figure.findobj(Text):
        if (said := words(text.get_text())) != text.get_text():
            text.set_text(said)
    _settle(figure)
    save_figure(figure, place / plan.name)
    said = plan.seen(folder, figure)
    html = embed(figure, plan.name, words(f"{plan.kind} {said}"))
    return Picture(plan.name, plan.section, plan.title, f"{plan.reads} {said}", html)


def _settle(figure: Figure) -> None:
    """Lay the figure out once: it is written three times, and laying out takes longest."""
    with house_style():
        figure.draw_without_rendering()
    figure.set_layout_engine("none")
