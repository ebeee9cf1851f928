"""stillome: structural connectomes without head motion."""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stillome.cohort import Cohort
    from stillome.confounds import ConfoundCoding
    from stillome.evaluate.leakage import leakage_certificate
    from stillome.exceptions import StillomeError, StillomeWarning
    from stillome.io.cohorts import read_cohort
    from stillome.models.inv_vae import InvVAE
    from stillome.simulate import simulate_cohort

__version__ = version("stillome")

__all__ = [
    "Cohort",
    "ConfoundCoding",
    "InvVAE",
    "StillomeError",
    "StillomeWarning",
    "__version__",
    "leakage_certificate",
    "read_cohort",
    "simulate_cohort",
]

# Each is imported when it is first asked for, so that `stillome --help` answers at once.
_PLACES = {
    "Cohort": "stillome.cohort",
    "ConfoundCoding": "stillome.confounds",
    "InvVAE": "stillome.models.inv_vae",
    "StillomeError": "stillome.exceptions",
    "StillomeWarning": "stillome.exceptions",
    "leakage_certificate": "stillome.evaluate.leakage",
    "read_cohort": "stillome.io.cohorts",
    "simulate_cohort": "stillome.simulate",
}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module 'stillome' has no attribute {name!r}")
    value = getattr(import_module(_PLACES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
