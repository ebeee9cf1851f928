"""Regions in figures: their order by hemisphere and lobe, their short names, their colours."""

import re

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from numpy.typing import ArrayLike, NDArray

from stillome.arrays import Floats
from stillome.cohort.validation import as_floats, check_table
from stillome.exceptions import InputError
from stillome.plot.labels import spread
from stillome.plot.style import INK

LOBES = ("frontal", "insula", "parietal", "temporal", "occipital")
# Okabe and Ito, so that neighbours around the brain differ in lightness too.
LOBE_COLOURS = {
    "frontal": "#0072b2",
    "insula": "#f0e442",
    "parietal": "#d55e00",
    "temporal": "#56b4e9",
    "occipital": "#222222",
}
_OTHER_COLOURS = (
    "#009e73",
    "#cc79a7",
    "#e69f00",
    "#6a3d9a",
    "#a6761d",
    "#0072b2",
    "#f0e442",
    "#d55e00",
    "#56b4e9",
    "#222222",
)

_SIDE = re.compile(r"^(?:ctx[-_.])?(?:\d+networks[-_])?(lh|rh|left|right|l|r)[-_. ]", re.IGNORECASE)
# FreeSurfer runs its words together: rostralmiddlefrontal is the rostr. mid. frontal gyrus.
_WORDS = {
    "anterior": "ant.",
    "caudal": "caud.",
    "inferior": "inf.",
    "lateral": "lat.",
    "medial": "med.",
    "middle": "mid.",
    "posterior": "post.",
    "rostral": "rostr.",
    "superior": "sup.",
    "transverse": "transv.",
    "banks": "banks",
    "frontal": "frontal",
    "isthmus": "isthmus",
    "pars": "pars",
    "temporal": "temporal",
}
_WORD = re.compile(f"^({'|'.join(_WORDS)})(?=[a-z]{{3}})")
_LONGEST = 24


def check_regions(regions: pd.DataFrame | None, n_regions: int) -> pd.DataFrame:
    """Return one row per region with at least ``name``; numbered where regions are unknown.

    Examples
    --------
    >>> check_regions(None, 2)["name"].tolist()
    ['region-001', 'region-002']
    """
    if regions is None:
        return pd.DataFrame({"name": [f"region-{i + 1:03d}" for i in range(n_regions)]})
    regions = check_table(regions, "regions").reset_index(drop=True)
    if len(regions) != n_regions or "name" not in regions:
        raise InputError(
            f"regions: {len(regions)} rows with columns {list(regions.columns)}; expected one row "
            f"with a 'name' for each of the {n_regions} regions."
        )
    return regions


def check_matrix(matrix: ArrayLike, name: str) -> Floats:
    """Return one value per pair of regions or subjects as (V, V) floats.

    Examples
    --------
    >>> check_matrix([[0, 1], [1, 0]], "change").shape
    (2, 2)
    """
    array = as_floats(matrix, name)
    if array.ndim != 2 or array.shape[0] != array.shape[1] or len(array) < 2:
        raise InputError(f"{name}: shape {array.shape}; expected a square matrix, (V, V).")
    if not np.isfinite(array[~np.eye(len(array), dtype=bool)]).all():
        raise InputError(f"{name}: holds NaN or infinity; give finite values off the diagonal.")
    return array


def region_order(regions: pd.DataFrame) -> NDArray[np.intp]:
    """Return the order of regions by hemisphere, then lobe; as they stand where unknown.

    Examples
    --------
    >>> table = pd.DataFrame({"hemisphere": ["R", "L", "L"], "lobe": ["frontal"] * 2 + ["insula"]})
    >>> region_order(table).tolist()
    [1, 2, 0]
    """
    if not {"hemisphere", "lobe"} <= set(regions.columns):
        return np.arange(len(regions))
    places = {lobe: place for place, lobe in enumerate(LOBES)}
    keys = pd.DataFrame(
        {
            "hemisphere": regions["hemisphere"].astype(str),
            "known": regions["lobe"].map(places).fillna(len(places)),
            "lobe": regions["lobe"].astype(str),
        }
    ).reset_index(drop=True)
    return keys.sort_values(["hemisphere", "known", "lobe"], kind="stable").index.to_numpy()


def short_names(regions: pd.DataFrame) -> list[str]:
    """Shorten the names of atlases to what fits beside a matrix.

    The side is left out where the table has a column ``hemisphere``, for the figure says it then.

    Examples
    --------
    >>> table = pd.DataFrame({"name": ["ctx-lh-rostralmiddlefrontal", "ctx-rh-insula"]})
    >>> short_names(table)
    ['L rostr. mid. frontal', 'R insula']
    >>> short_names(table.assign(hemisphere=["L", "R"]))
    ['rostr. mid. frontal', 'insula']
    """
    sided = "hemisphere" not in regions
    return [_short_name(str(name), sided=sided) for name in regions["name"]]


def lobe_groups(regions: pd.DataFrame) -> NDArray[np.object_]:
    """Return "L frontal" and the like for each region; "" where nothing is known.

    Examples
    --------
    >>> lobe_groups(pd.DataFrame({"hemisphere": ["L"], "lobe": ["insula"]})).tolist()
    ['L insula']
    """
    columns = [column for column in ("hemisphere", "lobe") if column in regions]
    if not columns:
        return np.full(len(regions), "", dtype=object)
    return regions[columns].astype(str).agg(" ".join, axis=1).to_numpy(dtype=object)


def lobe_colours(regions: pd.DataFrame) -> dict[str, str]:
    """Return the colour of each lobe that occurs, known lobes first.

    Examples
    --------
    >>> list(lobe_colours(pd.DataFrame({"lobe": ["vermis", "frontal"]})))
    ['frontal', 'vermis']
    """
    present = set(regions["lobe"].astype(str)) if "lobe" in regions else set()
    others = sorted(present - set(LOBES))
    known = {lobe: LOBE_COLOURS[lobe] for lobe in LOBES if lobe in present}
    free = [colour for colour in _OTHER_COLOURS if colour not in known.values()]
    return known | {lobe: free[i % len(free)] for i, lobe in enumerate(others)}


def mark_lobes(
    axes: Axes, regions: pd.DataFrame, *, side_inches: float, right: bool = False
) -> None:
    """Draw lines between hemispheres and lobes of an ordered matrix, and name them at one side.

    Parameters
    ----------
    axes : matplotlib.axes.Axes
        Shows a matrix of which row i is ``regions.iloc[i]``.
    regions : pandas.DataFrame
        In the order in which they are drawn.
    side_inches : float
        How high the matrix will be drawn: names stand at least one line apart.
    right : bool, default=False
        Whether lobes are named at the right side, because region names stand at the left.
    """
    groups = lobe_groups(regions)
    starts = np.flatnonzero(np.r_[True, groups[1:] != groups[:-1]])
    ends = np.r_[starts[1:], len(groups)]
    sides = np.array([str(group).split(" ")[0] for group in groups])
    for start in starts[1:]:
        width = 1.2 if sides[start] != sides[start - 1] else 0.3
        for line in (axes.axhline, axes.axvline):
            line(start - 0.5, color=INK, linewidth=width)
    if not groups[0] and len(starts) == 1:
        return
    centres = (starts + ends - 1) / 2
    line_rows = len(groups) * 10 / (72 * side_inches)
    room = int(len(groups) / line_rows)
    # Where there are more lobes than lines, the small ones stay without a name.
    kept = np.sort(np.argsort(starts - ends, kind="stable")[:room])
    places = spread(centres[kept], line_rows, -0.5, len(groups) - 0.5)
    if right:
        for place, group in zip(places, groups[starts[kept]], strict=True):
            axes.annotate(
                group,
                (1.015, place),
                xycoords=("axes fraction", "data"),
                fontsize=8,
                color=INK,
                va="center",
                annotation_clip=False,
            )
        return
    axes.set_yticks(places, groups[starts[kept]])
    axes.tick_params(axis="y", length=0)


def _short_name(name: str, *, sided: bool) -> str:
    side = _SIDE.match(name)
    rest = name[side.end() :] if side else name.removeprefix("ctx-")
    words = []
    if rest.islower():
        while word := _WORD.match(rest):
            words.append(_WORDS[word[1]])
            rest = rest[word.end() :]
    rest = "STS" if words == ["banks"] else rest
    short = " ".join([*words, rest])
    if side and sided:
        short = f"{side[1][0].upper()} {short}"
    return short if len(short) <= _LONGEST else f"{short[: _LONGEST - 1]}…"
