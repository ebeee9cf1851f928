"""Which figures the report shows, where, and what there is to see in each."""

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
from stillome.report import drawings
from stillome.report.embed import embed
from stillome.run.folder import RunFolder


@dataclass(frozen=True)
class Plan:
    """One figure to be drawn: in which section, by which function, with which words below.

    In the words, {sought} stands for "motion" or "motion and site", {removed} for "motion or site",
    and {method} for the method that ran.
    """

    name: str
    section: str
    draw: Callable[[RunFolder], Figure | None]
    title: str
    caption: str

    def worded(self, folder: RunFolder) -> "Plan":
        """Return the plan with the names of what this run removed, and of its method."""
        names = {
            "sought": folder.sought,
            "removed": folder.removed,
            "method": method_name(folder.method),
        }
        return replace(self, title=self.title.format(**names), caption=self.caption.format(**names))


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
        "How the motion measures correlate",
        "Where measures correlate strongly, removing one removes most of the others. Check "
        "subjects with extreme values.",
    ),
    Plan(
        "motion_effects",
        "motion",
        drawings.motion_effects,
        "What motion does to this cohort",
        "A: edges that lose (blue) or gain (orange) in the subjects who moved most. B: who belongs "
        "to these groups. C: totals per subject, by groups of growing motion; without an effect "
        "the line would be flat. D: correlation of every edge with motion; without an effect it "
        "would scatter around zero.",
    ),
    Plan(
        "changed_edges",
        "motion",
        drawings.changed_edges,
        "The edges that motion changes most",
        "The fifteen largest differences between the groups with large and with small motion; "
        "regions are coloured by lobe.",
    ),
    Plan(
        "leakage_cohort",
        "removed",
        drawings.leakage_cohort,
        "What probes read of {sought} from these subjects' connectomes",
        "Each row is a probe that tries to predict {sought} in subjects it has not seen. Filled "
        "markers read {removed}; open ones do no better than chance, whose range is grey.",
    ),
    Plan(
        "leakage_unseen",
        "removed",
        drawings.leakage_unseen,
        "What probes read from connectomes of subjects who were not in the fit",
        "The harder test: {method} was fitted without these subjects. Filled markers read "
        "{removed}.",
    ),
    Plan(
        "group_differences",
        "removed",
        drawings.group_differences,
        "Large minus small motion, before and after",
        "Both panels have one colour scale: the right one shows what adjusting by {method} left. "
        "Sampling noise remains even without any motion.",
    ),
    Plan(
        "qcsc",
        "removed",
        drawings.qcsc,
        "Correlation of every edge with motion, before and after",
        "After adjusting, edges of every length should scatter around zero.",
    ),
    Plan(
        "components",
        "removed",
        drawings.components,
        "Principal components of connectomes and latents, coloured by motion",
        "In the raw connectomes, a component often follows motion. After adjusting by {method}, "
        "and in its latents z, the colours should be mixed.",
    ),
    Plan(
        "correction",
        "kept",
        drawings.correction,
        "Who was corrected, and by how much",
        "Subjects with large motion should be corrected more than subjects with small motion.",
    ),
    Plan(
        "edge_means",
        "kept",
        drawings.edge_means,
        "Mean connectome, before and after",
        "The pattern should be the same in both, with more fibres after adjusting.",
    ),
    Plan(
        "glass_brain",
        "kept",
        drawings.glass_brain,
        "Where fibres were restored",
        "The edges with the largest mean correction, at the centres of their regions.",
    ),
    Plan(
        "subject",
        "kept",
        drawings.subject,
        "The subject who moved most, before and after",
        "The hardest case of this cohort: fibres should be restored, and the pattern of the "
        "subject should be kept.",
    ),
    Plan(
        "traits",
        "traits",
        drawings.traits,
        "Trait prediction by method",
        "Mean, spread and range over folds. Bars that overlap widely do not differ.",
    ),
    Plan(
        "trait_components",
        "traits",
        drawings.trait_components,
        "The latents of those with the lowest and the highest trait",
        "Where the two colours separate, the first components of z predict the trait; the "
        "prediction itself uses all of z.",
    ),
    Plan(
        "latent_units",
        "diagnostics",
        drawings.latent_units,
        "Information in each latent dimension",
        "Dimensions near zero hold no information about the subject. If all were, z would look "
        "motion-free because of posterior collapse.",
    ),
    Plan(
        "frontier",
        "diagnostics",
        drawings.frontier,
        "What more invariance costs",
        "Each point is one invariance weight of {method}, tried on held-out subjects.",
    ),
    Plan(
        "training",
        "diagnostics",
        drawings.training,
        "The course of the training",
        "Losses of {method} by epoch. Curves should have levelled off; in shaded epochs the "
        "latents held no information.",
    ),
)


def draw_figures(
    folder: RunFolder,
    place: Path,
    *,
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
    plans = [plan.worded(folder) for plan in plans]
    drawn = Parallel(n_jobs=n_jobs, return_as="generator")(
        delayed(_draw)(plan, folder, place) for plan in plans
    )
    for done, (plan, found) in enumerate(zip(plans, drawn, strict=True), start=1):
        if isinstance(found, Picture):
            pictures.append(found)
        elif found is not None:
            left_out[plan.title] = found
        if progress is not None:
            progress(done, len(plans))
    return pictures, left_out


def _draw(plan: Plan, folder: RunFolder, place: Path) -> Picture | str | None:
    """Draw one figure; answer why where the data do not allow it, None where there are none."""
    try:
        figure = plan.draw(folder)
    except InputError as error:
        return str(error)
    if figure is None:
        return None
    _settle(figure)
    save_figure(figure, place / plan.name)
    html = embed(figure, plan.name, f"{plan.title}. {plan.caption}")
    return Picture(plan.name, plan.section, plan.title, plan.caption, html)


def _settle(figure: Figure) -> None:
    """Lay the figure out once: it is written three times, and laying out takes longest."""
    with house_style():
        figure.draw_without_rendering()
    figure.set_layout_engine("none")
