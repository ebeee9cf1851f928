"""stillome: structural connectomes without head motion."""

from importlib.metadata import version

from stillome.cohort import Cohort
from stillome.evaluate.leakage import leakage_certificate
from stillome.exceptions import StillomeError, StillomeWarning
from stillome.io.cohorts import read_cohort
from stillome.models.inv_vae import InvVAE
from stillome.simulate import simulate_cohort

__version__ = version("stillome")

__all__ = [
    "Cohort",
    "InvVAE",
    "StillomeError",
    "StillomeWarning",
    "__version__",
    "leakage_certificate",
    "read_cohort",
    "simulate_cohort",
]
