"""The house style draws names as they are."""

import io

from matplotlib.figure import Figure

from stillome.plot.style import house_style


def test_dollars_in_a_name_are_no_formula():
    with house_style():
        figure = Figure()
        figure.add_subplot().set_title(r"region $\frac{$ and $x$")
        drawn = {kind: io.BytesIO() for kind in ("png", "svg")}
        for kind, file in drawn.items():
            figure.savefig(file, format=kind)
    # Matplotlib names the text in a comment of the file.
    assert rb"region $\frac{$ and $x$" in drawn["svg"].getvalue()
    assert len(drawn["png"].getvalue()) > 1000
