"""Training history, and information in the latent: a collapsed latent looks invariant."""

from typing import NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator
from numpy.typing import ArrayLike, NDArray

from stillome.arrays import Floats
from stillome.cohort.validation import as_floats, check_count
from stillome.exceptions import InputError
from stillome.methods.diagnostics import COLLAPSE_NATS, LatentDiagnostics
from stillome.plot.drawn_tables import check_columns
from stillome.plot.style import GREY, INK, LARGE_MOTION, MAIN, house_style

_NEEDED = ("epoch", "training_loss", "training_kl", "training_active_units")
_COLLAPSED = "#f3d3bd"
# Beyond this ratio of values the axis is logarithmic.
_LOG_RATIO = 50.0


class _Panel(NamedTuple):
    """One part of the loss, without ``training_`` or ``validation_``."""

    term: str
    title: str
    unit: str


_PANELS = (
    _Panel("loss", "Loss", "nats per subject"),
    _Panel("nll", "Misfit (negative log-likelihood)", "nats per subject"),
    _Panel("kl", "Information in z (KL)", "nats per subject"),
    _Panel("marginal_kl", "KL to the marginal of z", "nats per subject"),
    _Panel("trait_nll", "Misfit of traits", "nats per subject"),
    _Panel("active_units", "Active units", "latent units in use"),
)


def plot_training(history: pd.DataFrame) -> Figure:
    """Draw every part of the loss by epoch, and where the latent had collapsed.

    Parameters
    ----------
    history : pandas.DataFrame
        `history_` of a trained model: ``epoch`` and, each as ``training_`` and where subjects
        were set aside as ``validation_``: ``loss``, ``nll``, ``kl``, ``marginal_kl``,
        ``trait_nll``, ``active_units``. Parts that are missing or always zero are left out.

    Returns
    -------
    matplotlib.figure.Figure
        Up to six panels. A dotted line marks the epoch whose weights were kept; epochs in which
        KL was below one nat, or no unit was active, are shaded (posterior collapse).

    Examples
    --------
    >>> table = pd.DataFrame(
    ...     {
    ...         "epoch": [1, 2],
    ...         "training_loss": [90.0, 70.0],
    ...         "training_kl": [2.0, 0.4],
    ...         "training_active_units": [3, 0],
    ...     }
    ... )
    >>> plot_training(table).get_suptitle()
    'The latent has collapsed: in epoch 2, which was kept, z holds no information'
    """
    check_columns(history, "history", _NEEDED, "the history_ of a trained model")
    collapsed = _collapsed(history)
    best = _best(history)
    panels = [panel for panel in _PANELS if _drawn(history, panel.term)]
    n_columns = min(3, len(panels))
    n_rows = -(-len(panels) // n_columns)
    with house_style():
        figure = Figure(figsize=(3.3 * n_columns, 2.5 * n_rows + 0.6))
        figure.suptitle(_verdict(history, collapsed, best), x=0.01, ha="left", fontsize=10)
        grid = figure.subplots(n_rows, n_columns, squeeze=False, sharex=True)
        for letter, axes, panel in zip("ABCDEF", grid.flat, panels, strict=False):
            _shade(axes, history, collapsed)
            _draw(axes, history, panel, best)
            axes.set_title(f"{letter}  {panel.title}")
            axes.tick_params(labelbottom=True)
            axes.set_xlabel("epoch")
        for axes in grid.flat[len(panels) :]:
            axes.set_visible(False)
        handles, labels = grid[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower left", ncols=4)
    return figure


def plot_latent_units(kl_per_unit: ArrayLike, active_units: int) -> Figure:
    """Draw the information of each latent unit on a subject (KL), largest first.

    Parameters
    ----------
    kl_per_unit : array-like of shape (K,)
        Mean KL to the prior of each unit, in nats: `LatentDiagnostics.kl_per_dimension`.
    active_units : int
        Number of units that differ between subjects.

    Returns
    -------
    matplotlib.figure.Figure
        6 × 2.8 inches; the title begins with "Collapsed" where the latent has.

    Examples
    --------
    >>> plot_latent_units([0.9, 2.1, 0.0], 2).axes[0].get_title(loc="left")
    '2 of 3 units active, 3.0 nats in all'
    """
    kl = as_floats(kl_per_unit, "kl_per_unit")
    if kl.ndim != 1 or not len(kl) or not np.isfinite(kl).all():
        raise InputError(
            f"kl_per_unit: shape {kl.shape}; expected one finite number per latent unit."
        )
    diagnostics = LatentDiagnostics(kl, check_count(active_units, "active_units"))
    verdict = (
        f"{diagnostics.active_units} of {len(kl)} units active, {diagnostics.kl:.1f} nats in all"
    )
    with house_style():
        figure = Figure(figsize=(6, 2.8))
        axes = figure.subplots()
        bars = np.arange(1, len(kl) + 1)
        colour = LARGE_MOTION if diagnostics.collapsed else MAIN
        axes.bar(bars, np.sort(kl)[::-1], width=0.8, color=colour)
        axes.set_title(f"Collapsed: {verdict}" if diagnostics.collapsed else verdict)
        axes.set(xlabel="latent unit, most informative first", ylabel="KL (nats)")
        axes.set_xlim(0.4, len(kl) + 0.6)
        axes.set_ylim(bottom=0, top=max(float(kl.max()) * 1.05, 0.1))
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=10))
    return figure


def _drawn(history: pd.DataFrame, term: str) -> bool:
    column = f"training_{term}"
    if column not in history:
        return False
    values = history[column].to_numpy(dtype=float)
    return term == "active_units" or bool((np.nan_to_num(values) != 0).any())


def _collapsed(history: pd.DataFrame) -> NDArray[np.bool_]:
    kl = history["training_kl"].to_numpy(dtype=float)
    return (history["training_active_units"].to_numpy() == 0) | (kl < COLLAPSE_NATS)


def _best(history: pd.DataFrame) -> int:
    """Return the row whose weights were kept: the least validation loss, or training loss."""
    watched = "validation_loss" if "validation_loss" in history else "training_loss"
    values = history[watched].to_numpy(dtype=float)
    return int(np.nanargmin(values)) if np.isfinite(values).any() else len(values) - 1


def _verdict(history: pd.DataFrame, collapsed: NDArray[np.bool_], best: int) -> str:
    epoch = f"{history['epoch'].iloc[best]:g}"
    if collapsed[best]:
        return f"The latent has collapsed: in epoch {epoch}, which was kept, z holds no information"
    units = f"{history['training_active_units'].iloc[best]:g}"
    start = "" if history["epoch"].iloc[best] else " (the factors: no epoch was better)"
    return f"Kept: epoch {epoch}{start}, with {units} active units; the latent has not collapsed"


def _shade(axes: Axes, history: pd.DataFrame, collapsed: NDArray[np.bool_]) -> None:
    epochs = history["epoch"].to_numpy(dtype=float)
    label = "latent collapsed"
    for start, end in _runs(collapsed):
        axes.axvspan(
            epochs[start] - 0.5, epochs[end] + 0.5, color=_COLLAPSED, linewidth=0, label=label
        )
        label = ""  # one entry in the legend


def _runs(flags: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return the first and last position of every run of true values."""
    steps = np.diff(np.r_[False, flags, False].astype(int))
    starts, ends = np.flatnonzero(steps == 1), np.flatnonzero(steps == -1) - 1
    return list(zip(starts.tolist(), ends.tolist(), strict=True))


def _draw(axes: Axes, history: pd.DataFrame, panel: _Panel, best: int) -> None:
    epochs = history["epoch"].to_numpy(dtype=float)
    drawn: list[Floats] = []
    for part, colour, line in (("training", MAIN, "-"), ("validation", LARGE_MOTION, "--")):
        column = f"{part}_{panel.term}"
        if column in history:
            drawn.append(history[column].to_numpy(dtype=float))
            axes.plot(
                epochs,
                drawn[-1],
                color=colour,
                linestyle=line,
                linewidth=1.4,
                marker="o" if len(epochs) < 3 else None,
                markersize=4,
                label=part,
            )
    axes.axvline(epochs[best], color=INK, linestyle=":", linewidth=1.2, label="weights kept")
    axes.set_xlim(epochs.min() - 0.5, epochs.max() + 0.5)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=6, min_n_ticks=1))
    axes.set_ylabel(panel.unit)
    _set_scale(axes, np.concatenate(drawn), panel.term)
    if panel.term == "kl":
        axes.axhline(COLLAPSE_NATS, color=GREY, linewidth=0.8)


def _set_scale(axes: Axes, values: Floats, term: str) -> None:
    known = values[np.isfinite(values)]
    if term == "active_units":
        axes.set_ylim(-0.2, max(known.max(initial=1.0), 1) * 1.08)
        axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    elif len(known) and known.min() > 0 and known.max() > _LOG_RATIO * known.min():
        axes.set_yscale("log")
    else:
        axes.yaxis.set_major_formatter(FuncFormatter(_plain))


def _plain(value: float, _: int | None = None) -> str:
    return f"{value:,.10g}".replace("-", "−")
