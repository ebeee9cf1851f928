"""Names of regions: one spelling for all tools, their order, and the atlas of Desikan-Killiany."""

import functools
from collections.abc import Sequence
from importlib import resources

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from stillome.exceptions import FileError

_HEMISPHERES = {"left": "lh", "right": "rh", "l": "lh", "r": "rh", "lh": "lh", "rh": "rh"}


@functools.cache
def _dk68() -> pd.DataFrame:
    with resources.files("stillome.data").joinpath("dk68.tsv").open("r", encoding="utf-8") as file:
        table = pd.read_csv(file, sep="\t")
    return table[["name", "hemisphere", "lobe", "x", "y", "z"]]


def desikan_killiany() -> pd.DataFrame:
    """Return the 68 cortical regions of Desikan and Killiany in FreeSurfer's order.

    Columns ``name``, ``hemisphere``, ``lobe`` and the centroid ``x``, ``y``, ``z`` (mm, MNI).

    Examples
    --------
    >>> desikan_killiany()["name"].iloc[5]
    'ctx-lh-fusiform'
    """
    return _dk68().copy()


@functools.lru_cache(maxsize=4096)
def canonical(name: str) -> str:
    """Return a region's name in the spelling by which names of different tools are compared.

    Examples
    --------
    >>> canonical("ctx-lh-bankssts") == canonical("lh.bankssts") == canonical("Left-bankssts")
    True
    """
    words = [word for word in _words(name) if word != "ctx"]
    sides = [i for i, word in enumerate(words) if word in _HEMISPHERES]
    if sides and sides[0] in (0, len(words) - 1):
        side = _HEMISPHERES[words.pop(sides[0])]
        words.insert(0, side)
    return "-".join(words)


def described(names: Sequence[str]) -> tuple[pd.DataFrame, list[str]]:
    """Return a table of regions, with coordinates if all are those of Desikan and Killiany.

    Returns
    -------
    table : pandas.DataFrame
    notes : list of str
        A remark if those regions are not in FreeSurfer's order.
    """
    table = pd.DataFrame({"name": list(names)})
    known = desikan_killiany()
    keys = [canonical(name) for name in names]
    places = {canonical(name): i for i, name in enumerate(known["name"])}
    if not all(key in places for key in keys):
        return table, []
    order = [places[key] for key in keys]
    described_table = known.iloc[order].reset_index(drop=True)
    described_table["name"] = list(names)
    notes = []
    if order != sorted(order):
        first = next(i for i, place in enumerate(order) if place != sorted(order)[i])
        notes.append(
            f"Desikan-Killiany regions in another order than FreeSurfer's from entry {first + 1} "
            "on (alphabetical?); kept as named."
        )
    return described_table, notes


def positions_of(wanted: Sequence[str], names: Sequence[str], label: str) -> NDArray[np.intp]:
    """Return the position of each wanted region in `names`.

    Raises
    ------
    FileError
        If a wanted region is missing, or a name is ambiguous.
    """
    check_unique(names, label)
    places = {name: i for i, name in enumerate(names)}
    if not all(name in places for name in wanted):
        places = {canonical(name): i for i, name in enumerate(names)}
        wanted = [canonical(name) for name in wanted]
    missing = [name for name in wanted if name not in places]
    if missing:
        raise FileError(
            f"{label}: no region {missing[0]!r} among its {len(names)} "
            f"(e.g. {names[0]!r}). Give labels=... that all subjects have."
        )
    return np.array([places[name] for name in wanted], dtype=np.intp)


def check_unique(names: Sequence[str], label: str) -> None:
    """Refuse a region that is named twice."""
    if len(set(names)) != len(names):
        seen: set[str] = set()
        twice = next(name for name in names if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise FileError(f"{label}: region {twice!r} is named twice. Name every region once.")


def _words(name: str) -> list[str]:
    for mark in "_. /":
        name = name.replace(mark, "-")
    return [word for word in name.lower().split("-") if word]
