"""Which figures the report shows, where, how each is read, and what is seen in it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from joblib import Parallel, delayed
from markupsafe import Markup
from matplotlib.figure import Figure

from stillome.exceptions import InputError
from stillome.methods.method_words import method_name
from stillome.plot.style import house_style, save_figure
from stillome.progress import Progress
from stillome.report import drawings, seen
from stillome.report.embed import embed
from stillome.report.privacy import SMALL_GROUPS, large_groups
from stillome.run.folder import RunFolder


@dataclass(frozen=True)
class Plan:
    """One figure to be drawn, and its words.

    In the words, {sought} stands for "motion" or "motion and site", {removed} for "motion or site",
    and {method} for the method that ran.

    Attributes
    ----------
    name, section : str
        Of the figure, and of the part of the page that shows it.
    draw : callable
        From the run to a figure, or to None where the run has no data for it.
    seen : callable
        From the run and the figure to what is seen in it, with numbers.
    title : str
    kind : str
        What is drawn, for those who do not see it.
    reads : str
        How the figure is read; nothing about this run.
    single : bool
        Whether it shows one subject, who may not want to be shown.
    ends : bool
        Whether it compares the groups with small and with large motion.
    """

    name: str
    section: str
    draw: Callable[[RunFolder], Figure | None]
    seen: Callable[[RunFolder, Figure], str]
    title: str
    kind: str
    reads: str
    single: bool = False
    ends: bool = False

    def worded(self, folder: RunFolder) -> "Plan":
        """Return the plan with the names of what this run removed, and of its method."""
        names = {
            "sought": folder.sought,
            "removed": folder.removed,
            "method": method_name(folder.method),
        }
        return replace(self, title=self.title.format(**names), reads=self.reads.format(**names))


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
        "motion_measures",
        "data",
        drawings.motion_measures,
        seen.motion_measures,
        "How the motion measures correlate",
        "A grid of scatter plots of motion measures with their correlations.",
        "Removing one of two measures that correlate strongly removes most of the other.",
    ),
    Plan(
        "motion_effects",
        "motion",
        drawings.motion_effects,
        seen.motion_effects,
        "Motion in this cohort, and totals by motion",
        "A histogram of motion, and a line of totals by groups of growing motion.",
        "A: both end groups are coloured. B: means of groups of growing motion with 95 % "
        "intervals; a flat line is no effect.",
    ),
    Plan(
        "changed_edges",
        "motion",
        drawings.changed_edges,
        seen.changed_edges,
        "The edges that differ most between small and large motion",
        "Regions around a circle, joined by the edges that differ most.",
        "Raw connectomes: mean of the group with large motion minus mean of the group with small "
        "motion; regions are coloured by lobe.",
        ends=True,
    ),
    Plan(
        "leakage_unseen",
        "removed",
        drawings.leakage_unseen,
        seen.leakage_unseen,
        "What probes detect of {sought} in subjects who were not in the fit",
        "R² of every probe as markers, by method.",
        "Each row is a probe that predicts {sought} in subjects it was not trained on; {method} "
        "was fitted without them. Filled markers detect {removed}; open ones do not. The grey band "
        "is the range of chance.",
    ),
    Plan(
        "leakage_cohort",
        "removed",
        drawings.leakage_cohort,
        seen.leakage_cohort,
        "What probes detect of {sought} in the subjects of the fit",
        "R² of every probe as markers, by method.",
        "Each row is a probe that predicts {sought} in subjects it was not trained on. {method} "
        "was fitted to these same subjects (in-sample), which is the easier test. Filled markers "
        "detect {removed}; open ones do not.",
    ),
    Plan(
        "group_differences",
        "removed",
        drawings.group_differences,
        seen.group_differences,
        "Large minus small motion, before and after",
        "Two matrices of edges, as scanned and adjusted, on one colour scale.",
        "The right panel is what adjusting by {method} left; sampling noise remains even without "
        "any motion.",
        ends=True,
    ),
    Plan(
        "qcsc",
        "removed",
        drawings.qcsc,
        seen.qcsc,
        "Correlation of every edge with motion (QC–SC), before and after",
        "Scatter plots of the correlation of every edge with motion.",
        "Edges at zero have no association with motion.",
    ),
    Plan(
        "components",
        "removed",
        drawings.components,
        seen.components,
        "Principal components of connectomes and latents, coloured by motion",
        "Scatter plots of subjects in the plane of two components.",
        "One point is one subject. A component that follows motion orders the colours.",
    ),
    Plan(
        "correction",
        "kept",
        drawings.correction,
        seen.correction,
        "Corrections at small and at large motion",
        "Histograms of the change of an edge in two groups.",
        "All edges of the subjects with small and with large motion.",
    ),
    Plan(
        "edge_means",
        "kept",
        drawings.edge_means,
        seen.edge_means,
        "Mean connectomes by motion, before and after",
        "Matrices of mean connectomes: as scanned above, adjusted below.",
        "All panels have one colour scale.",
    ),
    Plan(
        "glass_brain",
        "kept",
        drawings.glass_brain,
        seen.glass_brain,
        "Where edges were corrected most",
        "Edges in three views of the brain.",
        "The edges with the largest mean correction, at the centres of their regions.",
    ),
    Plan(
        "subject",
        "kept",
        drawings.subject,
        seen.subject,
        "The subject who moved most, before and after",
        "Three matrices of one subject, and a scatter plot of its edges.",
        "The largest correction for motion that this cohort needs.",
        single=True,
    ),
    Plan(
        "traits",
        "traits",
        drawings.traits,
        seen.traits,
        "Trait prediction by method",
        "A marker with a range for each method and trait.",
        "Mean, standard deviation and range of r over folds.",
    ),
    Plan(
        "trait_components",
        "traits",
        drawings.trait_components,
        seen.trait_components,
        "The latents of those with the lowest and the highest trait",
        "Scatter plots of subjects in the first components of z, in two colours.",
        "One point is one subject. The prediction itself uses all of z, not only what is drawn.",
    ),
    Plan(
        "latent_units",
        "diagnostics",
        drawings.latent_units,
        seen.latent_units,
        "Information in each latent dimension",
        "Bars of information by latent dimension.",
        "A dimension near zero holds no information about the subject. Where all are near zero "
        "(posterior collapse), z has no motion because it has nothing.",
    ),
    Plan(
        "frontier",
        "diagnostics",
        drawings.frontier,
        seen.frontier,
        "What more invariance costs",
        "Curves of leakage and fit by invariance weight.",
        "Each point is one invariance weight of {method}, tried on held-out subjects.",
    ),
    Plan(
        "training",
        "diagnostics",
        drawings.training,
        seen.training,
        "The course of the training",
        "Curves of the parts of the loss by epoch.",
        "Losses of {method} by epoch; in shaded epochs the latents held no information.",
    ),
)


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
    _settle(figure)
    save_figure(figure, place / plan.name)
    said = plan.seen(folder, figure)
    html = embed(figure, plan.name, f"{plan.kind} {said}")
    return Picture(plan.name, plan.section, plan.title, f"{plan.reads} {said}", html)


def _settle(figure: Figure) -> None:
    """Lay the figure out once: it is written three times, and laying out takes longest."""
    with house_style():
        figure.draw_without_rendering()
    figure.set_layout_engine("none")
