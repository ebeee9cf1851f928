"""The most changed edges around a circle: left hemisphere left, front on top."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from numpy.typing import ArrayLike, NDArray

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

_RING = (92.0, 97.0)
_LABEL_RADIUS = 104.0
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
    >>> [patch.get_gid() for patch in figure.axes[0].patches]
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
    circle = _Circle(table)
    with house_style():
        figure = Figure(figsize=(8, 8.6))
        axes = figure.add_subplot(projection="polar")
        for edge in top[::-1]:  # the largest on top
            circle.join(int(rows[edge]), int(columns[edge]), _look(values[edge], values[top]))
        circle.circos.plotfig(ax=axes)
        circle.write_names(axes, {int(region) for region in (*rows[top], *columns[top])})
        if title:
            figure.suptitle(title, x=0.02, ha="left", fontsize=10, weight="bold")
        _add_legends(figure, values[top], table, label)
    return figure


class _Circle:
    """Regions as cells of a ring; right hemisphere clockwise from the top, left against it."""

    def __init__(self, regions: pd.DataFrame) -> None:
        from pycirclize import Circos  # brings pyplot, which other figures do without

        self.regions = regions
        self.names = short_names(regions)
        order = _around(regions)
        groups = lobe_groups(regions)[order]
        starts = np.flatnonzero(np.r_[True, groups[1:] != groups[:-1]])
        sizes = np.diff(np.r_[starts, len(groups)])
        sectors = {f"{i} {groups[start]}": int(sizes[i]) for i, start in enumerate(starts)}
        sides = [str(groups[start])[:1] for start in starts]
        # A wide gap where hemispheres meet, a narrow one between lobes.
        gaps = [6.0 if sides[i] != sides[(i + 1) % len(sides)] else 1.5 for i in range(len(sides))]
        if len(sectors) == 1:
            gaps = [0.0]
        self.circos = Circos(
            sectors, start=gaps[-1] / 2, end=360 - gaps[-1] / 2, space=gaps[:-1], endspace=False
        )
        self.place: dict[int, tuple[str, float]] = {}
        colours = lobe_colours(regions)
        line = min(0.6, 40 / len(regions))
        for sector, start, size in zip(self.circos.sectors, starts, sizes, strict=True):
            track = sector.add_track(_RING)
            for cell, region in enumerate(order[start : start + size]):
                lobe = str(regions["lobe"].iloc[region]) if "lobe" in regions else ""
                track.rect(cell, cell + 1, fc=colours.get(lobe, GREY), ec="white", lw=line)
                self.place[int(region)] = (sector.name, cell + 0.5)

    def join(self, a: int, b: int, look: dict[str, Any]) -> None:
        """Draw a chord between two regions."""
        names = self.regions["name"]
        self.circos.link_line(
            self.place[a],
            self.place[b],
            r1=_RING[0] - 1,
            r2=_RING[0] - 1,
            height_ratio=_height(self._degree(a) - self._degree(b)),
            zorder=2,
            gid=f"{names.iloc[a]}–{names.iloc[b]}",
            **look,
        )

    def write_names(self, axes: Axes, chosen: set[int]) -> None:
        """Name regions along their radius, one line of text apart on each side."""
        named = set(self.place) if len(self.place) <= _ALL_NAMES else chosen
        for start in (0.0, 180.0):
            side = [region for region in named if start <= self._degree(region) < start + 180]
            side.sort(key=self._degree)
            degrees = [self._degree(region) for region in side]
            places = spread(degrees, _GAP_DEGREES, start, start + 180)
            for region, degree, place in zip(side, degrees, places, strict=True):
                self._write(axes, region, degree, float(place), strong=region in chosen)

    def _write(self, axes: Axes, region: int, degree: float, place: float, *, strong: bool) -> None:
        colour = INK if strong else _QUIET
        angles = np.radians([degree, place])
        radii = [_RING[1] + 1, _LABEL_RADIUS - 1]
        axes.plot(angles, radii, color=colour, linewidth=0.5, clip_on=False)
        right = place < 180
        axes.text(
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

    def _degree(self, region: int) -> float:
        name, position = self.place[region]
        return float(np.degrees(self.circos.get_sector(name).x_to_rad(position)))


def _around(regions: pd.DataFrame) -> NDArray[np.intp]:
    """Return the regions clockwise from the top: right from front to back, left back to front."""
    order = region_order(regions)
    if "hemisphere" not in regions:
        return order
    left = regions["hemisphere"].astype(str).str.upper().str.startswith("L").to_numpy()[order]
    return np.r_[order[~left], order[left][::-1]]


def _height(degrees: float) -> float:
    """Return how deep a chord dips in pycirclize's measure: near regions are joined near the rim.

    The control point lies on the mean of both angles below 0.5 and opposite to it above.
    """
    apart = abs(degrees)
    depth = 0.75 * (1 - np.sin(np.radians(apart / 2)))
    return float(0.5 - depth if apart <= 180 else 0.5 + depth)


def _look(value: float, shown: NDArray[np.float64]) -> dict[str, Any]:
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


def _add_legends(
    figure: Figure, values: NDArray[np.float64], regions: pd.DataFrame, label: str
) -> None:
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
