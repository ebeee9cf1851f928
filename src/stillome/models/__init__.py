"""One estimator per file, one contract for all of them.

`METHODS` names the methods and imports each when it is first asked for, so that torch and
combatlearn are loaded by those who use them only.
"""

from stillome.models.inv_vae import InvVAE
from stillome.models.methods import METHODS, make_method

__all__ = ["METHODS", "InvVAE", "make_method"]
