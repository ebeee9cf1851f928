"""One look for every figure: safe for colour-blind readers, readable when printed in grey."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

# Okabe and Ito's palette, in an order in which neighbours also differ in lightness.
INK = "#222222"
GREY = "#8c8c8c"
SMALL_MOTION = "#56b4e9"
LARGE_MOTION = "#d55e00"
MAIN = "#0072b2"

# Losses are dark and gains are light, so that both ends differ in grey too.
DIFFERENCE = LinearSegmentedColormap.from_list(
    "stillome_difference",
    ["#08244a", "#1b5a9c", "#74afdb", "#ffffff", "#fdd49e", "#f7a54a", "#e67e14"],
)

_SETTINGS: Any = {
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.8,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.labelsize": 9,
    "figure.constrained_layout.h_pad": 0.08,
    "figure.constrained_layout.use": True,
    "figure.constrained_layout.w_pad": 0.08,
    "figure.facecolor": "white",
    "font.family": "DejaVu Sans",  # comes with matplotlib, so that every machine draws the same
    "font.size": 9,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "pdf.fonttype": 42,
    "svg.hashsalt": "stillome",
    "text.parse_math": False,  # names of regions and traits may hold dollars
    "xtick.color": INK,
    "xtick.labelsize": 8,
    "ytick.color": INK,
    "ytick.labelsize": 8,
}


@contextmanager
def house_style() -> Iterator[None]:
    """Draw in the house style inside the block; the user's own settings come back after it.

    Examples
    --------
    >>> with house_style():
    ...     figure = Figure(figsize=(3, 2))
    ...     axes = figure.add_subplot()
    >>> axes.spines["top"].get_visible()
    False
    """
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(_SETTINGS)
        yield


def save_figure(figure: Figure, path: str | os.PathLike[str], *, dpi: int = 200) -> list[Path]:
    """Write a figure as PNG and PDF; the same figure gives the same bytes.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
    path : path-like
        Without a suffix.
    dpi : int, default=200
        Dots per inch of the PNG.

    Returns
    -------
    list of pathlib.Path
        The two files.

    Examples
    --------
    >>> import tempfile
    >>> files = save_figure(Figure(figsize=(1, 1)), Path(tempfile.mkdtemp(), "empty"))
    >>> [file.name for file in files]
    ['empty.png', 'empty.pdf']
    """
    files = [Path(f"{os.fspath(path)}{suffix}") for suffix in (".png", ".pdf")]
    with house_style():
        figure.savefig(files[0], dpi=dpi)
        figure.savefig(files[1], metadata={"CreationDate": None})
    return files
