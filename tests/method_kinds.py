"""Which methods go through whole pipelines in tests: one of each kind.

Verbs of the command line and steps of a run call `fit`, `transform`, `adjust`, `predict` and
`sample` of a method and know nothing else of it. The other methods inherit all of these from
`ComponentMethod`, as `edgewise` does; `tests/cli/test_every_method.py` checks that they do.
"""

from stillome.methods.registry import METHODS

ONE_OF_A_KIND = ("inv-fa", "inv-vae", "gate", "combat", "edgewise", "raw")
LIKE_EDGEWISE = tuple(name for name in METHODS if name not in ONE_OF_A_KIND)
