"""PSC (population-based structural connectome): `*_cm_count_raw.mat`, strictly upper triangles."""

from pathlib import Path
from typing import Any

import numpy as np
import scipy.io

from stillome.io.connectome_data import Contents, Holding
from stillome.io.guarded_files import Item
from stillome.io.region_names import desikan_killiany

PRODUCER = "PSC"
_N_CORTICAL = 68
_N_ALL = 87


def from_mat(variables: dict[str, Any], item: Item) -> Contents | None:
    """Read ``cm`` and ``cm_len``; both sizes get names of regions."""
    matrices = {
        measure: variables[key]
        for key, measure in (("cm", "count"), ("cm_len", "length"))
        if isinstance(variables.get(key), np.ndarray) and variables[key].ndim == 2
    }
    if not matrices:
        return None
    holdings = tuple(
        Holding(values, measure=measure, regions=_names(len(values)))
        for measure, values in matrices.items()
    )
    notes: tuple[str, ...] = ()
    if any(len(values) == _N_ALL for values in matrices.values()):
        notes = ("87 regions: 19 subcortical, then 68 cortical; labels='dk68' takes the cortex.",)
    return Contents(PRODUCER, holdings, notes)


def write(path: Path, holding: Holding) -> None:
    """Write one matrix under the key ``cm`` (``cm_len`` for lengths)."""
    key = "cm_len" if holding.measure == "length" else "cm"
    scipy.io.savemat(path, {key: holding.values})


def _names(size: int) -> tuple[str, ...] | None:
    cortical = tuple(desikan_killiany()["name"])
    if size == _N_CORTICAL:
        return cortical
    if size == _N_ALL:
        return (*(f"subcortical-{i + 1:02d}" for i in range(18)), "brain-stem", *cortical)
    return None
