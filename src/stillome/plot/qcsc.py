"""QC–SC against fibre length and consistency, one column per set of connectomes."""

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator
from numpy.typing import ArrayLike
from scipy import stats

from stillome.arrays import Floats
from stillome.cohort.validation import as_floats
from stillome.evaluate.motion_effects import QCSC
from stillome.exceptions import InputError
from stillome.plot.style import GREY, INK, MAIN, house_style

_MOST_COLUMNS = 3
_EDGES_PER_MEDIAN = 15
_MOST_MEDIANS = 12
_FEWEST_EDGES = 4

_Draw = Callable[[Axes, QCSC], None]


def plot_qcsc(records: Mapping[str, QCSC], *, consistency: ArrayLike | None = None) -> Figure:
    """Draw the correlation of every edge with motion, by fibre length and by consistency.

    Parameters
    ----------
    records : mapping of str to QCSC
        By title ("raw", "inv-fa"), in the order of the panels; see `qcsc_correlations`. Edges
        that do not vary have no correlation and are left out.
    consistency : array-like of shape (E,), optional
        Of every edge over subjects; see `edge_consistency`. It gives a row of panels.

    Returns
    -------
    matplotlib.figure.Figure
        A row of panels by length where lengths are known, and a row by consistency where that is
        given; without both, histograms of the correlations. Panels of a row have the same axes;
        the line joins medians of similar edges.

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
    kinds = _kinds(records, consistency)
    n_columns = min(len(records), _MOST_COLUMNS)
    n_rows = -(-len(records) // n_columns)
    with house_style():
        figure = Figure(figsize=(3.7 * n_columns + 0.4, 3.3 * n_rows * len(kinds) + 0.5))
        grid = figure.subplots(n_rows * len(kinds), n_columns, squeeze=False)
        for number, draw in enumerate(kinds):
            panels = grid[number * n_rows : (number + 1) * n_rows].ravel()
            for place, (axes, (title, record)) in enumerate(
                zip(panels, records.items(), strict=False)
            ):
                if place:
                    axes.sharex(panels[0])
                    axes.sharey(panels[0])
                draw(axes, record)
                letter = chr(65 + number * len(records) + place)
                axes.set_title(f"{letter}  {title}: median |r| = {_written(record)}")
            for axes in panels[len(records) :]:
                axes.set_visible(False)
        handles, labels = grid[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower left", ncols=2, markerscale=2)
    return figure


def edge_consistency(edges: ArrayLike) -> Floats:
    """Return mean / standard deviation of every edge over subjects.

    That is the inverse of the coefficient of variation, by which Baum et al. (2018,
    doi:10.1016/j.neuroimage.2018.02.041) order edges.

    Parameters
    ----------
    edges : array-like of shape (n, E)

    Returns
    -------
    array of shape (E,)
        NaN where an edge does not vary.

    Examples
    --------
    >>> edge_consistency([[9, 0, 4], [11, 2, 4]]).tolist()
    [10.0, 1.0, nan]
    """
    values = np.asarray(edges)
    mean, deviation = values.mean(axis=0, dtype=np.float64), values.std(axis=0, dtype=np.float64)
    return np.asarray(mean / np.where(deviation > 0, deviation, np.nan))


def _kinds(records: Mapping[str, QCSC], consistency: ArrayLike | None) -> list[_Draw]:
    """Return how each row of panels is drawn."""
    kinds: list[_Draw] = []
    if all(_pairs(record, record.lengths)[0].size for record in records.values()):
        kinds.append(_draw_by_length)
    if consistency is not None:
        values = as_floats(consistency, "consistency")
        sizes = {record.correlations.shape for record in records.values()}
        if sizes != {values.shape}:
            raise InputError(
                f"consistency: shape {values.shape}, but records have {sorted(sizes)}; give one "
                "value for each edge."
            )
        kinds.append(partial(_draw_by_consistency, consistency=values))
    return kinds or [_draw_spread]


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


def _pairs(record: QCSC, values: Floats | None) -> tuple[Floats, Floats]:
    """Return lengths (or consistencies) and correlations of the edges that have both."""
    if values is None:
        return np.empty(0), np.empty(0)
    known = (values > 0) & ~np.isnan(record.correlations)
    return values[known], record.correlations[known]


def _written(record: QCSC) -> str:
    median = record.median_absolute
    return "unknown" if np.isnan(median) else f"{median:.2f}"


def _draw_by_length(axes: Axes, record: QCSC) -> None:
    lengths, correlations = _pairs(record, record.lengths)
    _draw_edges(axes, lengths, correlations)
    # Panels share the axis: the longest edge of all decides.
    axes.set_xlim(0, max(1.05 * float(lengths.max()), axes.get_xlim()[1]))
    texts = ["fibre length (mm)", *_figures(record)]
    if not np.isnan(record.length_dependence):
        texts.append(f"correlation of r with length: {record.length_dependence:.2f}")
    axes.set_xlabel("\n".join(texts).replace("-", "−"))


def _draw_by_consistency(axes: Axes, record: QCSC, consistency: Floats) -> None:
    values, correlations = _pairs(record, consistency)
    _draw_edges(axes, values, correlations)
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.10g}"))
    axes.xaxis.set_minor_locator(NullLocator())
    texts = ["consistency of the edge (mean / SD over subjects)", *_figures(record)]
    dependence = consistency_dependence(record, consistency)
    if not np.isnan(dependence):
        texts.append(f"correlation of r with consistency: {dependence:.2f}")
    axes.set_xlabel("\n".join(texts).replace("-", "−"))


def consistency_dependence(record: QCSC, consistency: Floats) -> float:
    """Return the Spearman correlation of QC–SC with consistency; NaN for too few edges.

    Examples
    --------
    >>> record = QCSC(np.array([-0.4, -0.2, 0.0, 0.1]), np.full(4, 0.5), None)
    >>> round(consistency_dependence(record, np.array([9.0, 5.0, 2.0, 1.0])), 6)
    -1.0
    """
    values, correlations = _pairs(record, consistency)
    if len(values) < _FEWEST_EDGES or np.ptp(values) == 0 or np.ptp(correlations) == 0:
        return float("nan")
    return float(stats.spearmanr(values, correlations).statistic)


def _draw_edges(axes: Axes, lengths: Floats, correlations: Floats) -> None:
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
        label="median of similar edges",
    )
    axes.margins(y=0.1)
    axes.set_ylabel("r of edge with motion")


def _draw_spread(axes: Axes, record: QCSC) -> None:
    known = record.correlations[~np.isnan(record.correlations)]
    axes.hist(known, bins=np.linspace(-1, 1, 41).tolist(), color=MAIN, label="edges")
    axes.axvline(0, color=GREY, linewidth=0.8)
    if len(known):
        axes.axvline(float(np.median(known)), color=INK, linewidth=1.8, label="median")
    axes.set(ylabel="edges", xlim=(-1, 1))
    axes.set_xlabel("\n".join(["r of edge with motion", *_figures(record)]))


def _figures(record: QCSC) -> list[str]:
    """Return what is written under every panel: the share of significant edges."""
    if np.isnan(record.share_significant):
        return []
    return [f"{100 * record.share_significant:.0f} % of edges significant (FDR 5 %)"]
