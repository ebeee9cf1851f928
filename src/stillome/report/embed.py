"""A figure as part of the page: SVG that follows the page's colours, or PNG where that is less."""

import base64
import io
import re

from markupsafe import Markup
from matplotlib.figure import Figure

from stillome.plot.style import INK, house_style

_LARGEST_SVG = 450_000
_DPI = 150
_PIXELS_PER_INCH = 115
_ID = re.compile(r'\s\bid="([^"]*)"')
_USED = re.compile(r'(?:\bhref="#|url\(#)([^")]*)')


def embed(figure: Figure, name: str, alt: str) -> Markup:
    """Return the HTML of one figure.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
    name : str
        Makes the ids inside the SVG unlike those of other figures.
    alt : str
        What the figure shows, for those who do not see it.
    """
    drawn = io.StringIO()
    with house_style():
        figure.savefig(drawn, format="svg", metadata={"Date": None})
    svg = drawn.getvalue()
    if len(svg) > _LARGEST_SVG:
        return _as_png(figure, alt)
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.S)
    svg = _own_ids(svg, name)
    # Ink and paper are those of the page, so that a figure is dark where the page is.
    svg = re.sub(rf"{INK}\b", "currentColor", svg, flags=re.I)
    svg = re.sub(r"#ffffff\b", "var(--paper)", svg, flags=re.I)
    # A matrix stays on white paper, for its colours were chosen for that.
    look = "on-paper" if "<image" in svg else "on-page"
    label = Markup('<svg role="img" class="{}" style="max-width: {:.0f}px" aria-label="{}"').format(
        look, _width(figure), alt
    )
    return Markup(svg.replace("<svg", label, 1))  # noqa: S704 - matplotlib escapes texts


def _own_ids(svg: str, name: str) -> str:
    """Put the figure's name before ids that the drawing itself uses, and drop the others."""
    used = {match[1] for match in _USED.finditer(svg)}
    svg = _ID.sub(lambda match: f' id="{name}-{match[1]}"' if match[1] in used else "", svg)
    return _USED.sub(lambda match: match[0][: -len(match[1])] + f"{name}-{match[1]}", svg)


def _width(figure: Figure) -> float:
    """Return how wide a figure may become on the page, in CSS pixels."""
    return float(figure.get_size_inches()[0] * _PIXELS_PER_INCH)


def _as_png(figure: Figure, alt: str) -> Markup:
    drawn = io.BytesIO()
    with house_style():
        figure.savefig(drawn, format="png", dpi=_DPI)
    data = base64.b64encode(drawn.getvalue()).decode()
    return Markup(
        '<img class="on-paper" style="max-width: {:.0f}px" alt="{}" src="data:image/png;base64,{}">'
    ).format(_width(figure), alt, data)
