"""stillome: structural connectomes without head motion.

>>> import stillome
>>> stillome.__version__.count(".")
2
>>> list(stillome.METHODS)[:3]
['inv-fa', 'inv-vae', 'gate']
>>> stillome.METHODS["edgewise"](n_components=5)
EdgewiseRegression(n_components=5)
"""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stillome.cohort.cohort import Cohort
    from stillome.cohort.confound_coding import ConfoundCoding
    from stillome.evaluate.compare.comparison import compare_methods
    from stillome.evaluate.leakage.certificate import leakage_certificate
    from stillome.exceptions import StillomeError, StillomeWarning
    from stillome.io.cohorts import read_cohort
    from stillome.io.connectomes import read_connectomes
    from stillome.io.motion.summary import read_motion
    from stillome.methods.graph_vae.inv_vae import InvVAE as InvVAE
    from stillome.methods.inv_fa.inv_fa import InvFA
    from stillome.methods.registry import METHODS
    from stillome.pipeline import run_pipeline
    from stillome.run.settings import RunSettings
    from stillome.simulate import simulate_cohort

__version__ = version("stillome")

# Without InvVAE, which needs torch: `from stillome import *` must work where torch is missing.
__all__ = [
    "METHODS",
    "Cohort",
    "ConfoundCoding",
    "InvFA",
    "RunSettings",
    "StillomeError",
    "StillomeWarning",
    "__version__",
    "compare_methods",
    "leakage_certificate",
    "read_cohort",
    "read_connectomes",
    "read_motion",
    "run_pipeline",
    "simulate_cohort",
]

# Each is imported when it is first asked for, so that `stillome --help` answers at once.
_PLACES = {
    "Cohort": "stillome.cohort.cohort",
    "ConfoundCoding": "stillome.cohort.confound_coding",
    "InvFA": "stillome.methods.inv_fa.inv_fa",
    "InvVAE": "stillome.methods.graph_vae.inv_vae",
    "METHODS": "stillome.methods.registry",
    "RunSettings": "stillome.run.settings",
    "StillomeError": "stillome.exceptions",
    "StillomeWarning": "stillome.exceptions",
    "compare_methods": "stillome.evaluate.compare.comparison",
    "leakage_certificate": "stillome.evaluate.leakage.certificate",
    "read_cohort": "stillome.io.cohorts",
    "read_connectomes": "stillome.io.connectomes",
    "read_motion": "stillome.io.motion.summary",
    "run_pipeline": "stillome.pipeline",
    "simulate_cohort": "stillome.simulate",
}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module 'stillome' has no attribute {name!r}")
    value = getattr(import_module(_PLACES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_PLACES})
