"""QSIPrep and QSIRecon: one MAT file per subject with every atlas and every measure."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import scipy.io

from stillome.exceptions import FileError
from stillome.io.connectome_data import Contents, Holding
from stillome.io.guarded_files import Item
from stillome.io.stacks import texts_of

PRODUCER = "QSIRecon"
_IDS = re.compile(r"^(?:atlas_)?(.+)_region_ids$")
_CONNECTIVITY = re.compile(r"^(?:atlas_)?(.+?)_(.+)_connectivity$")


def from_mat(variables: dict[str, Any], item: Item) -> Contents | None:
    """Find the matrices ``[atlas_]<atlas>_<measure>_connectivity``.

    Atlas names may hold underscores: the ``_region_ids`` say where they end.
    """
    keys = [key for key in variables if _CONNECTIVITY.match(key)]
    atlases = [match.group(1) for key in variables if (match := _IDS.match(key))]
    if not keys or not atlases:
        return None
    holdings = [_holding(key, variables, atlases, item) for key in keys]
    found = tuple(holding for holding in holdings if holding is not None)
    notes: tuple[str, ...] = ()
    if any(holding.measure.endswith("_pass") for holding in found):
        notes = ("DSI Studio's 'pass' counts a streamline on every edge that it passes.",)
    return Contents(PRODUCER, found, notes)


def write(path: Path, holding: Holding) -> None:
    """Write one matrix with its region ids and labels under QSIRecon's names."""
    atlas = holding.atlas or "atlas"
    names = holding.regions or tuple(str(i + 1) for i in range(len(holding.values)))
    scipy.io.savemat(
        path,
        {
            f"atlas_{atlas}_region_ids": np.arange(1, len(names) + 1)[None, :],
            f"atlas_{atlas}_region_labels": np.array(names, dtype=object)[None, :],
            f"atlas_{atlas}_{holding.measure}_connectivity": holding.values,
        },
        long_field_names=True,
    )


def _holding(key: str, variables: dict[str, Any], atlases: list[str], item: Item) -> Holding | None:
    bare = key.removeprefix("atlas_")
    fitting = [atlas for atlas in atlases if bare.startswith(f"{atlas}_")]
    values = variables[key]
    if not fitting or not isinstance(values, np.ndarray) or values.ndim != 2:
        return None
    atlas = max(fitting, key=len)
    measure = bare[len(atlas) + 1 :].removesuffix("_connectivity")
    prefix = key[: len(key) - len(bare)] + atlas
    names = variables.get(f"{prefix}_region_labels", variables.get(f"{prefix}_region_ids"))
    regions = None if names is None else texts_of(names, item.label)
    if regions is not None and len(regions) != len(values):
        raise FileError(
            f"{item.label}: {len(regions)} region labels for {len(values)} rows of {key}."
        )
    return Holding(values, measure=measure, atlas=atlas, regions=regions)
