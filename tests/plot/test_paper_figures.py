import itertools
import re

import numpy as np
import pandas as pd
import pytest

from figure_reading import assert_readable
from stillome.cohort.edges import edges_to_matrices
from stillome.cohort.motion_groups import MotionGroups
from stillome.exceptions import InputError
from stillome.methods.registry import METHODS
from stillome.plot import (
    plot_changed_edges,
    plot_components,
    plot_correction,
    plot_distances,
    plot_edge_means,
    plot_motion_histogram,
    plot_motion_measures,
    plot_trait_components,
    plot_trait_prediction,
    save_figure,
)
from stillome.plot.component_plane import Projection
from stillome.plot.palette import method_looks

RNG = np.random.default_rng(0)
NETWORK = edges_to_matrices(RNG.poisson(50, 15))


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
    figure = plot_trait_components({"gate": z, "inv-fa": z[:, :2]}, trait, trait_name="IQ")
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


def summary_of(methods, n_traits):
    rows = list(itertools.product(methods, [f"PicVocab_Unadj_{i}" for i in range(n_traits)]))
    table = pd.DataFrame(rows, columns=["method", "trait"])
    mean, sd = RNG.uniform(-0.1, 0.5, len(table)), RNG.uniform(0.01, 0.1, len(table))
    return table.assign(r_mean=mean, r_sd=sd, r_min=mean - 2 * sd, r_max=mean + 2 * sd)


@pytest.mark.parametrize("n_traits", [1, 5, 12])
def test_the_lines_are_the_figures_of_the_summary(n_traits):
    methods = ["edgewise", "mine, which has a name longer than others", "gate", "inv-fa"]
    summary = summary_of(methods, n_traits)
    summary.loc[0, ["r_mean", "r_sd", "r_min", "r_max"]] = np.nan
    figure = plot_trait_prediction(summary)
    assert sum(axes.get_visible() for axes in figure.axes) == n_traits
    order = ["inv-fa", "gate", "edgewise", methods[1]]
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


def test_every_method_has_a_colour_and_a_marker_of_its_own():
    looks = method_looks(["raw", *METHODS, "mine"]).values()
    assert (
        len({look.colour for look in looks}) == len({look.marker for look in looks}) == len(looks)
    )


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


def test_the_figures_are_written_as_png_and_pdf(tmp_path):
    for i, figure in enumerate(
        [
            plot_changed_edges(NETWORK),
            plot_edge_means(NETWORK),
            plot_trait_prediction(summary_of(["gate"], 1)),
            plot_distances(NETWORK, range(6)),
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
