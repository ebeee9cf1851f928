"""QC–SC against fibre length, one panel per set of connectomes."""

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from stillome.arrays import Floats
from stillome.evaluate.motion_effects import QCSC
from stillome.exceptions import InputError
from stillome.plot.style import GREY, INK, MAIN, house_style

_MOST_COLUMNS = 3
_EDGES_PER_MEDIAN = 15
_MOST_MEDIANS = 12


def plot_qcsc(records: Mapping[str, QCSC]) -> Figure:
    """Draw the correlation of every edge with motion, one panel per set of connectomes.

    Parameters
    ----------
    records : mapping of str to QCSC
        By title ("raw", "inv-fa"), in the order of the panels; see `qcsc_correlations`. Where
        fibre lengths are unknown, a panel shows a histogram of the correlations instead. Edges
        that do not vary have no correlation and are left out.

    Returns
    -------
    matplotlib.figure.Figure
        All panels have the same axes; the line joins medians of edges of similar length.

    Examples
    --------
    >>> raw = QCSC(np.array([-0.5, -0.2]), np.array([0.001, 0.2]), np.array([90.0, 30.0]))
    >>> figure = plot_qcsc({"raw": raw})
    >>> figure.axes[0].get_title(loc="left")
    'A  raw: median |r| = 0.35'
    """
    if not records:
        raise InputError("records: none given; there is nothing to draw. Give at least one.")
    for title, record in records.items():
        if not isinstance(record, QCSC):
            raise InputError(
                f"records: {title!r} is a {type(record).__name__}; "
                "give what qcsc_correlations returns."
            )
    by_length = all(_pairs(record)[0].size for record in records.values())
    draw = _draw_by_length if by_length else _draw_spread
    n_columns = min(len(records), _MOST_COLUMNS)
    n_rows = -(-len(records) // n_columns)
    with house_style():
        figure = Figure(figsize=(3.7 * n_columns + 0.4, 3.3 * n_rows + 0.5))
        grid = figure.subplots(n_rows, n_columns, squeeze=False, sharex=True, sharey=True)
        for number, (axes, (title, record)) in enumerate(
            zip(grid.flat, records.items(), strict=False)
        ):
            draw(axes, record)
            axes.tick_params(labelbottom=True)
            axes.set_title(f"{chr(65 + number)}  {title}: median |r| = {_written(record)}")
        if by_length:
            grid[0, 0].set_xlim(
                0, 1.05 * max(_pairs(record)[0].max() for record in records.values())
            )
        for axes in grid.flat[len(records) :]:
            axes.set_visible(False)
        handles, labels = grid[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower left", ncols=2, markerscale=2)
    return figure


def running_median(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Return medians of x and of y over groups of points that are near in x.

    Groups have at least 15 points, and there are at most 12; with fewer points there is none.

    Examples
    --------
    >>> x = np.arange(30.0)
    >>> [middle.tolist() for middle in running_median(x, 2 * x)]
    [[7.0, 22.0], [14.0, 44.0]]
    """
    n_groups = min(_MOST_MEDIANS, len(x) // _EDGES_PER_MEDIAN)
    if not n_groups:
        return np.empty(0), np.empty(0)
    groups = np.array_split(np.argsort(x, kind="stable"), n_groups)
    return (
        np.array([np.median(x[group]) for group in groups]),
        np.array([np.median(y[group]) for group in groups]),
    )


def _pairs(record: QCSC) -> tuple[Floats, Floats]:
    """Return lengths and correlations of the edges that have both."""
    if record.lengths is None:
        return np.empty(0), np.empty(0)
    known = (record.lengths > 0) & ~np.isnan(record.correlations)
    return record.lengths[known], record.correlations[known]


def _written(record: QCSC) -> str:
    median = record.median_absolute
    return "unknown" if np.isnan(median) else f"{median:.2f}"


def _draw_by_length(axes: Axes, record: QCSC) -> None:
    lengths, correlations = _pairs(record)
    many = len(lengths) > 300
    axes.axhline(0, color=GREY, linewidth=0.8)
    axes.scatter(
        lengths,
        correlations,
        s=5 if many else 15,
        color=MAIN,
        alpha=0.3 if many else 0.8,
        linewidths=0,
        rasterized=True,
        label="one edge",
    )
    axes.plot(
        *running_median(lengths, correlations),
        color=INK,
        linewidth=1.8,
        marker="o",
        markersize=3,
        label="median of edges of similar length",
    )
    axes.margins(y=0.1)
    axes.set(xlabel="fibre length (mm)", ylabel="r of edge with motion")
    _write_figures(axes, record)


def _draw_spread(axes: Axes, record: QCSC) -> None:
    known = record.correlations[~np.isnan(record.correlations)]
    axes.hist(known, bins=np.linspace(-1, 1, 41).tolist(), color=MAIN, label="edges")
    axes.axvline(0, color=GREY, linewidth=0.8)
    if len(known):
        axes.axvline(float(np.median(known)), color=INK, linewidth=1.8, label="median")
    axes.set(xlabel="r of edge with motion", ylabel="edges", xlim=(-1, 1))
    _write_figures(axes, record)


def _write_figures(axes: Axes, record: QCSC) -> None:
    """Write under the panel the share of significant edges and the dependence on length."""
    texts = [axes.get_xlabel()]
    if not np.isnan(record.share_significant):
        texts.append(f"{100 * record.share_significant:.0f} % of edges significant (FDR 5 %)")
    if not np.isnan(record.length_dependence):
        texts.append(f"correlation of r with length: {record.length_dependence:.2f}")
    axes.set_xlabel("\n".join(texts).replace("-", "−"))
