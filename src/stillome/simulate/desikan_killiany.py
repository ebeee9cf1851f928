"""The 68 cortical regions of the Desikan-Killiany atlas and fibre lengths between them."""

from importlib import resources

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from stillome.arrays import Floats
from stillome.cohort.edges import edge_indices

# Ratio of fibre length to the straight line between two regions.
_DETOUR = 1.3
_LENGTH_NOISE_MM = 8.0
_SHORTEST_MM = 10.0


def load_desikan_killiany() -> pd.DataFrame:
    """Return the 68 cortical regions, left hemisphere first.

    Returns
    -------
    pandas.DataFrame
        Columns ``index``, ``fs_id`` (FreeSurfer), ``name``, ``hemisphere`` (L, R), ``lobe`` and
        the centroid ``x``, ``y``, ``z`` in mm (MNI).

    Examples
    --------
    >>> regions = load_desikan_killiany()
    >>> len(regions), regions["name"][0]
    (68, 'ctx-lh-bankssts')
    """
    source = resources.files("stillome") / "data" / "dk68.tsv"
    with source.open(encoding="utf-8") as stream:
        return pd.read_csv(stream, sep="\t")


def fiber_lengths(regions: pd.DataFrame, rng: np.random.Generator) -> Floats:
    """Draw the mean fibre length of every edge in mm, shape (E,), from the centroids."""
    places = regions[["x", "y", "z"]].to_numpy(dtype=np.float64)
    rows, columns = edge_indices(len(regions))
    straight = np.linalg.norm(places[rows] - places[columns], axis=1)
    noise = rng.normal(0.0, _LENGTH_NOISE_MM, len(rows))
    return np.maximum(_DETOUR * straight + noise, _SHORTEST_MM)


def same_value(regions: pd.DataFrame, column: str) -> NDArray[np.bool_]:
    """Say of every edge whether its two regions agree in a column, shape (E,)."""
    values = regions[column].to_numpy()
    rows, columns = edge_indices(len(regions))
    return np.asarray(values[rows] == values[columns])


def homotopic(regions: pd.DataFrame) -> NDArray[np.bool_]:
    """Say of every edge whether it joins homotopic regions, shape (E,)."""
    twin = regions["name"].str.replace(r"^ctx-[lr]h-", "", regex=True)
    return same_value(regions.assign(twin=twin), "twin")
