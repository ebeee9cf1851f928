"""The most changed edges around a circle: left hemisphere left, front on top."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, PathPatch
from matplotlib.path import Path
from numpy.typing import ArrayLike, NDArray

from stillome.arrays import Floats
from stillome.cohort.edges import edge_indices
from stillome.cohort.validation import check_count
from stillome.exceptions import InputError
from stillome.plot.labels import signed, spread
from stillome.plot.region_order import (
    check_matrix,
    check_regions,
    lobe_colours,
    lobe_groups,
    region_order,
    short_names,
)
from stillome.plot.style import DIFFERENCE, GREY, INK, house_style

_RING = (92.0, 97.0)  # inner and outer radius of the cells
_AXES_RADIUS = 105.0
_LABEL_RADIUS = 104.0
_BETWEEN_HEMISPHERES, _BETWEEN_LOBES = 6.0, 1.5  # gaps in degrees
_ALL_NAMES = 90  # more regions than this, and only those with a chord are named
_GAP_DEGREES = 2.6  # one line of text at the label's radius
_THINNEST, _THICKEST = 1.2, 5.0
_QUIET = "#6e6e6e"


def plot_changed_edges(
    change: ArrayLike,
    regions: pd.DataFrame | None = None,
    *,
    n_edges: int = 15,
    title: str = "",
    label: str = "change in fibres",
) -> Figure:
    """Draw the edges that changed most as chords of a circle of regions.

    Parameters
    ----------
    change : array-like of shape (V, V)
        Symmetric: a group difference, or adjusted − raw averaged over subjects.
    regions : pandas.DataFrame, optional
        One row per region: ``name``; ``hemisphere`` (L, R) and ``lobe`` where known.
    n_edges : int, default=15
        How many chords; edges that did not change get none.
    title : str, optional
    label : str, default="change in fibres"
        What width and colour of a chord mean.

    Returns
    -------
    matplotlib.figure.Figure
        8 × 8.6 inches. Regions without a chord are named in grey, or not at all if more than 90.

    Examples
    --------
    >>> change = np.zeros((4, 4))
    >>> change[0, 1] = change[1, 0] = -5.0
    >>> figure = plot_changed_edges(change)
    >>> [patch.get_gid() for patch in figure.axes[0].patches if patch.get_gid()]
    ['region-001–region-002']
    """
    matrix = check_matrix(change, "change")
    if not np.allclose(matrix, matrix.T, equal_nan=True):
        raise InputError("change: not symmetric; give one value per edge, (V, V) symmetric.")
    table = check_regions(regions, len(matrix))
    rows, columns = edge_indices(len(matrix))
    values = matrix[rows, columns]
    top = np.argsort(-np.abs(values), kind="stable")[: check_count(n_edges, "n_edges", minimum=1)]
    top = top[values[top] != 0]
    with house_style():
        figure = Figure(figsize=(8, 8.6))
        circle = _Circle(table, figure)
        for edge in top[::-1]:  # the largest on top
            circle.join(int(rows[edge]), int(columns[edge]), _look(values[edge], values[top]))
        circle.write_names({int(region) for region in (*rows[top], *columns[top])})
        if title:
            figure.suptitle(title, x=0.02, ha="left", fontsize=10, weight="bold")
        _add_legends(figure, values[top], table, label)
    return figure


class _Circle:
    """Regions as cells of a ring; right hemisphere clockwise from the top, left against it."""

    def __init__(self, regions: pd.DataFrame, figure: Figure) -> None:
        self.regions = regions
        self.names = short_names(regions)
        order = _around(regions)
        starts, width = _cells(lobe_groups(regions)[order])
        self.degrees = np.empty(len(regions))  # of the middle of each region's cell
        self.degrees[order] = starts + width / 2
        self.axes = figure.add_subplot(projection="polar")
        self.axes.set(theta_offset=np.pi / 2, theta_direction=-1)  # clockwise, from the top
        self.axes.set_axis_off()
        colours = lobe_colours(regions)
        lobes = regions["lobe"].astype(str) if "lobe" in regions else pd.Series("", regions.index)
        self.axes.bar(
            np.radians(self.degrees),
            _RING[1] - _RING[0],
            np.radians(width),
            _RING[0],
            color=[colours.get(lobe, GREY) for lobe in lobes],
            edgecolor="white",
            linewidth=min(0.6, 40 / len(regions)),
        )
        self.axes.set_ylim(0.0, _AXES_RADIUS)

    def join(self, a: int, b: int, look: dict[str, Any]) -> None:
        """Draw a chord between two regions."""
        names, rim = self.regions["name"], _RING[0] - 1
        first, second = (float(self.degrees[region]) for region in (a, b))
        path = Path(
            [(np.radians(first), rim), _control_point(first, second), (np.radians(second), rim)],
            [Path.MOVETO, Path.CURVE3, Path.CURVE3],
        )
        gid = f"{names.iloc[a]}–{names.iloc[b]}"
        self.axes.add_patch(PathPatch(path, fill=False, zorder=2, gid=gid, **look))

    def write_names(self, chosen: set[int]) -> None:
        """Name regions along their radius, one line of text apart on each side."""
        everybody = range(len(self.degrees))
        named = set(everybody) if len(everybody) <= _ALL_NAMES else chosen
        for start in (0.0, 180.0):
            side = [region for region in named if start <= self.degrees[region] < start + 180]
            side.sort(key=lambda region: float(self.degrees[region]))
            places = spread(self.degrees[side], _GAP_DEGREES, start, start + 180)
            for region, place in zip(side, places, strict=True):
                self._write(region, float(place), strong=region in chosen)

    def _write(self, region: int, place: float, *, strong: bool) -> None:
        colour = INK if strong else _QUIET
        angles = np.radians([self.degrees[region], place])
        radii = [_RING[1] + 1, _LABEL_RADIUS - 1]
        self.axes.plot(angles, radii, color=colour, linewidth=0.5, clip_on=False)
        right = place < 180
        self.axes.text(
            float(np.radians(place)),
            _LABEL_RADIUS,
            self.names[region],
            rotation=90 - place if right else 270 - place,
            rotation_mode="anchor",
            ha="left" if right else "right",
            va="center",
            fontsize=7 if strong else 6,
            color=colour,
            weight="bold" if strong else "normal",
        )


def _cells(groups: NDArray[Any]) -> tuple[Floats, float]:
    """Return where the cell of each region begins, in degrees, and how wide every cell is.

    A wide gap separates hemispheres, a narrow one lobes; half of the last gap lies before the top.
    """
    following = np.roll(groups, -1)
    sides = np.array([str(group)[:1] for group in groups])
    gaps = np.where(sides != np.roll(sides, -1), _BETWEEN_HEMISPHERES, _BETWEEN_LOBES)
    gaps = np.where(groups != following, gaps, 0.0)
    width = (360 - gaps.sum()) / len(groups)
    starts = gaps[-1] / 2 + np.cumsum(np.r_[0.0, width + gaps[:-1]])
    return starts, float(width)


def _around(regions: pd.DataFrame) -> NDArray[np.intp]:
    """Return the regions clockwise from the top: right from front to back, left back to front."""
    order = region_order(regions)
    if "hemisphere" not in regions:
        return order
    left = regions["hemisphere"].astype(str).str.upper().str.startswith("L").to_numpy()[order]
    return np.r_[order[~left], order[left][::-1]]


def _control_point(first: float, second: float) -> tuple[float, float]:
    """Return angle (radians) and radius of a chord's control point.

    It lies between both ends on their shorter side. The nearer the ends, the nearer to the rim.
    """
    apart = abs(first - second)
    middle = (first + second) / 2 + (180 if apart > 180 else 0)
    depth = 0.75 * (1 - np.sin(np.radians(apart / 2)))
    return float(np.radians(middle)), float(100 * depth)


def _look(value: float, shown: Floats) -> dict[str, Any]:
    """Return colour, width and line of a chord.

    The palest two fifths of the colours would not be seen on white. Where chords of both signs
    are shown, gains are dashed, for those who print in grey.
    """
    share = min(1.0, abs(value) / float(np.abs(shown).max()))
    colour = DIFFERENCE(0.5 + 0.5 * np.sign(value) * (0.4 + 0.6 * share))
    dashed = value > 0 and bool((shown < 0).any())
    return {
        "color": to_hex(colour),
        "lw": _THINNEST + (_THICKEST - _THINNEST) * share,
        "ls": (0, (2.5, 0.6)) if dashed else "-",
    }


def _add_legends(figure: Figure, values: Floats, regions: pd.DataFrame, label: str) -> None:
    """Explain chords at the right and lobes at the left, under the circle."""
    lines = []
    for edges in (values[values < 0], values[values > 0]):
        ends = (edges.min(), np.median(edges), edges.max()) if len(edges) else ()
        for value in sorted({float(f"{value:.2g}") for value in ends}):
            lines.append(Line2D([], [], label=signed(value), **_look(value, values)))
    patches = [Patch(color=colour, label=lobe) for lobe, colour in lobe_colours(regions).items()]
    sides = "; left hemisphere at the left" if "hemisphere" in regions else ""
    if lines:
        figure.legend(
            handles=lines, title=label, loc="outside lower right", ncols=2, handlelength=3
        )
    if patches:
        figure.legend(handles=patches, title=f"lobe{sides}", loc="outside lower left", ncols=3)
