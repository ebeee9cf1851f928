"""Edges as matrices, ordered by hemisphere and lobe: means, and differences between groups."""

from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colorbar import Colorbar
from matplotlib.colors import LinearSegmentedColormap, Normalize, SymLogNorm
from matplotlib.figure import Figure, SubFigure
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator
from numpy.typing import ArrayLike

from stillome.arrays import Floats
from stillome.exceptions import InputError
from stillome.plot.labels import round_down, signed
from stillome.plot.region_order import (
    check_matrix,
    check_regions,
    lobe_groups,
    mark_lobes,
    region_order,
    short_names,
)
from stillome.plot.style import DIFFERENCE, house_style

Matrices = ArrayLike | Mapping[str, ArrayLike]

MEANS = LinearSegmentedColormap.from_list(
    "stillome_means", ["#ffffff", "#d3e4ef", "#86b6d4", "#3a7fb0", "#154a78", "#061c33"]
)
_SMALLEST_FONT, _LARGEST_FONT = 5.5, 8.0
_SINGLE_INCHES, _SEVERAL_INCHES = 7.6, 3.7
_MOST_COLUMNS = 4


def plot_edge_means(
    means: Matrices,
    regions: pd.DataFrame | None = None,
    *,
    panel_inches: float | None = None,
    label: str = "mean number of fibres",
    names: bool = True,
) -> Figure:
    """Draw the mean of every edge, for one or several sets of networks on one colour scale.

    Parameters
    ----------
    means : array-like of shape (V, V), or mapping of title to such matrices
        For example `Cohort.edge_means` of raw and of adjusted connectomes; not negative.
    regions : pandas.DataFrame, optional
        One row per region: ``name``; ``hemisphere`` and ``lobe`` where known.
    panel_inches : float, optional
        Side of each matrix: up to 7.6 for one, 3.7 for several if not given. Region names are
        written at the side where they can be read at that size (68 at 7.6 inches), else lobes.
    label : str, default="mean number of fibres"
        Label of the colour bar.
    names : bool, default=True
        Whether region names are written where there is room; else lobes only.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> figure = plot_edge_means([[0, 5, 2], [5, 0, 1], [2, 1, 0]])
    >>> [tick.get_text() for tick in figure.axes[0].get_yticklabels()]
    ['region-001', 'region-002', 'region-003']
    """
    panels = _check_panels(means, "means")
    if any((matrix < 0).any() for matrix in panels.values()):
        raise InputError("means: a negative value; draw differences with plot_edge_differences.")
    largest = max(_largest(matrix) for matrix in panels.values()) or 1.0
    # Below one fibre (or about a thousandth of the largest value, where that is less) the scale
    # is linear.
    threshold = min(1.0, 10.0 ** (np.floor(np.log10(largest)) - 3))
    norm = SymLogNorm(linthresh=threshold, vmin=0, vmax=largest, base=10)
    powers = np.arange(round(np.log10(threshold)), np.floor(np.log10(largest)) + 1)
    scale = _Scale(MEANS, norm, [0.0, *(10.0**powers)], "{:,.10g}".format, label)
    return _draw_panels(panels, regions, scale, panel_inches, names=names)


def plot_edge_differences(
    differences: Matrices,
    regions: pd.DataFrame | None = None,
    *,
    panel_inches: float | None = None,
    label: str = "fibres: mean of large-motion group − mean of small-motion group",
) -> Figure:
    """Draw the difference of every edge between two groups, before and after an adjustment.

    All panels have one colour scale, so that they can be compared.

    Parameters
    ----------
    differences : array-like of shape (V, V), or mapping of title to such matrices
        For example `Cohort.group_difference` of raw and of adjusted connectomes.
    regions, panel_inches
        As in `plot_edge_means`.
    label : str
        Label of the colour bar.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> raw = np.array([[0, -9], [-9, 0]])
    >>> figure = plot_edge_differences({"raw": raw, "adjusted": raw / 10})
    >>> [axes.get_title(loc="left") for axes in figure.axes[:2]]
    ['raw', 'adjusted']
    """
    panels = _check_panels(differences, "differences")
    largest = max(_largest(matrix) for matrix in panels.values())
    return _draw_panels(panels, regions, _difference_scale(largest, label), panel_inches)


def draw_difference(axes: Axes, difference: Floats, regions: pd.DataFrame, label: str) -> None:
    """Draw one difference matrix with its lobes and colour bar into axes of 4 inches or more."""
    scale = _difference_scale(_largest(difference), label)
    _draw_matrix(axes, difference, regions, scale, side=4.0, font=0.0)
    scale.add_bar(axes.figure, axes, shrink=0.7, pad=0.01)


class _Scale:
    """A colour scale: map, norm, ticks and their format."""

    def __init__(
        self,
        colours: LinearSegmentedColormap,
        norm: Normalize,
        ticks: list[float],
        write: Callable[[float], str],
        label: str,
    ) -> None:
        self.colours, self.norm, self.ticks = colours, norm, ticks
        self.write, self.label = write, label

    def add_bar(
        self, figure: Figure | SubFigure, axes: Axes | list[Axes], *, shrink: float, pad: float
    ) -> Colorbar:
        """Put the colour bar under the axes."""
        source = ScalarMappable(self.norm, self.colours)
        bar = figure.colorbar(source, ax=axes, location="bottom", shrink=shrink, pad=pad, aspect=35)
        bar.ax.xaxis.set_major_locator(FixedLocator(self.ticks))
        bar.ax.xaxis.set_minor_locator(NullLocator())
        bar.ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: self.write(value)))
        bar.set_label(self.label)
        bar.outline.set_visible(False)
        return bar


def _difference_scale(largest: float, label: str) -> _Scale:
    largest = largest or 1.0
    # Counts span orders of magnitude: linear below a hundredth of the largest change.
    norm = SymLogNorm(linthresh=largest / 100, vmin=-largest, vmax=largest, base=10)
    ticks = [sign * round_down(largest * part) for part in (1, 0.1, 0.01) for sign in (-1, 1)]
    return _Scale(DIFFERENCE, norm, sorted([*ticks, 0.0]), signed, label)


def _check_panels(matrices: Matrices, name: str) -> dict[str, Floats]:
    given = matrices if isinstance(matrices, Mapping) else {"": matrices}
    if not given:
        raise InputError(f"{name}: no matrix at all; give at least one.")
    panels = {
        str(title): check_matrix(matrix, f"{name} {title!r}" if title else name)
        for title, matrix in given.items()
    }
    sizes = {len(matrix) for matrix in panels.values()}
    if len(sizes) > 1:
        raise InputError(f"{name}: matrices of {sorted(sizes)} regions; give one atlas.")
    return panels


def _largest(matrix: Floats) -> float:
    return float(np.abs(matrix[~np.eye(len(matrix), dtype=bool)]).max())


def _draw_panels(
    panels: dict[str, Floats],
    regions: pd.DataFrame | None,
    scale: _Scale,
    panel_inches: float | None,
    *,
    names: bool = True,
) -> Figure:
    table = check_regions(regions, len(next(iter(panels.values()))))
    # Few regions need no large cells.
    widest = _SINGLE_INCHES if len(panels) == 1 else _SEVERAL_INCHES
    side = panel_inches or min(widest, max(3.0, 0.4 * len(table)))
    if not side > 0:
        raise InputError(f"panel_inches={panel_inches!r}; expected a length above 0.")
    n_rows = -(-len(panels) // _MOST_COLUMNS)
    n_columns = -(-len(panels) // n_rows)  # rows of about equal length: 3 + 2, not 4 + 1
    font = _name_font(len(table), side) if names else 0.0
    margin = 2.0 if font else 1.0
    with house_style():
        figure = Figure(
            figsize=(n_columns * (side + margin), n_rows * (side + (1.1 if font else 0.4)) + 0.9)
        )
        grid = figure.subplots(n_rows, n_columns, squeeze=False)
        for axes, (title, matrix) in zip(grid.flat, panels.items(), strict=False):
            _draw_matrix(axes, matrix, table, scale, side, font)
            axes.set_title(title)
        for axes in grid.flat[len(panels) :]:
            axes.set_visible(False)
        scale.add_bar(figure, list(grid.flat), shrink=min(1.0, 6 / (side * n_columns)), pad=0.02)
    return figure


def _draw_matrix(
    axes: Axes,
    matrix: Floats,
    regions: pd.DataFrame,
    scale: _Scale,
    side: float,
    font: float,
) -> None:
    order = region_order(regions)
    shown = matrix[np.ix_(order, order)].copy()
    np.fill_diagonal(shown, np.nan)
    axes.imshow(shown, cmap=scale.colours, norm=scale.norm, interpolation="nearest")
    axes.spines[:].set_visible(False)
    ordered = regions.iloc[order]
    if not font and not lobe_groups(ordered)[0]:
        axes.set(ylabel="region, as in the data", xticks=[])
        axes.yaxis.set_major_locator(MaxNLocator(5, integer=True))
        return
    axes.set(xticks=[], yticks=[])
    if font:
        names = short_names(ordered)
        places = np.arange(len(names))
        axes.set_yticks(places, names, fontsize=font)
        axes.set_xticks(places, names, fontsize=font, rotation=90)
        axes.tick_params(length=0, pad=2)
    mark_lobes(axes, ordered, side_inches=side, right=bool(font))


def _name_font(n_regions: int, side: float) -> float:
    """Return the size at which region names fit beside a matrix; 0 where they cannot be read."""
    font = min(_LARGEST_FONT, 72 * side / n_regions / 1.15)
    return font if font >= _SMALLEST_FONT else 0.0
