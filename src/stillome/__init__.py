"""stillome: structural connectomes without head motion."""

from importlib.metadata import version

from stillome.cohort import Cohort
from stillome.exceptions import StillomeError, StillomeWarning

__version__ = version("stillome")

__all__ = ["Cohort", "StillomeError", "StillomeWarning", "__version__"]
