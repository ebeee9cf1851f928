import itertools
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.colors import to_rgb
from matplotlib.text import Text

from stillome.cohort import MotionGroups
from stillome.edges import edge_indices, edges_to_matrices
from stillome.exceptions import InputError
from stillome.plot import (
    plot_changed_edges,
    plot_components,
    plot_correction,
    plot_distances,
    plot_edge_differences,
    plot_edge_means,
    plot_motion_histogram,
    plot_motion_measures,
    plot_trait_components,
    plot_trait_prediction,
    save_figure,
)
from stillome.plot.components import MOTION, Projection
from stillome.plot.labels import spread
from stillome.plot.matrices import MEANS
from stillome.plot.palette import method_looks
from stillome.plot.regions import lobe_colours, region_order, short_names
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


# ---------------------------------------------------------------------- motion


def test_the_histogram_marks_the_cut_offs_and_counts_everybody_once():
    motion = np.r_[RNG.gamma(2, 0.1, 200), np.nan]
    low, high = np.nanquantile(motion, [0.1, 0.9])
    groups = MotionGroups(
        np.flatnonzero(motion <= low), np.flatnonzero(motion >= high), float(low), float(high)
    )
    figure = plot_motion_histogram(motion, groups, measure="rotation_rad")
    axes = figure.axes[0]
    assert [line.get_xdata()[0] for line in axes.lines] == [low, high]
    heights = [sum(bar.get_height() for bar in bars) for bars in axes.containers]
    assert heights == [200, 20, 20]
    assert axes.get_xlabel() == "motion: rotation (rad)"
    assert_readable(figure)


def test_motion_measures_show_pearsons_r_and_a_dash_where_nothing_varies():
    x = RNG.gamma(2, size=80)
    table = pd.DataFrame({"rms_mm": x, "outliers": x + RNG.normal(size=80), "constant": 1.0})
    table.loc[3, "rms_mm"] = np.nan
    figure = plot_motion_measures(table.assign(scanner="A"))
    written = [axes.texts[0].get_text() for axes in figure.axes if axes.texts]
    r = np.corrcoef(table["rms_mm"].drop(3), table["outliers"].drop(3))[0, 1]
    assert written == [f"{r:+.2f}", "–", "–"]
    assert len(figure.axes) == 9
    assert_readable(figure)


def test_many_motion_measures_are_shown_as_numbers():
    table = pd.DataFrame(RNG.normal(size=(40, 9)), columns=[f"measure_{i}_mm" for i in range(9)])
    figure = plot_motion_measures(table)
    assert len(figure.axes) == 1
    assert len(figure.axes[0].texts) == 81
    assert_readable(figure)


# ---------------------------------------------------------------------- matrices


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
    figure = plot_edge_differences({"raw": raw, "gate": raw / 3, "inv-vae": raw / 50}, DK)
    panels = figure.axes[:3]
    assert [axes.get_title(loc="left") for axes in panels] == ["raw", "gate", "inv-vae"]
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


# ---------------------------------------------------------------------- circle


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


# ---------------------------------------------------------------------- components


def offsets(axes):
    return np.sort(np.concatenate([dots.get_offsets() for dots in axes.collections]), axis=0)


def test_networks_are_seen_through_one_projection_on_the_same_axes():
    raw = RNG.normal(size=(60, 8)) * np.arange(8, 0, -1)
    adjusted = raw + 3 * RNG.normal(size=(60, 8))
    motion = np.r_[RNG.gamma(2, size=58), np.nan, np.nan]
    figure = plot_components({"raw": raw, "adjusted": adjusted}, motion)
    _, _, axes = np.linalg.svd(raw - raw.mean(axis=0))
    for panel, features in zip(figure.axes[:2], (raw, adjusted), strict=True):
        scores = np.abs((features - raw.mean(axis=0)) @ axes[:2].T)
        shown = np.concatenate([dots.get_offsets() for dots in panel.collections])
        np.testing.assert_allclose(
            np.sort(np.abs(shown), axis=0), np.sort(scores, axis=0), atol=1e-9
        )
    first, second = figure.axes[:2]
    assert first.get_xlim() == second.get_xlim()
    assert first.get_ylim() == second.get_ylim()
    assert second.get_xlabel() == first.get_xlabel()
    assert "of raw" in first.get_xlabel()
    assert_readable(figure)


def test_latents_have_axes_of_their_own():
    z = RNG.normal(size=(40, 3))
    motion = z[:, 0] + 10
    latents = {"small": z, "large": 100 * z, "collapsed": np.zeros((40, 5)), "one": z[:, :1]}
    figure = plot_components({"raw": RNG.normal(size=(40, 6))}, motion, latents=latents)
    raw, small, large, collapsed, one = figure.axes[:5]
    np.testing.assert_allclose(np.abs(offsets(large)), np.abs(100 * offsets(small)))
    assert raw.get_xlim() != small.get_xlim() != large.get_xlim()
    assert collapsed.texts[0].get_text() == "r with motion: –, –"
    assert re.search(r"[+−]1\.00, –$", one.texts[0].get_text())
    assert_readable(figure)


def test_a_projection_keeps_distances_it_can_keep():
    z = RNG.normal(size=(20, 2))
    scores = Projection.of(z, 2).scores(z)
    np.testing.assert_allclose(
        np.ptp(np.linalg.norm(scores, axis=1) - np.linalg.norm(z - z.mean(0), axis=1)),
        0,
        atol=1e-12,
    )


def test_the_ends_of_a_trait_are_those_of_the_known_scores():
    z = RNG.normal(size=(300, 4))
    trait = z[:, 0].copy()
    trait[::3] = np.nan
    figure = plot_trait_components({"gate": z, "inv-vae": z[:, :2]}, trait, trait_name="IQ")
    assert [axes.get_visible() for axes in figure.axes] == [True, True, True, True, False, False]
    low, high = figure.axes[3].collections[:2]
    assert len(low.get_offsets()) == len(high.get_offsets()) == 100
    order = np.argsort(trait)[:200]
    scores = Projection.of(z[:, :2], 3).scores(z[:, :2])
    np.testing.assert_allclose(low.get_offsets(), scores[order[:100]])
    np.testing.assert_allclose(high.get_offsets(), scores[order[100:]])
    assert figure.axes[2].get_xlabel().startswith("PC 2")
    assert figure.axes[2].get_ylabel().startswith("PC 3")
    assert_readable(figure)


# ---------------------------------------------------------------------- traits


def summary_of(methods, n_traits):
    rows = list(itertools.product(methods, [f"PicVocab_Unadj_{i}" for i in range(n_traits)]))
    table = pd.DataFrame(rows, columns=["method", "trait"])
    mean, sd = RNG.uniform(-0.1, 0.5, len(table)), RNG.uniform(0.01, 0.1, len(table))
    return table.assign(r_mean=mean, r_sd=sd, r_min=mean - 2 * sd, r_max=mean + 2 * sd)


@pytest.mark.parametrize("n_traits", [1, 5, 12])
def test_the_lines_are_the_figures_of_the_summary(n_traits):
    methods = ["edgewise", "mine, which has a name longer than others", "gate", "inv-vae"]
    summary = summary_of(methods, n_traits)
    summary.loc[0, ["r_mean", "r_sd", "r_min", "r_max"]] = np.nan
    figure = plot_trait_prediction(summary)
    assert sum(axes.get_visible() for axes in figure.axes) == n_traits
    order = ["inv-vae", "gate", "edgewise", methods[1]]
    looks = method_looks(methods)
    assert list(looks) == order
    for axes, (_, rows) in zip(figure.axes, summary.groupby("trait", sort=False), strict=False):
        lines = iter(axes.lines[1:])
        for place, method in enumerate(order):
            row = rows.set_index("method").loc[method]
            if np.isnan(row["r_mean"]):
                assert axes.texts[0].get_text().strip() == "failed"
                assert axes.texts[0].get_position()[1] == place
                continue
            extent, middle, point = next(lines), next(lines), next(lines)
            assert list(extent.get_xdata()) == [row["r_min"], row["r_max"]]
            assert np.diff(middle.get_xdata())[0] == pytest.approx(2 * row["r_sd"])
            assert point.get_xdata()[0] == row["r_mean"]
            assert {line.get_ydata()[0] for line in (extent, middle, point)} == {place}
            assert point.get_color() == looks[method].colour
        assert next(lines, None) is None
    assert_readable(figure)


def test_methods_look_the_same_whoever_else_is_compared():
    alone, among = method_looks(["sog"]), method_looks(["raw", "gate", "sog", "mine"])
    assert alone["sog"] == among["sog"]
    assert len({look.marker for look in among.values()}) == 4


# ---------------------------------------------------------------------- correction, distances


def test_the_correction_counts_every_edge_of_both_groups():
    raw = RNG.poisson(200, (30, 45))
    adjusted = raw.copy()
    adjusted[20:] += 40
    adjusted[20:, :9] -= 45
    groups = MotionGroups(np.arange(10), np.arange(20, 30), 0.1, 0.9)
    figure = plot_correction(edges_to_matrices(raw), edges_to_matrices(adjusted), groups)
    small, large = (patch.get_data() for patch in figure.axes[0].patches[1::2])
    for shares in (small, large):
        assert shares.values.sum() == pytest.approx(100)
        np.testing.assert_allclose(shares.edges, -shares.edges[::-1])
    at_zero = np.searchsorted(small.edges, 0) - 1
    assert small.values[at_zero] == pytest.approx(100)
    assert large.values[np.searchsorted(large.edges, 40) - 1] == pytest.approx(80)
    assert large.values[np.searchsorted(large.edges, -5) - 1] == pytest.approx(20)
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels[0].endswith("0 per edge on average")
    assert "+31 per edge" in labels[1]
    assert_readable(figure)


def test_distances_are_ordered_by_level_and_averaged_in_blocks():
    levels = np.array([0.9, 0, 0.5, 0, 0.9, 0.5, 0])
    distances = np.abs(np.subtract.outer(levels, levels)) * 10 + 1
    figure = plot_distances(distances, levels)
    left, right = figure.axes[:2]
    order = np.argsort(levels, kind="stable")
    shown = left.images[0].get_array()
    off_diagonal = ~np.eye(7, dtype=bool)
    np.testing.assert_array_equal(
        shown[off_diagonal], distances[np.ix_(order, order)][off_diagonal]
    )
    assert [tick.get_text() for tick in left.get_yticklabels()] == ["0", "0.5", "0.9"]
    lines = [line.get_ydata()[0] for line in left.lines[::2]]
    assert lines == [2.5, 4.5]
    means = [text.get_text() for text in right.texts]
    assert means == ["1", "6", "10", "6", "1", "5", "10", "5", "1"]
    assert_readable(figure)


def test_continuous_motion_is_parted_into_fifths():
    motion = RNG.gamma(2, 0.1, 50)
    figure = plot_distances(np.abs(np.subtract.outer(motion, motion)), motion, measure="rms_mm")
    assert len(figure.axes[1].texts) == 25
    assert_readable(figure)


# ---------------------------------------------------------------------- all of them


def test_the_figures_are_written_as_png_and_pdf(tmp_path):
    for i, figure in enumerate(
        [
            plot_changed_edges(networks_of(6), parcellation(6)),
            plot_edge_means(networks_of(6), parcellation(6)),
            plot_trait_prediction(summary_of(["gate"], 1)),
            plot_distances(networks_of(6), range(6)),
        ]
    ):
        png, pdf = save_figure(figure, tmp_path / str(i), dpi=50)
        assert png.read_bytes().startswith(b"\x89PNG")
        assert pdf.read_bytes().startswith(b"%PDF")


GROUPS = MotionGroups(np.array([0]), np.array([1]), 0.1, 0.9)


@pytest.mark.parametrize(
    ("draw", "sentence"),
    [
        (lambda: plot_motion_histogram([np.nan], GROUPS), "0 known values"),
        (lambda: plot_edge_means([[0, 1, 2]]), "square matrix"),
        (lambda: plot_edge_means([[0, -1], [-1, 0]]), "negative"),
        (lambda: plot_edge_means({}), "at least one"),
        (lambda: plot_edge_means(np.zeros((3, 3)), DK), "each of the 3 regions"),
        (lambda: plot_edge_means(np.zeros((3, 3)), panel_inches=-1), "above 0"),
        (lambda: plot_edge_differences([[0, np.nan], [1, 0]]), "NaN"),
        (lambda: plot_edge_differences({"a": np.eye(2), "b": np.eye(3)}), "one atlas"),
        (lambda: plot_changed_edges([[0, 1], [2, 0]]), "not symmetric"),
        (lambda: plot_changed_edges(np.eye(3), n_edges=0), "n_edges=0"),
        (lambda: plot_components({}, [1.0]), "at least one set"),
        (lambda: plot_components(np.eye(3), [1.0]), "mapping"),
        (lambda: plot_components({"a": np.eye(3)}, [1.0]), "1 values for 3 subjects"),
        (lambda: plot_components({"a": np.eye(1)}, [1.0]), "at least two"),
        (lambda: plot_components({"a": np.eye(3), "b": np.eye(3)[:, :2]}, [1, 2, 3]), "latents"),
        (lambda: plot_components({"a": np.eye(3), "b": np.eye(2)}, [1, 2, 3]), "subjects"),
        (lambda: plot_trait_prediction(pd.DataFrame({"method": ["a"]})), "r_mean"),
        (lambda: plot_trait_prediction(summary_of(["gate"], 1)[:0]), "empty"),
        (lambda: plot_trait_prediction(summary_of(["gate", "gate"], 1)), "twice"),
        (lambda: plot_trait_components({}, [1.0]), "mapping"),
        (lambda: plot_trait_components({"a": np.eye(3)}, [1.0]), "one score for 3"),
        (lambda: plot_trait_components({"a": np.eye(3)}, [1, np.nan, np.nan]), "1 known scores"),
        (lambda: plot_trait_components({"a": np.eye(3)[:, :1]}, [1, 2, 3]), "two columns"),
        (lambda: plot_trait_components({"a": np.eye(3), "b": np.eye(2)}, [1]), "same subjects"),
        (lambda: plot_correction([[1]], [[1], [2]], GROUPS), "give the same"),
        (lambda: plot_motion_measures(pd.DataFrame({"rms_mm": [1, 2]})), "needs two"),
        (lambda: plot_motion_measures([[1, 2]]), "DataFrame"),
        (lambda: plot_distances([[0, -1], [-1, 0]], [0, 1]), "negative"),
        (lambda: plot_distances([[0, 1], [1, 0]], [0, np.nan]), "unknown for some"),
    ],
)
def test_what_cannot_be_drawn_is_answered_with_a_sentence(draw, sentence):
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
