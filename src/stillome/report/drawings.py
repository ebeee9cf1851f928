"""From the results of a run to the arguments of the figures in `stillome.plot`."""

from dataclasses import replace
from functools import lru_cache

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import NDArray

from stillome.arrays import Floats
from stillome.cohort.edges import matrices_to_edges
from stillome.evaluate.motion_effects import (
    MotionEffects,
    describe_motion_effects,
    qcsc_correlations,
)
from stillome.plot.circle import plot_changed_edges
from stillome.plot.component_plane import plot_components
from stillome.plot.correction import plot_correction
from stillome.plot.frontier_curve import plot_frontier
from stillome.plot.glass_brain import plot_glass_brain
from stillome.plot.labels import measure_label
from stillome.plot.leakage_bars import plot_leakage
from stillome.plot.matrices import plot_edge_differences, plot_edge_means
from stillome.plot.motion_effect import plot_motion_effects
from stillome.plot.motion_measures import plot_motion_measures
from stillome.plot.one_subject import plot_subject
from stillome.plot.qcsc import plot_qcsc
from stillome.plot.training import plot_latent_units, plot_training
from stillome.plot.trait_bars import plot_trait_prediction
from stillome.plot.trait_components import plot_trait_components
from stillome.report.certificates import certificates_of
from stillome.report.results import Results
from stillome.report.run_tables import ID
from stillome.report.words import method_name, number


@lru_cache(maxsize=1)
def describe(results: Results) -> MotionEffects:
    """Describe what motion did, with groups as large as the cohort allows."""
    n_known = int(np.isfinite(_motion(results)).sum())
    return describe_motion_effects(
        results.cohort, results.confound, n_groups=int(np.clip(n_known // 2, 2, 10))
    )


def motion_measures(results: Results) -> Figure | None:
    """Draw how the motion measures go together, where there are several."""
    numeric = results.cohort.motion.select_dtypes("number")
    return plot_motion_measures(numeric) if numeric.shape[1] > 1 else None


def motion_effects(results: Results) -> Figure:
    """Draw what motion did to the cohort."""
    return plot_motion_effects(describe(results))


def changed_edges(results: Results) -> Figure:
    """Draw the edges that motion changes most around a circle."""
    label = f"{_things(results)}: large − small motion"
    return plot_changed_edges(describe(results).difference, results.cohort.regions, label=label)


def leakage_cohort(results: Results) -> Figure | None:
    """Draw what probes read from connectomes of the subjects the model was fitted to."""
    return _leakage(results, "cohort")


def leakage_unseen(results: Results) -> Figure | None:
    """Draw what probes read from connectomes of subjects the model has not seen."""
    return _leakage(results, "unseen")


def _leakage(results: Results, use: str) -> Figure | None:
    tables = {
        one.method: one.table
        for one in certificates_of(results, use)
        if one.features == "connectomes"
    }
    level = float(results.certificate_notes.get("level", 0.05))
    return plot_leakage(tables, level=level, others=results.others) if tables else None


def group_differences(results: Results) -> Figure:
    """Draw large minus small motion, before and after."""
    groups = results.cohort.motion_groups(results.confound)
    panels = {
        "as scanned": _difference(results.cohort.connectomes, groups.large, groups.small),
        "adjusted": _difference(results.adjusted, groups.large, groups.small),
    }
    label = f"{_things(results)}: mean of large-motion group − mean of small-motion group"
    return plot_edge_differences(panels, results.cohort.regions, label=label)


def qcsc(results: Results) -> Figure:
    """Draw the correlation of every edge with motion, before and after."""
    adjusted = replace(results.cohort, connectomes=results.adjusted)
    records = {
        "as scanned": describe(results).qcsc,
        "adjusted": qcsc_correlations(adjusted, results.confound),
    }
    return plot_qcsc(records)


def components(results: Results) -> Figure:
    """Draw the first two components of connectomes and latents, coloured by motion."""
    networks = {
        "as scanned": np.log1p(matrices_to_edges(results.cohort.connectomes, check=False)),
        "adjusted": np.log1p(matrices_to_edges(results.adjusted, check=False)),
    }
    latents = _latents(results)
    return plot_components(
        networks,
        _motion(results),
        latents={"latents z": latents} if latents.shape[1] > 1 else None,
        measure=results.confound,
    )


def correction(results: Results) -> Figure:
    """Draw how much edges were corrected in those who moved little and much."""
    groups = results.cohort.motion_groups(results.confound)
    return plot_correction(results.cohort.connectomes, results.adjusted, groups)


def edge_means(results: Results) -> Figure:
    """Draw the mean connectome before and after."""
    panels = {
        "as scanned": np.asarray(results.cohort.connectomes.mean(axis=0, dtype=np.float64)),
        "adjusted": np.asarray(results.adjusted.mean(axis=0, dtype=np.float64)),
    }
    return plot_edge_means(panels, results.cohort.regions, label=f"mean {_things(results)}")


def glass_brain(results: Results) -> Figure | None:
    """Draw the edges that were corrected most in the brain."""
    if not {"x", "y", "z"} <= set(results.cohort.regions.columns):
        return None
    change = results.adjusted.mean(axis=0, dtype=np.float64) - results.cohort.edge_means()
    label = f"mean change in {_things(results)} (adjusted − scanned)"
    return plot_glass_brain(change, results.cohort.regions, label=label)


def subject(results: Results) -> Figure:
    """Draw the subject who moved most, before and after."""
    motion = _motion(results)
    place = int(np.nanargmax(motion)) if np.isfinite(motion).any() else 0
    moved = f"{measure_label(results.confound)} {number(motion[place], 2)}"
    return plot_subject(
        results.cohort.connectomes[place],
        results.adjusted[place],
        results.cohort.regions,
        name=f"{results.cohort.subject_ids[place]}, {moved}",
        measure=_things(results),
    )


def traits(results: Results) -> Figure | None:
    """Draw how well traits are predicted."""
    return plot_trait_prediction(results.comparison["summary"]) if results.comparison else None


def trait_components(results: Results) -> Figure | None:
    """Draw the subjects with the lowest and highest values of the first trait in z."""
    names = [str(name) for name in results.settings.get("trait") or []]
    latents = _latents(results)
    if not results.comparison or not names or names[0] not in results.cohort.traits:
        return None
    if latents.shape[1] < 2:
        return None
    trait = pd.to_numeric(results.cohort.traits[names[0]], errors="coerce")
    panels = {method_name(results.method): latents}
    return plot_trait_components(panels, trait.to_numpy(), trait_name=names[0])


def latent_units(results: Results) -> Figure | None:
    """Draw the information in each latent unit."""
    kl = results.diagnostics.get("kl_per_unit")
    return plot_latent_units(kl, int(results.diagnostics.get("active_units", 0))) if kl else None


def training(results: Results) -> Figure | None:
    """Draw the course of the training, where there was one."""
    return plot_training(results.history) if results.history is not None else None


def frontier(results: Results) -> Figure | None:
    """Draw what more invariance costs, where that was tried."""
    return plot_frontier(results.frontier) if results.frontier is not None else None


def _motion(results: Results) -> Floats:
    return results.cohort.motion[results.confound].to_numpy(dtype=np.float64)


def _latents(results: Results) -> Floats:
    return results.latents.drop(columns=ID).to_numpy(dtype=np.float64)


def _things(results: Results) -> str:
    return "fibres" if results.whole_counts else "weight"


def _difference(
    connectomes: NDArray[np.float64], large: NDArray[np.intp], small: NDArray[np.intp]
) -> Floats:
    after, before = (connectomes[who].mean(axis=0, dtype=np.float64) for who in (large, small))
    return np.asarray(after - before)
