"""The edges that changed most, drawn through a glass brain."""

import numpy as np
import pandas as pd
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LinearSegmentedColormap, Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator
from numpy.typing import ArrayLike

from stillome.arrays import Floats
from stillome.cohort.edges import edge_indices
from stillome.cohort.validation import as_floats, check_count
from stillome.exceptions import InputError
from stillome.plot.labels import signed
from stillome.plot.region_order import check_matrix, check_regions
from stillome.plot.style import DIFFERENCE, INK, house_style

_BRAIN_SHARE = 0.74  # of the figure's height; title and colour bar have the rest
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
        figure.set_layout_engine("none")  # nilearn places its axes itself
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


def _draw_brain(figure: Figure, edges: Floats, places: Floats, largest: float) -> None:
    from nilearn.plotting import plot_connectome  # takes seconds to import

    used = np.any(edges != 0, axis=1)
    plot_connectome(
        edges,
        places,
        node_color=np.where(used, INK, "#c4c4c4").tolist(),
        node_size=np.where(used, 10, 4),
        edge_cmap=_EDGES,
        edge_vmin=-largest,
        edge_vmax=largest,
        figure=figure,
        axes=(0.0, 0.18, 1.0, _BRAIN_SHARE),
        colorbar=False,
        node_kwargs={"linewidths": 0},
    )


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
