"""Figures: each function takes arrays and results, fits nothing, and returns a figure."""

from stillome.plot.frontier import plot_frontier
from stillome.plot.glass_brain import plot_glass_brain
from stillome.plot.leakage import plot_leakage
from stillome.plot.qcsc import plot_qcsc
from stillome.plot.subject import plot_subject
from stillome.plot.training import plot_latent_units, plot_training

__all__ = [
    "plot_frontier",
    "plot_glass_brain",
    "plot_latent_units",
    "plot_leakage",
    "plot_qcsc",
    "plot_subject",
    "plot_training",
]
