"""From what a run left in its folder to the arguments of the figures in `stillome.plot`."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from stillome.cohort.edges import matrices_to_edges
from stillome.evaluate.words import number
from stillome.methods.method_words import method_name
from stillome.plot.circle import plot_changed_edges
from stillome.plot.component_plane import plot_components
from stillome.plot.correction import plot_correction
from stillome.plot.fibre_totals import plot_fibre_totals
from stillome.plot.frontier_curve import plot_frontier
from stillome.plot.glass_brain import plot_glass_brain
from stillome.plot.labels import measure_label
from stillome.plot.leakage_bars import plot_leakage
from stillome.plot.matrices import plot_edge_differences, plot_edge_means
from stillome.plot.motion_measures import plot_motion_measures
from stillome.plot.one_subject import plot_subject
from stillome.plot.qcsc import plot_qcsc
from stillome.plot.training import plot_latent_units, plot_training
from stillome.plot.trait_bars import plot_trait_prediction
from stillome.plot.trait_components import plot_trait_components
from stillome.report.drawn_subjects import drawn, drawn_groups, mean_of
from stillome.report.seen import N_CIRCLE_EDGES, most_moved, raw_consistency, things_counted
from stillome.run.folder import RunFolder
from stillome.run.steps.sliding import motion_thirds


def motion_measures(folder: RunFolder) -> Figure | None:
    """Draw how the motion measures go together, where there are several."""
    numeric = folder.cohort.motion.select_dtypes("number")
    return plot_motion_measures(numeric) if numeric.shape[1] > 1 else None


def motion_effects(folder: RunFolder) -> Figure:
    """Draw how much the cohort moved, and fibres by motion before and after."""
    records = {"as scanned": folder.motion_effects, "adjusted": folder.effects_left}
    return plot_fibre_totals(records, measure=things_counted(folder))


def changed_edges(folder: RunFolder) -> Figure:
    """Draw the edges that motion changes most around a circle."""
    label = f"{things_counted(folder)}: large − small motion"
    difference = folder.motion_effects.difference
    return plot_changed_edges(
        difference, folder.cohort.regions, n_edges=N_CIRCLE_EDGES, label=label
    )


def leakage_cohort(folder: RunFolder) -> Figure | None:
    """Draw what probes read from connectomes of the subjects the model was fitted to."""
    return _leakage(folder, "cohort")


def leakage_unseen(folder: RunFolder) -> Figure | None:
    """Draw what probes read from connectomes of subjects the model has not seen."""
    return _leakage(folder, "unseen")


def _leakage(folder: RunFolder, use: str) -> Figure | None:
    tables = {
        one.method: one.found.table
        for one in folder.certificates
        if (one.use, one.features) == (use, "connectomes")
    }
    if not tables:
        return None
    level = folder.certificate_notes["level"]
    return plot_leakage(tables, level=level, others=folder.settings.other_confounds)


def group_differences(folder: RunFolder) -> Figure:
    """Draw large minus small motion, before and after."""
    panels = {
        "as scanned": folder.motion_effects.difference,
        "adjusted": folder.effects_left.difference,
    }
    label = f"{things_counted(folder)}: mean of large-motion group − mean of small-motion group"
    return plot_edge_differences(panels, folder.cohort.regions, label=label)


def qcsc(folder: RunFolder) -> Figure:
    """Draw the correlation of every edge with motion, before and after."""
    return plot_qcsc(
        {"as scanned": folder.motion_effects.qcsc, "adjusted": folder.effects_left.qcsc},
        consistency=raw_consistency(folder),
    )


def components(folder: RunFolder) -> Figure:
    """Draw the first two components of connectomes and latents, coloured by motion."""
    networks = {
        name: np.log1p(matrices_to_edges(values, check=False))
        for name, values in _before_and_after(folder).items()
    }
    places = drawn(folder, folder.known)
    latents = folder.latents[places]
    return plot_components(
        networks,
        folder.motion[places, 0],
        latents={"latents z": latents} if latents.shape[1] > 1 else None,
        measure=folder.measure,
    )


def correction(folder: RunFolder) -> Figure:
    """Draw how much edges were corrected in those who moved little and much."""
    places, groups = drawn_groups(folder)
    before, after = folder.cohort.connectomes[places], folder.adjusted[places]
    return plot_correction(before, after, groups, measure=things_counted(folder))


def edge_means(folder: RunFolder) -> Figure:
    """Draw mean connectomes of thirds by motion, before and after."""
    groups = motion_thirds(folder.motion[:, 0], folder.known)
    panels = {
        f"{group}: {name}": mean_of(matrices, members)
        for name, matrices in (
            ("scanned", folder.cohort.connectomes),
            ("adjusted", folder.adjusted),
        )
        for group, members in groups.items()
    }
    return plot_edge_means(
        panels,
        folder.cohort.regions,
        panel_inches=2.7,
        label=f"mean {things_counted(folder)}",
        names=False,
    )


def glass_brain(folder: RunFolder) -> Figure | None:
    """Draw the edges that were corrected most in the brain."""
    if not {"x", "y", "z"} <= set(folder.cohort.regions.columns):
        return None
    known = folder.known
    change = mean_of(folder.adjusted, known) - mean_of(folder.cohort.connectomes, known)
    label = f"mean change in {things_counted(folder)} (adjusted − scanned)"
    return plot_glass_brain(change, folder.cohort.regions, label=label)


def subject(folder: RunFolder) -> Figure:
    """Draw the subject who moved most, before and after."""
    place = most_moved(folder)
    moved = f"{measure_label(folder.measure)} {number(folder.motion[place, 0], 2)}"
    return plot_subject(
        folder.cohort.connectomes[place],
        folder.adjusted[place],
        folder.cohort.regions,
        name=f"{folder.cohort.subject_ids[place]}, {moved}",
        measure=things_counted(folder),
    )


def traits(folder: RunFolder) -> Figure | None:
    """Draw how well traits are predicted."""
    if folder.comparison is None:
        return None
    return plot_trait_prediction(folder.comparison["summary"])


def trait_components(folder: RunFolder) -> Figure | None:
    """Draw the subjects with the lowest and highest values of the first trait in z."""
    latents = folder.latents[folder.known]
    if folder.comparison is None or latents.shape[1] < 2:
        return None
    name = folder.settings.trait[0]
    trait = folder.cohort.traits[name].to_numpy(np.float64, na_value=np.nan)[folder.known]
    return plot_trait_components({method_name(folder.method): latents}, trait, trait_name=name)


def latent_units(folder: RunFolder) -> Figure | None:
    """Draw the information in each latent unit."""
    if folder.diagnostics is None:
        return None
    return plot_latent_units(folder.diagnostics.kl_per_dimension, folder.diagnostics.active_units)


def training(folder: RunFolder) -> Figure | None:
    """Draw the course of the training, where there was one."""
    return plot_training(folder.history) if folder.history is not None else None


def frontier(folder: RunFolder) -> Figure | None:
    """Draw what more invariance costs, where that was tried."""
    return plot_frontier(folder.frontier) if folder.frontier is not None else None


def _before_and_after(folder: RunFolder) -> dict[str, NDArray[Any]]:
    """Return connectomes (m, V, V) of subjects whose confounds are known; of many, of some."""
    known = drawn(folder, folder.known)
    return {"as scanned": folder.cohort.connectomes[known], "adjusted": folder.adjusted[known]}
