"""One estimator per file, one contract for all of them.

`METHODS` names the methods and imports each when it is first asked for, so that torch and
combatlearn are loaded by those who use them only.
"""

from stillome.methods.inv_fa.inv_fa import InvFA
from stillome.methods.registry import METHODS, make_method

__all__ = ["METHODS", "InvFA", "make_method"]
