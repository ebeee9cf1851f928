"""Which figures the report shows, where, and how each is read."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from matplotlib.figure import Figure

from stillome.methods.method_words import method_name
from stillome.report import drawings, seen
from stillome.run.folder import RunFolder

IN_SAMPLE = "In-sample: {method} was fitted to these same subjects."


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
    fitted : bool
        Whether it shows what the model made of the subjects it was fitted to.
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
    fitted: bool = False

    def worded(self, folder: RunFolder) -> "Plan":
        """Return the plan with the names of what this run removed, and of its method."""
        names = {
            "sought": folder.sought,
            "removed": folder.removed,
            "method": method_name(folder.method),
        }
        reads = f"{self.reads} {IN_SAMPLE}" if self.fitted else self.reads
        return replace(self, title=self.title.format(**names), reads=reads.format(**names))


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
        fitted=True,
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
        fitted=True,
    ),
    Plan(
        "qcsc",
        "removed",
        drawings.qcsc,
        seen.qcsc,
        "Correlation of every edge with motion (QC–SC), before and after",
        "Scatter plots of the correlation of every edge with motion.",
        "Edges at zero have no association with motion.",
        fitted=True,
    ),
    Plan(
        "components",
        "removed",
        drawings.components,
        seen.components,
        "Principal components of connectomes and latents, coloured by motion",
        "Scatter plots of subjects in the plane of two components.",
        "One point is one subject. A component that follows motion orders the colours.",
        fitted=True,
    ),
    Plan(
        "correction",
        "kept",
        drawings.correction,
        seen.correction,
        "Corrections at small and at large motion",
        "Histograms of the change of an edge in two groups.",
        "All edges of the subjects with small and with large motion.",
        fitted=True,
    ),
    Plan(
        "edge_means",
        "kept",
        drawings.edge_means,
        seen.edge_means,
        "Mean connectomes by motion, before and after",
        "Matrices of mean connectomes: as scanned above, adjusted below.",
        "All panels have one colour scale.",
        fitted=True,
    ),
    Plan(
        "glass_brain",
        "kept",
        drawings.glass_brain,
        seen.glass_brain,
        "Where edges were corrected most",
        "Edges in three views of the brain.",
        "The edges with the largest mean correction, at the centres of their regions.",
        fitted=True,
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
        fitted=True,
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
        fitted=True,
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
        fitted=True,
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
