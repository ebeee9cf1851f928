"""From the results of a run to the arguments of the figures in `stillome.plot`."""

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from stillome.evaluate.motion_effects import MotionEffects, describe_motion_effects
from stillome.plot.leakage import plot_leakage
from stillome.plot.matrices import plot_edge_differences, plot_edge_means
from stillome.plot.motion_effect import plot_motion_effects
from stillome.report.certificates import certificates_of
from stillome.report.results import Results
from stillome.report.words import method_name

Floats = NDArray[np.float64]


def describe(results: Results) -> MotionEffects:
    """Describe what motion did, with groups as large as the cohort allows."""
    n_known = int(np.isfinite(results.cohort.motion[results.confound].to_numpy(dtype=float)).sum())
    return describe_motion_effects(
        results.cohort, results.confound, n_groups=int(np.clip(n_known // 2, 2, 10))
    )


def motion_effects(results: Results) -> Figure:
    """Draw what motion did to the cohort."""
    return plot_motion_effects(describe(results))


def leakage_cohort(results: Results) -> Figure | None:
    """Draw what probes read from connectomes: as scanned, of baselines, of the method."""
    tables = {
        method_name(one.method): one.table
        for one in certificates_of(results, "cohort")
        if one.features == "connectomes"
    }
    level = float(results.certificate_notes.get("level", 0.05))
    return plot_leakage(tables, level=level) if tables else None


def group_differences(results: Results) -> Figure:
    """Draw large minus small motion, before and after."""
    groups = results.cohort.motion_groups(results.confound)
    panels = {
        "as scanned": _difference(results.cohort.connectomes, groups.large, groups.small),
        "adjusted": _difference(results.adjusted, groups.large, groups.small),
    }
    return plot_edge_differences(panels, results.cohort.regions)


def edge_means(results: Results) -> Figure:
    """Draw the mean connectome before and after."""
    panels = {
        "as scanned": np.asarray(results.cohort.connectomes.mean(axis=0, dtype=np.float64)),
        "adjusted": np.asarray(results.adjusted.mean(axis=0, dtype=np.float64)),
    }
    return plot_edge_means(panels, results.cohort.regions)


def _difference(
    connectomes: NDArray[np.float64], large: NDArray[np.intp], small: NDArray[np.intp]
) -> Floats:
    after, before = (connectomes[who].mean(axis=0, dtype=np.float64) for who in (large, small))
    return np.asarray(after - before)
