"""Simulated cohorts with a known motion-free truth: the paper's and realistic ones.

>>> from stillome.simulate import NUISANCES, REGIMES
>>> REGIMES["thinning"].meaning
'every streamline survives or is lost'
>>> NUISANCES["incomplete"].meaning
'1 for the 9 % of scans that were not completed, else 0'
"""

from stillome.simulate.communities import simulate_communities, simulate_extreme_motion
from stillome.simulate.desikan_killiany import load_desikan_killiany
from stillome.simulate.nuisances import NUISANCES
from stillome.simulate.realistic import simulate_cohort
from stillome.simulate.regimes import REGIMES
from stillome.simulate.scans import simulate_scans
from stillome.simulate.simulated_cohort import SimulatedCohort
from stillome.simulate.visits import SimulatedVisits, simulate_visits

__all__ = [
    "NUISANCES",
    "REGIMES",
    "SimulatedCohort",
    "SimulatedVisits",
    "load_desikan_killiany",
    "simulate_cohort",
    "simulate_communities",
    "simulate_extreme_motion",
    "simulate_scans",
    "simulate_visits",
]
