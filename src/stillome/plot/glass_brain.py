"""The edges that changed most, drawn through a glass brain."""

from importlib import resources
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LinearSegmentedColormap, Normalize
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch
from matplotlib.path import Path
from matplotlib.ticker import FuncFormatter, MaxNLocator
from numpy.typing import ArrayLike

from stillome.arrays import Floats
from stillome.cohort.edges import edge_indices
from stillome.cohort.validation import as_floats, check_count
from stillome.exceptions import InputError
from stillome.persistence import read_json
from stillome.plot.labels import signed
from stillome.plot.region_order import check_matrix, check_regions
from stillome.plot.style import DIFFERENCE, INK, house_style

# Name of the outline, columns of x, y, z across and up, and what lies at the left and the right.
_VIEWS = (
    ("sagittal", 1, 2, ("P", "A")),
    ("coronal", 0, 2, ("L", "R")),
    ("axial", 0, 1, ("L", "R")),
)
_BRAIN = (0.01, 0.21, 0.98, 0.68)  # left, bottom, width and height of the views in the figure
_HALF_BRAIN_MM = 120  # no centre of a region in MNI space lies further from the origin
_THINNEST, _THICKEST = 0.8, 3.2
_OUTLINE, _INSIDE = "#6e6e6e", "#f4f4f4"
# The pale middle of the differences would be lost on white.
_EDGES = LinearSegmentedColormap.from_list(
    "stillome_edges",
    [
        (place, DIFFERENCE(colour))
        for place, colour in ((0.0, 0.0), (0.5, 0.33), (0.5, 0.72), (1.0, 1.0))
    ],
)


def plot_glass_brain(
    change: ArrayLike,
    regions: pd.DataFrame,
    *,
    n_edges: int = 50,
    label: str = "change in fibres (adjusted − raw)",
) -> Figure:
    """Draw the edges that an adjustment changed most, from the side, the back and above.

    The outlines are those of the MNI brain. They are left out where the centres of the regions
    cannot be coordinates of that space.

    Parameters
    ----------
    change : array-like of shape (V, V)
        Symmetric; the upper triangle counts.
    regions : pandas.DataFrame
        One row per region with ``name`` and the centre ``x``, ``y``, ``z`` in mm (MNI). Edges of
        regions without a centre are left out, and the title says so.
    n_edges : int, default=50
        How many are drawn at most; edges that did not change never are.
    label : str
        What the colours mean.

    Returns
    -------
    matplotlib.figure.Figure
        8 × 3.6 inches.

    Raises
    ------
    InputError
        If no centres are known.

    Examples
    --------
    >>> places = pd.DataFrame({"name": ["a", "b"], "x": [-40, 40], "y": [0, 5], "z": [20, 25]})
    >>> plot_glass_brain([[0, 8], [8, 0]], places).get_suptitle()
    'The edge that changed most'
    """
    matrix = check_matrix(change, "change")
    n_edges = check_count(n_edges, "n_edges", minimum=1)
    places = _centres(check_regions(regions, len(matrix)))
    known = np.isfinite(places).all(axis=1)
    strongest = _strongest(matrix[np.ix_(known, known)], n_edges)
    largest = float(np.abs(strongest).max()) or 1.0
    with house_style():
        figure = Figure(figsize=(8, 3.6))
        figure.set_layout_engine("none")  # the views share one scale: 1 mm is equally long in all
        title = _title(int(np.count_nonzero(strongest)) // 2, int((~known).sum()))
        figure.suptitle(title, x=0.02, y=0.97, ha="left", fontsize=10, fontweight="bold")
        _draw_brain(figure, strongest, places[known], largest)
        _draw_bar(figure, largest, label)
    return figure


def _centres(regions: pd.DataFrame) -> Floats:
    missing = [axis for axis in "xyz" if axis not in regions]
    if missing:
        raise InputError(
            f"regions: no column {missing}; a glass brain needs the centre of each region in "
            "columns x, y and z (mm, MNI). Add them to the table of regions."
        )
    places = as_floats(regions[["x", "y", "z"]].to_numpy(), "regions")
    if np.isfinite(places).all(axis=1).sum() < 2:
        raise InputError(
            "regions: fewer than two have a centre; a glass brain needs columns x, y and z "
            "(mm, MNI) filled in."
        )
    return places


def _strongest(matrix: Floats, n_edges: int) -> Floats:
    """Keep the largest absolute values of the upper triangle, mirrored; the rest is zero."""
    rows, columns = edge_indices(len(matrix))
    top = np.argsort(-np.abs(matrix[rows, columns]), kind="stable")[:n_edges]
    kept = np.zeros_like(matrix)
    kept[rows[top], columns[top]] = kept[columns[top], rows[top]] = matrix[rows[top], columns[top]]
    return kept


def _title(n_drawn: int, n_left_out: int) -> str:
    title = {0: "No edge changed", 1: "The edge that changed most"}.get(
        n_drawn, f"The {n_drawn} edges that changed most"
    )
    if n_left_out:
        title += f" ({n_left_out} region{'s'[: n_left_out > 1]} without a place left out)"
    return title


def brain_outlines() -> dict[str, Any]:
    """Return the outlines of the MNI brain, in mm: view → silhouette and section → lines."""
    with resources.as_file(resources.files("stillome.plot") / "brain_outline.json") as path:
        return read_json(path)


def in_mni_space(places: ArrayLike) -> bool:
    """Whether centres of shape (V, 3) can be MNI coordinates in mm; voxel indices cannot.

    Examples
    --------
    >>> in_mni_space([[-40, 0, 20], [40, 5, 25]]), in_mni_space([[10, 128, 60], [80, 133, 65]])
    (True, False)
    """
    known = np.asarray(places, dtype=float)
    return bool((np.abs(known) <= _HALF_BRAIN_MM).all() and known.min() < 0)


def _draw_brain(figure: Figure, edges: Floats, places: Floats, largest: float) -> None:
    outlines = brain_outlines() if in_mni_space(places) else None
    frames = [_frame(places[:, [across, up]], outlines, name) for name, across, up, _ in _VIEWS]
    widths = np.array([right - left for left, right, _, _ in frames])
    left, bottom, width, height = _BRAIN
    # The tallest view fills the height unless the three together would be too wide.
    inches_per_mm = min(
        height * figure.get_figheight() / max(top - low for _, _, low, top in frames),
        width * figure.get_figwidth() / widths.sum(),
    )
    shares = widths * inches_per_mm / figure.get_figwidth()
    gap = (width - shares.sum()) / len(frames)
    starts = left + gap / 2 + np.r_[0.0, np.cumsum(shares + gap)[:-1]]
    for view, frame, start, share in zip(_VIEWS, frames, starts, shares, strict=True):
        name, across, up, ends = view
        axes = figure.add_axes((start, bottom, share, height))
        axes.set(xlim=frame[:2], ylim=frame[2:], aspect="equal", label=name)
        axes.set_axis_off()
        if outlines is not None:
            _draw_outline(axes, outlines[name], ends)
        _draw_edges(axes, edges, places[:, [across, up]], largest)


def _frame(
    places: Floats, outlines: dict[str, Any] | None, name: str
) -> tuple[float, float, float, float]:
    """Return left, right, low and high end of what a view shows, in mm."""
    seen = places
    if outlines is not None:
        seen = np.vstack([places, *(np.array(line) for line in outlines[name]["silhouette"])])
    low, high = seen.min(axis=0), seen.max(axis=0)
    margin = 0.03 * float((high - low).max() or 1.0)
    return (
        *(float(low[0] - margin), float(high[0] + margin)),
        *(float(low[1] - margin), float(high[1] + margin)),
    )


def _draw_outline(axes: Axes, lines: dict[str, Any], ends: tuple[str, str]) -> None:
    for line in lines["silhouette"]:
        look = {"facecolor": _INSIDE, "edgecolor": _OUTLINE, "linewidth": 1.4}
        axes.add_patch(PathPatch(_smooth(np.array(line, dtype=float)), **look, zorder=0))
    for line in lines["section"]:
        look = {"fill": False, "edgecolor": _OUTLINE, "linewidth": 0.8, "alpha": 0.45}
        axes.add_patch(PathPatch(_smooth(np.array(line, dtype=float)), **look, zorder=0.5))
    for place, end in zip((0.0, 1.0), ends, strict=True):
        side = "left" if place == 0 else "right"
        axes.text(place, 1.0, end, transform=axes.transAxes, ha=side, va="top", color=_OUTLINE)


def _smooth(points: Floats) -> Path:
    """Return a curve through the middles of a line's segments, with the corners as controls."""
    closed = len(points) > 2 and bool((points[0] == points[-1]).all())
    corners = points[:-1] if closed else points[1:-1]
    if len(corners) < 2:
        return Path(points)
    middles = (corners + np.roll(corners, -1, axis=0)) / 2
    first = middles[-1] if closed else points[0]
    last = middles if closed else np.vstack([middles[:-1], points[-1]])
    curves = np.stack([corners, last], axis=1).reshape(-1, 2)
    return Path(np.vstack([first, curves]), [Path.MOVETO] + [Path.CURVE3] * len(curves))


def _draw_edges(axes: Axes, edges: Floats, places: Floats, largest: float) -> None:
    rows, columns = edge_indices(len(edges))
    values = edges[rows, columns]
    order = np.argsort(np.abs(values), kind="stable")  # the largest on top
    colours = _EDGES(Normalize(-largest, largest)(values))
    for edge in order[values[order] != 0]:
        ends = places[[rows[edge], columns[edge]]]
        width = _THINNEST + (_THICKEST - _THINNEST) * abs(values[edge]) / largest
        axes.plot(*ends.T, color=colours[edge], linewidth=width, solid_capstyle="round", zorder=2)
    used = np.any(edges != 0, axis=1)
    for some, colour, size in ((~used, "#c4c4c4", 4), (used, INK, 10)):
        x, y = places[some].T
        axes.scatter(x, y, s=size, color=colour, linewidths=0, zorder=3)


def _draw_bar(figure: Figure, largest: float, label: str) -> None:
    bar = figure.colorbar(
        ScalarMappable(Normalize(-largest, largest), _EDGES),
        cax=figure.add_axes((0.25, 0.14, 0.5, 0.035)),
        orientation="horizontal",
    )
    bar.ax.xaxis.set_major_locator(MaxNLocator(6, symmetric=True))
    bar.ax.xaxis.set_major_formatter(FuncFormatter(signed))
    bar.set_label(label)
    bar.outline.set_visible(False)
