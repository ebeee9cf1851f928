"""Subjects in the plane of two principal components, coloured by how much they moved."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LinearSegmentedColormap, Normalize
from matplotlib.figure import Figure
from numpy.typing import ArrayLike
from sklearn.decomposition import PCA

from stillome.arrays import Floats
from stillome.cohort.validation import check_features
from stillome.exceptions import InputError
from stillome.plot.labels import motion_label
from stillome.plot.motion_histogram import check_motion
from stillome.plot.style import GREY, house_style

# Cividis without its palest end, small motion light: safe for colour-blind readers, monotone.
MOTION = LinearSegmentedColormap.from_list(
    "stillome_motion", ["#f2dc6d", "#b9a96f", "#7d7d78", "#46566f", "#00224e"]
)
_MOST_COLUMNS = 4
_HIGHEST_COLOUR = 98  # percentile of motion, so that outliers do not set the scale


class Projection(NamedTuple):
    """Principal axes of one set of features, on which other sets can be projected.

    Attributes
    ----------
    centre : array of shape (p,)
    axes : array of shape (k, p)
    shares : array of shape (k,)
        Of the variance of the set it was made from.
    """

    centre: Floats
    axes: Floats
    shares: Floats

    @classmethod
    def of(cls, features: Floats, n_components: int) -> "Projection":
        """Find the first principal axes; at most min(n, p)."""
        n_components = min(n_components, *features.shape)
        pca = PCA(n_components, random_state=0)
        if not np.ptp(features, axis=0).any():
            # Constant features, as after a collapse: any axis serves, and explains nothing.
            axes = np.eye(n_components, features.shape[1])
            return cls(features.mean(axis=0), axes, np.zeros(n_components))
        pca.fit(features)
        return cls(pca.mean_, pca.components_, pca.explained_variance_ratio_)

    def scores(self, features: Floats) -> Floats:
        """Project (n, p) to (n, k)."""
        return np.asarray((features - self.centre) @ self.axes.T)


def plot_components(
    networks: Mapping[str, ArrayLike],
    motion: ArrayLike,
    *,
    latents: Mapping[str, ArrayLike] | None = None,
    measure: str = "rms_mm",
) -> Figure:
    """Draw the first two principal components of several representations, coloured by motion.

    Networks can be laid over each other, latents of different models cannot. So all `networks`
    are seen through one projection, that of the first of them, on the same axes; each of
    the `latents` has its own.

    Parameters
    ----------
    networks : mapping of title to array-like of shape (n, p)
        Raw edges first, adjusted ones after; log1p of counts, or a few edges decide everything.
        May be empty.
    motion : array-like of shape (n,)
        NaN is unknown; such subjects are drawn as grey rings.
    latents : mapping of title to array-like of shape (n, k), optional
        Representations with axes of their own.
    measure : str, default="rms_mm"
        The column name of motion, from which the unit is read.

    Returns
    -------
    matplotlib.figure.Figure
        Above each panel: the correlation of both components with motion.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> raw, moved = rng.normal(size=(30, 5)), rng.gamma(2, size=30)
    >>> figure = plot_components({"raw": raw, "half": raw / 2}, moved)
    >>> first, second = (axes.collections[0].get_offsets() for axes in figure.axes[:2])
    >>> bool(np.allclose(np.ptp(first, axis=0), 2 * np.ptp(second, axis=0)))
    True
    """
    shared = _check_sets(networks, "networks")
    own = _check_sets(latents or {}, "latents")
    _check_same_size(shared, own)
    n_subjects = len(next(iter((shared | own).values())))
    moved = check_motion(motion, n_subjects)
    high = float(np.nanpercentile(moved, _HIGHEST_COLOUR))
    norm = Normalize(float(np.nanmin(moved)), high)
    n_panels = len(shared) + len(own)
    n_rows = -(-n_panels // _MOST_COLUMNS)
    n_columns = -(-n_panels // n_rows)
    with house_style():
        figure = Figure(figsize=(max(3.6, 2.9 * n_columns) + 0.9, 3.1 * n_rows))
        panels = list(figure.subplots(n_rows, n_columns, squeeze=False).flat)
        _draw_shared(panels, shared, moved, norm)
        for axes, (title, features) in zip(panels[len(shared) :], own.items(), strict=False):
            _draw_panel(axes, title, features, Projection.of(features, 2), moved, norm, "")
        for axes in panels[n_panels:]:
            axes.set_visible(False)
        bar = figure.colorbar(
            ScalarMappable(norm, MOTION),
            ax=panels,
            extend="max" if high < np.nanmax(moved) else "neither",
            aspect=30,
            pad=0.02,
        )
        bar.set_label(motion_label(measure))
        bar.outline.set_visible(False)
    return figure


def _check_sets(sets: Mapping[str, ArrayLike], name: str) -> dict[str, Floats]:
    if not isinstance(sets, Mapping):
        raise InputError(f"{name}: a {type(sets).__name__}; expected a mapping of title to (n, p).")
    checked = {
        str(title): check_features(features, name=f"{name} {title!r}")
        for title, features in sets.items()
    }
    for title, features in checked.items():
        if len(features) < 2:
            raise InputError(f"{name} {title!r}: one subject; components need at least two.")
    return checked


def _check_same_size(shared: dict[str, Floats], own: dict[str, Floats]) -> None:
    if not shared and not own:
        raise InputError("networks: none, and no latents; give at least one set of features.")
    lengths = {title: len(features) for title, features in (shared | own).items()}
    if len(set(lengths.values())) > 1:
        raise InputError(f"networks and latents: {lengths} subjects; give the same in each.")
    widths = {title: features.shape[1] for title, features in shared.items()}
    if len(set(widths.values())) > 1:
        raise InputError(
            f"networks: {widths} features; one projection needs the same. Give sets with axes of "
            "their own as latents."
        )


def _draw_shared(
    panels: list[Axes], shared: dict[str, Floats], motion: Floats, norm: Normalize
) -> None:
    if not shared:
        return
    first = next(iter(shared))
    projection = Projection.of(shared[first], 2)
    of = f" of {first}" if len(shared) > 1 else ""
    for axes, (title, features) in zip(panels, shared.items(), strict=False):
        if axes is not panels[0]:
            axes.sharex(panels[0])
            axes.sharey(panels[0])
        _draw_panel(axes, title, features, projection, motion, norm, of)


def _draw_panel(
    axes: Axes,
    title: str,
    features: Floats,
    projection: Projection,
    motion: Floats,
    norm: Normalize,
    of: str,
) -> None:
    scores = projection.scores(features)
    if scores.shape[1] == 1:
        scores = np.column_stack([scores, np.zeros(len(scores))])
    known = ~np.isnan(motion)
    # Subjects with large motion are few, and drawn last so that they are visible.
    order = np.flatnonzero(known)[np.argsort(motion[known], kind="stable")]
    axes.scatter(
        scores[order, 0],
        scores[order, 1],
        c=motion[order],
        cmap=MOTION,
        norm=norm,
        s=12,
        linewidths=0,
        rasterized=True,
    )
    if not known.all():
        x, y = scores[~known].T
        axes.scatter(x, y, s=12, facecolors="none", edgecolors=GREY, linewidths=0.6)
    words = ", ".join(_correlation(column[known], motion[known]) for column in scores.T)
    axes.set_title(title, pad=18)
    axes.text(0, 1.03, f"r with motion: {words}", transform=axes.transAxes, fontsize=8)
    shares = [*projection.shares, 0.0][:2]
    axes.set_xlabel(f"PC 1{of} ({shares[0]:.0%})")
    axes.set_ylabel(f"PC 2{of} ({shares[1]:.0%})")
    axes.locator_params(nbins=4)


def _correlation(scores: Floats, motion: Floats) -> str:
    """Write Pearson's r; a dash where one of both does not vary."""
    if len(scores) < 2 or np.ptp(scores) < 1e-12 or np.ptp(motion) == 0:
        return "–"
    r = round(float(np.corrcoef(scores, motion)[0, 1]), 2)
    return f"{r:+.2f}".replace("-", "−") if r else "0.00"
