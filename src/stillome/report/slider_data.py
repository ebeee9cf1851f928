"""The matrices of the motion slider, made small enough to live inside the page."""

import base64
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stillome.cohort.edges import edge_indices
from stillome.cohort.scan_words import row_words
from stillome.plot.glass_brain import in_mni_space
from stillome.plot.region_order import lobe_colours, region_order, short_names
from stillome.run.folder import RunFolder
from stillome.run.slider import Slider

BUDGET_BYTES = 6_500_000  # before base64, which adds a third
_TOP = 65535
_FEWEST_REFERENCES, _FEWEST_KEYS = 5, 3


def slider_data(
    folder: RunFolder, *, with_subjects: bool = False, budget: int = BUDGET_BYTES
) -> dict[str, Any] | None:
    """Return what the page needs to draw matrix, circle and brain at any reference.

    Upper triangles in the order of regions in the figures, as uint16 of √(value / largest): the
    error is below largest / 65535.

    Parameters
    ----------
    folder : RunFolder
    with_subjects : bool, default=False
        Whether single subjects are there beside groups.
    budget : int
        Bytes for the matrices; references and then subjects are left out until they fit.

    Returns
    -------
    dict or None
        None where the run made no slider.
    """
    if folder.slider is None:
        return None
    n_keys = len(folder.slider.keys) if with_subjects else folder.slider.n_groups
    chosen = _kept(folder.slider, list(range(n_keys)))
    slider = _fitted(chosen, folder.cohort.n_regions, budget)
    order = region_order(folder.cohort.regions)
    rows, columns = edge_indices(len(order))
    ordered = order[rows], order[columns]
    values = np.concatenate([slider.observed[:, None], slider.matrices], axis=1)
    values = values[:, :, ordered[0], ordered[1]]
    largest = float(np.nanmax(values, initial=0.0)) or 1.0
    words = row_words(folder.cohort.subject_ids)
    return {
        "references": [round(float(value), 6) for value in slider.references],
        "keys": [*map(words, slider.keys[: slider.n_groups]), *slider.keys[slider.n_groups :]],
        "motion": [_or_none(value) for value in slider.observed_motion],
        "groups": slider.n_groups,
        "leftOut": n_keys - len(slider.keys),
        "largest": largest,
        # Not from the packed values: those would be one fibre off the table of subjects.
        "totals": values.sum(axis=-1, dtype=np.float64).round(4).tolist(),
        "whole": folder.whole_counts,
        "packed": _packed(values, largest),
        "regions": _regions(folder, order),
    }


def _fitted(slider: Slider, n_regions: int, budget: int) -> Slider:
    """Leave out references, then subjects, until the matrices fit the budget."""
    room = budget // (n_regions * (n_regions - 1))
    n_keys, n_references = len(slider.keys), len(slider.references)
    chosen = _spread_over(n_references, max(room // n_keys - 1, _FEWEST_REFERENCES))
    keys = max(room // (len(chosen) + 1), _FEWEST_KEYS)
    first = slider.n_groups
    kept = [*range(first), *(first + i for i in _spread_over(n_keys - first, keys - first))]
    return replace(
        _kept(slider, kept),
        references=slider.references[chosen],
        matrices=slider.matrices[np.ix_(kept, chosen)],
    )


def _kept(slider: Slider, kept: list[int]) -> Slider:
    """Leave out all but some of the groups and subjects; all groups must be among them."""
    return replace(
        slider,
        keys=tuple(slider.keys[i] for i in kept),
        matrices=slider.matrices[kept],
        observed=slider.observed[kept],
        observed_motion=slider.observed_motion[kept],
    )


def _spread_over(n: int, wanted: int) -> list[int]:
    """Choose at most `wanted` of n places, both ends among them."""
    if wanted >= n:
        return list(range(n))
    return np.unique(np.linspace(0, n - 1, max(wanted, 0)).round().astype(int)).tolist()


def _packed(values: NDArray[Any], largest: float) -> str:
    scaled = np.sqrt(np.clip(np.nan_to_num(values), 0, None) / largest)
    return base64.b64encode(np.rint(scaled * _TOP).astype("<u2").tobytes()).decode()


def _or_none(value: float) -> float | None:
    return round(float(value), 6) if np.isfinite(value) else None


def _regions(folder: RunFolder, order: NDArray[np.intp]) -> dict[str, Any]:
    regions = folder.cohort.regions.iloc[order]
    told: dict[str, Any] = {
        "names": [str(name) for name in regions["name"]],
        "short": short_names(regions),
        "side": _texts(regions, "hemisphere"),
        "lobe": _texts(regions, "lobe"),
        "colours": lobe_colours(regions),
        "places": None,
        "mni": False,
    }
    if {"x", "y", "z"} <= set(regions.columns):
        places = regions[["x", "y", "z"]].to_numpy(dtype=float)
        if np.isfinite(places).all():
            told["places"] = places.round(1).tolist()
            told["mni"] = in_mni_space(places)
    return told


def _texts(regions: Any, column: str) -> list[str] | None:
    if column not in regions or regions[column].isna().all():
        return None
    return [str(value) for value in regions[column].fillna("")]
