"""Read a drawn figure: does any text cover another, or leave the figure?"""

import itertools

import numpy as np
from matplotlib.text import Text


def corners(text):
    """Return the four corners of a text as drawn; rotated texts have slanted boxes."""
    angle = text.get_rotation()
    x, y = text.get_transform().transform(text.get_unitless_position())
    text.set_rotation(0)
    box = text.get_window_extent()
    text.set_rotation(angle)
    points = np.array(list(itertools.product(box.intervalx, box.intervaly)))[[0, 1, 3, 2]]
    turn = np.radians(angle)
    matrix = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    return (points - [x, y]) @ matrix.T + [x, y]


def apart(a, b, tolerance=1.0):
    """Say whether two convex shapes are apart, by the separating axis theorem."""
    for shape in (a, b):
        for edge in np.roll(shape, -1, axis=0) - shape:
            normal = np.array([-edge[1], edge[0]]) / (np.linalg.norm(edge) or 1)
            first, second = a @ normal, b @ normal
            if min(first.max(), second.max()) - max(first.min(), second.min()) < tolerance:
                return True
    return False


def shown_texts(figure):
    figure.draw_without_rendering()
    hidden = {
        text for axes in figure.axes if not axes.get_visible() for text in axes.findobj(Text)
    } | {
        # matplotlib keeps the labels of ticks outside the limits without drawing them.
        label
        for axes in figure.axes
        for axis in (getattr(axes, "xaxis", None), getattr(axes, "yaxis", None))
        if axis is not None
        for tick in [*axis.get_major_ticks(), *axis.get_minor_ticks()]
        if tick not in axis._update_ticks() or not axes.axison
        for label in (tick.label1, tick.label2)
    }
    return [
        text
        for text in figure.findobj(Text)
        if text.get_visible() and text.get_text().strip() and text not in hidden
    ]


def assert_readable(figure):
    """No text covers another, and none leaves the figure."""
    boxes = [(text.get_text(), text.get_window_extent()) for text in shown_texts(figure)]
    assert boxes
    width, height = figure.bbox.size
    for text, box in boxes:
        assert box.x0 >= -1 and box.y0 >= -1, text
        assert box.x1 <= width + 1 and box.y1 <= height + 1, text
    for (text, box), (other, around) in itertools.combinations(boxes, 2):
        wide = min(box.x1, around.x1) - max(box.x0, around.x0)
        high = min(box.y1, around.y1) - max(box.y0, around.y0)
        assert min(wide, high) <= 1, (text, other)
