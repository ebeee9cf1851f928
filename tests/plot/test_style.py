"""The house style draws names as they are."""

import io

from matplotlib.figure import Figure

from stillome.plot.style import house_style


def test_dollars_in_a_name_are_no_formula():
    with house_style():
        figure = Figure()
        figure.add_subplot().set_title(r"region $\frac{$ and $x$")
        figure.savefig(io.BytesIO(), format="png")
        figure.savefig(io.BytesIO(), format="svg")
