"""Cohorts whose truth is known: the paper's simulations and realistic ones."""

from stillome.simulate.communities import simulate_communities, simulate_extreme_motion
from stillome.simulate.realistic import simulate_cohort
from stillome.simulate.record import SimulatedCohort
from stillome.simulate.regimes import REGIMES
from stillome.simulate.regions import load_desikan_killiany

__all__ = [
    "REGIMES",
    "SimulatedCohort",
    "load_desikan_killiany",
    "simulate_cohort",
    "simulate_communities",
    "simulate_extreme_motion",
]
