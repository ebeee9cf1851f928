"""Correlations of motion measures and of slices lost to motion."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import Normalize, to_hex
from matplotlib.figure import Figure

from stillome.arrays import Floats
from stillome.exceptions import InputError
from stillome.plot.labels import measure_label
from stillome.plot.style import DIFFERENCE, INK, MAIN, house_style

_MOST_SCATTERED = 7  # more measures, and only the numbers are shown


def plot_motion_measures(motion: pd.DataFrame) -> Figure:
    """Draw every pair of motion measures: dots below the diagonal, Pearson's r above.

    Parameters
    ----------
    motion : pandas.DataFrame
        One row per subject, units in the column names (``rms_mm``, ``n_outlier_slices``);
        columns of text are left out, pairs with a missing value too. With more than seven
        measures only the correlations are drawn.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> table = pd.DataFrame({"rms_mm": [0.1, 0.2, 0.4], "rotation_rad": [0.01, 0.02, 0.04]})
    >>> [text.get_text() for text in plot_motion_measures(table).axes[1].texts]
    ['+1.00']
    """
    table = _check_measures(motion)
    correlations = table.corr(min_periods=3).to_numpy()
    n_measures = table.shape[1]
    scattered = n_measures <= _MOST_SCATTERED
    side = 1.75 if scattered else 0.62
    with house_style():
        figure = Figure(figsize=(side * n_measures + 0.9, side * n_measures + 0.7))
        if scattered:
            _draw_pairs(figure, table, correlations)
        else:
            _draw_numbers(figure.subplots(), table, correlations)
    return figure


def _check_measures(motion: pd.DataFrame) -> pd.DataFrame:
    if not isinstance(motion, pd.DataFrame):
        raise InputError(f"motion: a {type(motion).__name__}; expected a pandas DataFrame.")
    table = motion.select_dtypes("number").astype(float)
    table = table.where(np.isfinite(table)).dropna(axis=1, how="all")
    if table.shape[1] < 2:
        raise InputError(
            f"motion: {table.shape[1]} measures with numbers; a correlation needs two."
        )
    return table


def _draw_pairs(figure: Figure, table: pd.DataFrame, correlations: Floats) -> None:
    n_measures = table.shape[1]
    labels = [measure_label(column) for column in table.columns]
    grid = figure.subplots(n_measures, n_measures, squeeze=False)
    for axes, (i, j) in zip(grid.flat, np.ndindex(grid.shape), strict=True):
        if i < j:
            _draw_number(axes, float(correlations[i, j]))
            continue
        if i == j:
            axes.hist(table.iloc[:, i].dropna(), bins=25, color="#c4c4c4")
            axes.spines["left"].set_visible(False)
            axes.set_yticks([])
        else:
            x, y = table.iloc[:, j], table.iloc[:, i]
            axes.scatter(x, y, s=5, color=MAIN, alpha=0.4, linewidths=0, rasterized=True)
            axes.locator_params(axis="y", nbins=3)
        axes.locator_params(axis="x", nbins=3)
        axes.tick_params(labelbottom=i == n_measures - 1, labelleft=j == 0)
    for k, label in enumerate(labels):
        grid[-1, k].set_xlabel(label)
        grid[k, 0].set_ylabel(label)
    figure.align_labels()


def _draw_number(axes: Axes, correlation: float) -> None:
    """Fill a cell with the colour of a correlation, and write it."""
    axes.set(xticks=[], yticks=[])
    axes.spines[:].set_visible(False)
    axes.set_facecolor(_tint(correlation))
    axes.text(
        0.5,
        0.5,
        _written(correlation),
        transform=axes.transAxes,
        ha="center",
        va="center",
        fontsize=12,
        color=_readable(correlation),
    )


def _draw_numbers(axes: Axes, table: pd.DataFrame, correlations: Floats) -> None:
    labels = [measure_label(column) for column in table.columns]
    shown = np.where(np.isnan(correlations), 0.0, correlations)
    axes.imshow(0.8 * shown, cmap=DIFFERENCE, norm=Normalize(-1, 1))
    for (i, j), value in np.ndenumerate(correlations):
        axes.text(
            j, i, _written(value), ha="center", va="center", fontsize=8, color=_readable(value)
        )
    axes.set_xticks(range(len(labels)), labels, rotation=90)
    axes.set_yticks(range(len(labels)), labels)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)


def _tint(correlation: float) -> str:
    # Four fifths of the colour scale, so that the number stays legible.
    value = 0.0 if np.isnan(correlation) else correlation
    return to_hex(DIFFERENCE(0.5 + 0.4 * value))


def _readable(correlation: float) -> str:
    return "white" if correlation < -0.4 else INK


def _written(correlation: float) -> str:
    return "–" if np.isnan(correlation) else f"{correlation:+.2f}".replace("-", "−")
