"""How sphinx-gallery takes the pictures of a tutorial, and what it does between two of them."""

import gc
import warnings
from typing import Any

from matplotlib.figure import Figure
from sphinx_gallery.scrapers import figure_rst

_taken: list[Figure] = []


def save_returned_figures(block: Any, variables: dict[str, Any], settings: dict[str, Any]) -> str:
    """Save the figures that a block has made: those with a name, and the value of its last line.

    Functions of `stillome.plot` return figures that pyplot does not know, so that sphinx-gallery's
    own way does not see them.
    """
    values = variables["example_globals"].values()
    new = [one for one in values if isinstance(one, Figure) and not any(one is t for t in _taken)]
    paths = []
    for figure in new:
        if any(figure is one for one in _taken):
            continue  # the last line may be a name
        _taken.append(figure)
        path = next(variables["image_path_iterator"])
        figure.savefig(path, dpi=110, facecolor="white")
        paths.append(path)
    return figure_rst(paths, settings["src_dir"])


def tidy(settings: dict[str, Any], name: str) -> None:
    """Forget the figures of the tutorial before, and let warnings be errors of the build."""
    _taken.clear()
    gc.collect()
    warnings.simplefilter("default")
