import itertools
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.colors import to_rgb

from figure_reading import apart, assert_readable, corners
from stillome.cohort.edges import edge_indices, edges_to_matrices
from stillome.exceptions import InputError
from stillome.plot import (
    plot_changed_edges,
    plot_edge_differences,
    plot_edge_means,
)
from stillome.plot.component_plane import MOTION
from stillome.plot.labels import spread
from stillome.plot.matrices import MEANS
from stillome.plot.region_order import lobe_colours, region_order, short_names
from stillome.simulate import load_desikan_killiany

RNG = np.random.default_rng(0)
DK = load_desikan_killiany()


def networks_of(n_regions, seed=0):
    rng = np.random.default_rng(seed)
    return edges_to_matrices(rng.lognormal(2, 2, n_regions * (n_regions - 1) // 2))


def parcellation(n_regions, lobes=("frontal", "parietal", "vermis")):
    half = n_regions // 2
    return pd.DataFrame(
        {
            "name": [f"{'lh' if i < half else 'rh'}_area{i}" for i in range(n_regions)],
            "hemisphere": ["L"] * half + ["R"] * (n_regions - half),
            "lobe": [lobes[i % len(lobes)] for i in range(n_regions)],
        }
    )


def test_edge_means_stand_in_the_order_of_hemisphere_and_lobe_with_their_names():
    means = networks_of(68)
    figure = plot_edge_means(means, DK)
    order = region_order(DK)
    shown = figure.axes[0].images[0].get_array()
    off_diagonal = ~np.eye(68, dtype=bool)
    np.testing.assert_array_equal(shown[off_diagonal], means[np.ix_(order, order)][off_diagonal])
    assert DK["hemisphere"].iloc[order].is_monotonic_increasing
    names = [tick.get_text() for tick in figure.axes[0].get_yticklabels()]
    assert names == short_names(DK.iloc[order])
    assert names[:2] == ["caud. ant. cingulate", "caud. mid. frontal"]
    lobes = [text.get_text() for text in figure.axes[0].texts]
    assert lobes[:5] == ["L frontal", "L insula", "L parietal", "L temporal", "L occipital"]
    assert_readable(figure)


def test_several_differences_share_one_colour_scale_and_name_lobes():
    raw = networks_of(68) - networks_of(68, seed=1)
    figure = plot_edge_differences({"raw": raw, "gate": raw / 3, "inv-fa": raw / 50}, DK)
    panels = figure.axes[:3]
    assert [axes.get_title(loc="left") for axes in panels] == ["raw", "gate", "inv-fa"]
    limits = {axes.images[0].get_clim() for axes in panels}
    assert limits == {(-np.abs(raw).max(), np.abs(raw).max())}
    assert panels[0].get_yticklabels()[0].get_text() == "L frontal"
    assert_readable(figure)


@pytest.mark.parametrize("n_regions", [5, 400])
@pytest.mark.parametrize("known", [True, False])
def test_atlases_of_any_size_can_be_drawn(n_regions, known):
    regions = parcellation(n_regions) if known else None
    means = networks_of(n_regions)
    figure = plot_edge_means({"one": means, "two": means / 1e6}, regions)
    assert_readable(figure)
    labels = [tick.get_text() for tick in figure.axes[0].get_yticklabels()]
    if n_regions == 5:
        expected = "area0" if known else "region-001"
        assert labels[0] == expected
    elif known:
        assert labels == [
            f"{side} {lobe}" for side in "LR" for lobe in ("frontal", "parietal", "vermis")
        ]


def test_more_lobes_than_lines_leave_the_small_ones_without_a_name():
    regions = parcellation(300, lobes=[f"network {i:02d}" for i in range(40)])
    figure = plot_edge_differences({"a": networks_of(300), "b": networks_of(300)}, regions)
    assert 10 < len(figure.axes[0].get_yticklabels()) < 80
    assert_readable(figure)


@pytest.mark.parametrize("largest", [3e-6, 0.4, 700, 2e5])
def test_the_colour_bar_of_means_has_round_ticks_up_to_the_largest(largest):
    figure = plot_edge_means({"a": networks_of(4) / networks_of(4).max() * largest})
    ticks = figure.axes[-1].xaxis.get_ticklocs()
    assert ticks[0] == 0
    assert largest / 10 <= ticks[-1] <= largest
    np.testing.assert_allclose(np.log10(ticks[1:]) % 1 % (1 - 1e-9), 0, atol=1e-8)
    assert_readable(figure)


def test_a_difference_of_nothing_can_be_drawn():
    assert plot_edge_differences(np.zeros((3, 3))).axes[0].images


@pytest.mark.parametrize("colours", [MEANS, MOTION])
def test_sequences_of_colours_grow_darker_in_grey(colours):
    grey = colours(np.linspace(0, 1, 64))[:, :3] @ [0.2126, 0.7152, 0.0722]
    assert (np.diff(grey) < 0).all()


def chords(figure):
    return [patch for patch in figure.axes[0].patches if patch.get_gid()]


def test_the_circle_shows_the_most_changed_edges_the_largest_last():
    change = networks_of(68) - networks_of(68, seed=1)
    figure = plot_changed_edges(change, DK)
    rows, columns = edge_indices(68)
    top = np.argsort(-np.abs(change[rows, columns]))[:15]
    names = DK["name"].to_numpy()
    expected = [f"{names[rows[edge]]}–{names[columns[edge]]}" for edge in top[::-1]]
    assert [chord.get_gid() for chord in chords(figure)] == expected
    widths = [chord.get_linewidth() for chord in chords(figure)]
    assert widths == sorted(widths)
    assert widths[-1] > 2 * widths[0]
    for chord, edge in zip(chords(figure), top[::-1], strict=True):
        red, _, blue = to_rgb(chord.get_edgecolor())
        gain = change[rows[edge], columns[edge]] > 0
        assert (red > blue) == gain
        assert (chord.get_linestyle() != "-") == gain  # told apart in grey too


@pytest.mark.parametrize(
    ("n_regions", "regions"),
    [(68, DK), (5, None), (400, parcellation(400))],
    ids=["dk", "5", "400"],
)
def test_names_around_the_circle_do_not_overlap(n_regions, regions):
    change = np.zeros((n_regions, n_regions))
    for i in range(2, n_regions):  # neighbours, whose names are crowded
        change[i - 2, i] = change[i, i - 2] = n_regions - i
    figure = plot_changed_edges(change, regions)
    figure.draw_without_rendering()
    shapes = [corners(text) for text in figure.axes[0].texts]
    assert len(shapes) == (n_regions if n_regions <= 90 else 17)
    assert all(apart(a, b) for a, b in itertools.combinations(shapes, 2))
    width, height = figure.bbox.size
    assert all((shape > -1).all() for shape in shapes)
    assert all((shape < [width + 1, height + 1]).all() for shape in shapes)


def test_the_left_hemisphere_lies_left_and_the_front_on_top():
    figure = plot_changed_edges(networks_of(68), DK, n_edges=3)
    figure.draw_without_rendering()
    centre = figure.axes[0].bbox.x0 + figure.axes[0].bbox.width / 2
    places = [text.get_window_extent() for text in figure.axes[0].texts]
    left = [box for box in places if box.x1 < centre]
    assert len(left) == 34
    names = [text.get_text() for text in figure.axes[0].texts]
    height = dict(zip(names, (box.y0 for box in places), strict=True))
    assert height["sup. frontal"] > height["insula"] > height["fusiform"] > height["cuneus"]


def test_only_edges_that_changed_get_a_chord():
    change = np.zeros((6, 6))
    assert not chords(plot_changed_edges(change))
    change[1, 4] = change[4, 1] = 3
    assert len(chords(plot_changed_edges(change, parcellation(6)))) == 1


def test_every_lobe_has_its_own_colour():
    lobes = ["frontal", "temporal", *(f"network {i}" for i in range(7))]
    colours = lobe_colours(pd.DataFrame({"lobe": lobes}))
    assert len(set(colours.values())) == 9


@pytest.mark.parametrize(
    ("draw", "sentence"),
    [
        (lambda: plot_edge_means([[0, 1, 2]]), "square matrix"),
        (lambda: plot_edge_means([[0, -1], [-1, 0]]), "negative"),
        (lambda: plot_edge_means({}), "at least one"),
        (lambda: plot_edge_means(np.zeros((3, 3)), DK), "each of the 3 regions"),
        (lambda: plot_edge_means(np.zeros((3, 3)), panel_inches=-1), "above 0"),
        (lambda: plot_edge_differences([[0, np.nan], [1, 0]]), "NaN"),
        (lambda: plot_edge_differences({"a": np.eye(2), "b": np.eye(3)}), "one atlas"),
        (lambda: plot_changed_edges([[0, 1], [2, 0]]), "not symmetric"),
        (lambda: plot_changed_edges(np.eye(3), n_edges=0), "n_edges=0"),
    ],
)
def test_matrices_that_cannot_be_drawn_are_answered_with_a_sentence(draw, sentence):
    with pytest.raises(InputError, match=re.escape(sentence)):
        draw()


@given(
    st.lists(st.floats(-5, 15), min_size=1, max_size=12).map(sorted),
    st.floats(0.01, 3),
)
def test_spread_positions_keep_order_distance_and_bounds(positions, gap):
    moved = spread(positions, gap, 0, 10)
    kept = min(gap, 10 / len(positions))
    assert (np.diff(moved) >= kept * (1 - 1e-9)).all()
    assert moved[0] >= kept / 2 - 1e-9
    assert moved[-1] <= 10 - kept / 2 + 1e-9


@given(st.lists(st.integers(1, 98), min_size=1, max_size=8, unique=True).map(sorted))
def test_positions_far_enough_apart_are_not_moved(positions):
    np.testing.assert_allclose(spread(positions, 1, 0, 100), positions)


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("ctx-lh-caudalanteriorcingulate", "L caud. ant. cingulate"),
        ("ctx-rh-bankssts", "R banks STS"),
        ("lh_parsopercularis", "L pars opercularis"),
        ("7Networks_RH_Default_PFC_3", "R Default_PFC_3"),
        ("Left-Thalamus-Proper", "L Thalamus-Proper"),
        ("lateralventricle", "lat. ventricle"),
        ("frontal", "frontal"),
        ("Region with a name that is far too long", "Region with a name that…"),
    ],
)
def test_names_are_shortened_to_what_is_read(name, short):
    assert short_names(pd.DataFrame({"name": [name]})) == [short]
