"""Which figures the report shows, where, and what there is to see in each."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup
from matplotlib.figure import Figure

from stillome.exceptions import InputError
from stillome.plot.style import save_figure
from stillome.report import drawings
from stillome.report.embed import embed
from stillome.report.results import Results


@dataclass(frozen=True)
class Plan:
    """One figure to be drawn: in which section, by which function, with which words below."""

    name: str
    section: str
    draw: Callable[[Results], Figure | None]
    title: str
    caption: str


@dataclass(frozen=True)
class Picture:
    """One figure as the page shows it."""

    name: str
    section: str
    title: str
    caption: str
    html: Markup


PLANS = (
    Plan(
        "motion_effects",
        "motion",
        drawings.motion_effects,
        "What motion does to this cohort",
        "A: edges that lose fibres (blue) or gain them (orange) in the subjects who moved most. "
        "B: who belongs to these groups. C: fibres per subject, from those who moved least to "
        "those who moved most; a flat line would mean no effect. D: correlation of every edge "
        "with motion; without an effect of motion, the cloud would lie around zero.",
    ),
    Plan(
        "leakage_cohort",
        "removed",
        drawings.leakage_cohort,
        "What probes read of motion from connectomes",
        "Each row is a probe that tries to predict motion in subjects it has not seen. Filled "
        "markers read motion; open markers to the left of the grey band's end read none.",
    ),
    Plan(
        "group_differences",
        "removed",
        drawings.group_differences,
        "Large minus small motion, before and after",
        "The same colours on the same scale: what is left on the right is what adjusting left. "
        "Sampling noise never vanishes entirely, even without any motion.",
    ),
    Plan(
        "edge_means",
        "kept",
        drawings.edge_means,
        "Mean connectome, before and after",
        "The pattern of the average connectome should be the same in both, only richer.",
    ),
)


def draw_figures(results: Results, folder: Path) -> tuple[list[Picture], dict[str, str]]:
    """Draw every figure that this run has the data for, and write it as PNG and PDF.

    Parameters
    ----------
    results : Results
    folder : pathlib.Path
        An existing folder.

    Returns
    -------
    pictures : list of Picture
        In the order of the page.
    left_out : dict of str to str
        Why a figure could not be drawn, by its title.
    """
    pictures, left_out = [], {}
    for plan in PLANS:
        try:
            figure = plan.draw(results)
        except InputError as error:
            left_out[plan.title] = str(error)
            continue
        if figure is None:
            continue
        save_figure(figure, folder / plan.name)
        html = embed(figure, plan.name, f"{plan.title}. {plan.caption}")
        pictures.append(Picture(plan.name, plan.section, plan.title, plan.caption, html))
    return pictures, left_out
