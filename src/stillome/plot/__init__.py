"""Figures: each function takes arrays and results and returns a figure; no model is fitted."""

from stillome.plot.circle import plot_changed_edges
from stillome.plot.component_plane import plot_components
from stillome.plot.correction import plot_correction
from stillome.plot.distances import plot_distances
from stillome.plot.fibre_totals import plot_fibre_totals
from stillome.plot.frontier_curve import plot_frontier
from stillome.plot.glass_brain import plot_glass_brain
from stillome.plot.leakage_bars import plot_leakage
from stillome.plot.matrices import plot_edge_differences, plot_edge_means
from stillome.plot.motion_effect import plot_motion_effects
from stillome.plot.motion_histogram import plot_motion_histogram
from stillome.plot.motion_measures import plot_motion_measures
from stillome.plot.one_subject import plot_subject
from stillome.plot.qcsc import edge_consistency, plot_qcsc
from stillome.plot.style import house_style, save_figure
from stillome.plot.training import plot_latent_units, plot_training
from stillome.plot.trait_bars import plot_trait_prediction
from stillome.plot.trait_components import plot_trait_components

__all__ = [
    "edge_consistency",
    "house_style",
    "plot_changed_edges",
    "plot_components",
    "plot_correction",
    "plot_distances",
    "plot_edge_differences",
    "plot_edge_means",
    "plot_fibre_totals",
    "plot_frontier",
    "plot_glass_brain",
    "plot_latent_units",
    "plot_leakage",
    "plot_motion_effects",
    "plot_motion_histogram",
    "plot_motion_measures",
    "plot_qcsc",
    "plot_subject",
    "plot_training",
    "plot_trait_components",
    "plot_trait_prediction",
    "save_figure",
]
