"""What the figures of leakage, frontier, brain, subject, training and QC–SC promise."""

import itertools

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex, to_rgb

from stillome.evaluate.invariance_frontier import smallest_passing
from stillome.evaluate.motion_effects import QCSC
from stillome.exceptions import InputError
from stillome.methods.method_words import method_name
from stillome.plot import (
    plot_changed_edges,
    plot_frontier,
    plot_glass_brain,
    plot_latent_units,
    plot_leakage,
    plot_qcsc,
    plot_subject,
    plot_training,
)
from stillome.plot.qcsc import running_median
from stillome.plot.region_order import region_order
from stillome.plot.style import save_figure
from stillome.simulate import load_desikan_killiany

REGIONS = load_desikan_killiany()
V = len(REGIONS)


def certificate(**probes):
    rows = {name.replace("_", " "): values for name, values in probes.items()}
    return pd.DataFrame.from_dict(rows, orient="index", columns=["r2", "p_holm", "null_95"])


def certificates():
    return {
        "raw": certificate(
            ridge=(0.82, 0.015, -0.003), svr=(0.68, 4e-11, 0.02), zeros_ridge=(0.36, 0.01, 0.0)
        ),
        "edgewise connectomes": certificate(
            ridge=(-0.007, 0.8, 0.0), svr=(0.97, 1e-9, 0.02), zeros_ridge=(np.nan, np.nan, np.nan)
        ),
        "edgewise z": certificate(ridge=(-0.05, 0.7, 0.0), svr=(-0.24, 1.0, 0.02)),
        "inv-fa z": certificate(ridge=(-0.007, 0.8, 0.0), svr=(-0.71, 1.0, 0.02)),
    }


def frontier(passed=(False, False, True, True, True), trait_r=0.3, **changes):
    table = pd.DataFrame(
        {
            "weight": [0.0, 0.25, 0.5, 0.75, 1.0],
            "worst_r2": [0.5, 0.31, 0.22, 0.21, 0.2],
            "passed": passed,
            "log_likelihood": [-5628.78, -5628.77, -5628.76, -5628.75, -5628.74],
            "trait_r": trait_r,
            "n_test": 45,
        }
    )
    return table.assign(**changes)


def change(seed=0):
    upper = np.triu(np.random.default_rng(seed).normal(0, 50, (V, V)), k=1)
    return upper + upper.T


def counts(n_regions=V, seed=0):
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.poisson(rng.lognormal(1, 2, (n_regions, n_regions))), k=1)
    return upper + upper.T


def history(validation=True, collapse=False, n_epochs=30):
    epochs = np.arange(1, n_epochs + 1)
    falling = np.exp(-epochs / 6)
    terms = {
        "loss": 900 + 4e7 * falling,
        "nll": 880 + 500 * falling,
        "kl": 40 * falling if collapse else 10 + falling,
        "marginal_kl": 5 + falling,
        "trait_nll": np.zeros(n_epochs),
        "active_units": np.round(9 * falling) if collapse else np.full(n_epochs, 8),
    }
    table = pd.DataFrame({"epoch": epochs})
    for name, values in terms.items():
        table[f"training_{name}"] = values
        if validation:
            table[f"validation_{name}"] = values + (epochs - 12) ** 2 * 1e7 * (name == "loss")
    return table


def qcsc(n_edges=400, lengths=True, seed=0):
    rng = np.random.default_rng(seed)
    r = rng.normal(-0.2, 0.1, n_edges)
    r[::9] = np.nan
    known = rng.uniform(10, 200, n_edges)
    known[::7] = 0
    p = np.where(np.isnan(r), np.nan, rng.uniform(0, 0.1, n_edges))
    return QCSC(r, p, known if lengths else None)


FIGURES = {
    "leakage": lambda: plot_leakage(certificates()),
    "leakage of sites": lambda: plot_leakage(certificates(), others=["site"]),
    "leakage of much": lambda: plot_leakage(certificates(), others=["site", "scanner_software"]),
    "leakage of one": lambda: plot_leakage({"raw": certificate(ridge=(0.5, 0.01, 0.02))}),
    "leakage, long names": lambda: plot_leakage(
        {f"{name}, subjects never seen before": t for name, t in certificates().items()}
    ),
    "frontier": lambda: plot_frontier(frontier()),
    "frontier, none passes": lambda: plot_frontier(frontier([False] * 5, trait_r=np.nan)),
    "brain": lambda: plot_glass_brain(change(), REGIONS),
    "brain, tiny change": lambda: plot_glass_brain(change()[:3, :3] * 1e-4, REGIONS[:3]),
    "subject": lambda: plot_subject(counts(), counts(seed=1), REGIONS, name="sub-01 (0.6 mm)"),
    "subject, many fibres": lambda: plot_subject(counts() * 500, counts(seed=1), REGIONS),
    "subject, three regions": lambda: plot_subject(counts(3), counts(3, seed=1)),
    "subject, small weights": lambda: plot_subject(counts() / 1e7, counts(seed=1) / 1e7, REGIONS),
    "subject, empty": lambda: plot_subject(np.zeros((4, 4)), np.zeros((4, 4))),
    "training": lambda: plot_training(history()),
    "training, collapse": lambda: plot_training(history(validation=False, collapse=True)),
    "training, one epoch": lambda: plot_training(history(n_epochs=1)),
    "units": lambda: plot_latent_units(np.linspace(3, 0, 68), 60),
    "units, collapse": lambda: plot_latent_units([0.0] * 68, 0),
    "qcsc": lambda: plot_qcsc({"before": qcsc(), "after": qcsc(seed=1)}),
    "qcsc of four": lambda: plot_qcsc({str(seed): qcsc(seed=seed) for seed in range(4)}),
    "qcsc, no lengths": lambda: plot_qcsc({"before": qcsc(), "after": qcsc(lengths=False)}),
    "qcsc, three edges": lambda: plot_qcsc({"before": qcsc(3)}),
}


def written(figure):
    """Every piece of text that is seen, with the box it covers."""
    texts = [*figure.texts, *(text for box in figure.legends for text in box.get_texts())]
    for axes in figure.axes:
        if not axes.get_visible():
            continue
        texts += [axes._left_title, *axes.texts]
        if axes.get_legend():
            texts += axes.get_legend().get_texts()
        if axes.axison:
            for axis in (axes.xaxis, axes.yaxis):
                low, high = sorted(axis.get_view_interval())
                texts += [axis.label, axis.offsetText]
                texts += [
                    tick.label1
                    for tick in axis.get_major_ticks()
                    if low - 1e-9 <= tick.get_loc() <= high + 1e-9
                ]
    seen = [text for text in texts if text.get_text().strip() and text.get_visible()]
    return [(text.get_text(), text.get_window_extent()) for text in seen]


@pytest.mark.parametrize("name", FIGURES)
def test_no_label_is_cut_off_or_overlaps_another(name):
    figure = FIGURES[name]()
    figure.draw_without_rendering()
    width, height = figure.bbox.size
    labels = written(figure)
    assert len(labels) > 3
    for text, box in labels:
        assert min(box.x0, box.y0) >= -1, text
        assert box.x1 <= width + 1, text
        assert box.y1 <= height + 1, text
    for (text, box), (other, beside) in itertools.combinations(labels, 2):
        across = min(box.x1, beside.x1) - max(box.x0, beside.x0)
        upright = min(box.y1, beside.y1) - max(box.y0, beside.y0)
        assert min(across, upright) <= 1, (text, other)


def test_the_same_brain_gives_the_same_bytes(tmp_path):
    small = FIGURES["brain, tiny change"]
    first, second = (save_figure(small(), tmp_path / part, dpi=30) for part in "ab")
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]


def markers(axes):
    """The single points of an axes: (x, y) to marker, colour and whether it is filled."""
    return {
        (line.get_xdata()[0], line.get_ydata()[0]): line
        for line in axes.lines
        if len(line.get_xdata()) == 1
    }


def test_leakage_names_what_the_probes_looked_for():
    for others, sought, read in (
        ([], "motion", "motion"),
        (["site"], "motion and site", "motion or site"),
        (["site", "coil"], "motion, site and coil", "motion, site or coil"),
    ):
        figure = plot_leakage(certificates(), others=others)
        label = figure.axes[0].get_xlabel()
        assert label == f"R² of {sought} predicted in held-out subjects"
        keys = [text.get_text() for text in figure.legends[0].get_texts()]
        assert {f"95 % of permuted {sought}", f"filled: {read} detected (p ≤ 0.05)"} <= set(keys)


def test_leakage_is_drawn_where_it_is_and_the_null_ends_where_it_does():
    tables = certificates()
    axes = plot_leakage(tables).axes[0]
    drawn = {y: (x, line) for (x, y), line in markers(axes).items() if line.get_marker() != "<"}
    rows = [
        (probe, label)
        for probe in ("ridge", "svr", "zeros ridge")
        for label, table in tables.items()
        if probe in table.index
    ]
    bands = [bar.get_x() + bar.get_width() for bar in axes.patches]
    assert len(drawn) == len(bands) == len(rows)
    for (probe, label), (x, line), band in zip(
        rows, (drawn[y] for y in sorted(drawn)), bands, strict=True
    ):
        r2, p_holm, null_95 = tables[label].loc[probe, ["r2", "p_holm", "null_95"]]
        np.testing.assert_equal(x, max(r2, -0.1) if np.isfinite(r2) else np.nan)
        filled = to_hex(line.get_markerfacecolor()) == to_hex(line.get_color())
        assert filled == (p_holm <= 0.05)
        assert band == pytest.approx(null_95 if np.isfinite(null_95) else axes.get_xlim()[0])


def test_r2_far_below_zero_has_an_arrow_and_its_number():
    axes = plot_leakage(certificates()).axes[0]
    arrows = [line for line in axes.lines if line.get_marker() == "<"]
    assert len(arrows) == 2
    assert {"−0.24", "−0.71"} <= {text.get_text() for text in axes.texts}
    assert axes.get_xlim()[0] > -0.2


def test_features_of_one_method_share_its_colour_and_differ_in_marker():
    legend = plot_leakage(certificates()).legends[0]
    keys = {handle.get_label(): handle for handle in legend.legend_handles}
    one, other = keys["edgewise connectomes"], keys["edgewise z"]
    assert one.get_color() == other.get_color() != keys["inv-fa z"].get_color()
    assert len({keys[method_name(name)].get_marker() for name in certificates()}) == 4


@pytest.mark.parametrize("passed", [(False, False, True, True, True), (False,) * 5])
def test_the_frontier_marks_the_weight_of_the_rule(passed):
    table = frontier(passed)
    figure = plot_frontier(table)
    for axes, column in zip(figure.axes, ("worst_r2", "log_likelihood", "trait_r"), strict=True):
        np.testing.assert_array_equal(axes.lines[1].get_xdata(), table["weight"])
        np.testing.assert_array_equal(axes.lines[1].get_ydata(), table[column])
        assert set(axes.lines[0].get_xdata()) == {smallest_passing(table)}
        open_markers = next(line for line in axes.lines if line.get_gid() == "passed")
        assert len(open_markers.get_xdata()) == sum(passed)
    band = figure.axes[0].patches
    assert len(band) == (not any(passed))
    if band:
        # The rule keeps what lies in the band, and the smallest of these weights.
        inside = table["worst_r2"] <= band[0].get_y() + band[0].get_height()
        assert table.loc[inside, "weight"].min() == smallest_passing(table)


def test_another_choice_is_marked_without_naming_the_rule():
    figure = plot_frontier(frontier(), chosen=0.75)
    assert figure.get_suptitle() == "Chosen weight: 0.75"
    assert set(figure.axes[0].lines[0].get_xdata()) == {0.75}


def test_a_difference_of_a_hundredth_nat_looks_flat():
    low, high = plot_frontier(frontier()).axes[1].get_ylim()
    assert high - low >= 2


def test_the_frontier_without_traits_has_two_panels():
    assert len(plot_frontier(frontier(trait_r=np.nan)).axes) == 2
    assert len(plot_frontier(frontier().drop(columns="trait_r")).axes) == 2


def brain_lines(figure):
    return [[line for line in axes.lines if len(line.get_xdata()) == 2] for axes in figure.axes]


def test_the_brain_shows_the_strongest_edges_between_their_regions():
    matrix = change()
    views = [lines for lines in brain_lines(plot_glass_brain(matrix, REGIONS, n_edges=5)) if lines]
    assert [len(lines) for lines in views] == [5, 5, 5]
    strongest = np.argsort(-np.abs(np.triu(matrix).ravel()))[:5]
    places = REGIONS[["x", "y", "z"]].to_numpy()
    from_above = {
        frozenset({tuple(places[i, :2]), tuple(places[j, :2])})
        for i, j in zip(*np.unravel_index(strongest, matrix.shape), strict=True)
    }
    drawn = {frozenset(zip(line.get_xdata(), line.get_ydata(), strict=True)) for line in views[2]}
    assert drawn == from_above


def test_gain_is_lighter_than_loss_in_the_brain():
    matrix = np.array([[0, 9, 0], [9, 0, -9], [0, -9, 0]])
    lines = brain_lines(plot_glass_brain(matrix, REGIONS[:3]))[1]
    dark, light = sorted(np.dot(to_rgb(line.get_color()), [0.2, 0.7, 0.1]) for line in lines)
    assert light - dark > 0.3


def test_regions_without_a_place_are_left_out_and_said_to_be():
    regions = REGIONS.copy()
    regions.loc[[0, 1], "y"] = np.nan
    matrix = np.zeros((V, V))
    matrix[0, 5] = matrix[5, 0] = 90
    matrix[4, 5] = matrix[5, 4] = 9
    title = plot_glass_brain(matrix, regions).get_suptitle()
    assert title == "The edge that changed most (2 regions without a place left out)"


def test_a_millimetre_is_equally_long_in_all_views_of_the_brain():
    figure = plot_glass_brain(change(), REGIONS)
    figure.draw_without_rendering()
    views = {axes.get_label(): axes for axes in figure.axes[:3]}
    assert list(views) == ["sagittal", "coronal", "axial"]
    scales = [axes.bbox.width / np.ptp(axes.get_xlim()) for axes in views.values()]
    np.testing.assert_allclose(scales, scales[0])
    assert [text.get_text() for text in views["sagittal"].texts] == ["P", "A"]
    assert [text.get_text() for text in views["axial"].texts] == ["L", "R"]


def test_the_outline_encloses_the_regions_and_is_drawn_for_mni_coordinates_only():
    outlines = plot_glass_brain(change(), REGIONS).axes[2].patches
    around = outlines[0].get_path()
    inside = around.contains_points(REGIONS[["x", "y"]].to_numpy(dtype=float))
    assert inside.all()
    voxels = REGIONS.assign(x=REGIONS["x"] + 128, y=REGIONS["y"] + 128, z=REGIONS["z"] + 128)
    without = plot_glass_brain(change(), voxels)
    assert not any(len(axes.patches) for axes in without.axes[:3])
    assert [len(lines) for lines in brain_lines(without)[:3]] == [50, 50, 50]


def test_figures_leave_the_settings_of_matplotlib_alone():
    before = dict(matplotlib.rcParams)
    plot_changed_edges(change(), REGIONS)
    plot_glass_brain(change(), REGIONS)
    assert dict(matplotlib.rcParams) == before


def test_a_brain_without_change_is_drawn_empty():
    figure = plot_glass_brain(np.zeros((V, V)), REGIONS)
    assert figure.get_suptitle() == "No edge changed"
    assert not any(brain_lines(figure))


def test_a_subject_is_drawn_in_the_order_of_lobes_with_its_totals():
    before, after = counts(), counts(seed=1)
    figure = plot_subject(before, after, REGIONS)
    panels = {axes.get_title(loc="left")[:1]: axes for axes in figure.axes}
    order = region_order(REGIONS)
    off_diagonal = ~np.eye(V, dtype=bool)
    for letter, matrix in (("A", before), ("B", after), ("C", after - before)):
        shown = panels[letter].images[0].get_array()
        np.testing.assert_array_equal(
            shown[off_diagonal], matrix[np.ix_(order, order)][off_diagonal]
        )
    assert panels["A"].images[0].norm is panels["B"].images[0].norm
    pairs = panels["D"].collections[0].get_offsets()
    upper = np.triu_indices(V, k=1)
    np.testing.assert_array_equal(pairs, np.column_stack([before[upper], after[upper]]))
    assert f"{before[upper].sum():,} fibres" in panels["A"].get_title(loc="left")


def test_training_is_drawn_as_recorded_and_the_kept_epoch_marked():
    table = history()
    figure = plot_training(table)
    titles = [axes.get_title(loc="left") for axes in figure.axes if axes.get_visible()]
    assert len(titles) == 5  # the traits' part is zero throughout
    loss = {line.get_label(): line for line in figure.axes[0].lines}
    for part in ("training", "validation"):
        np.testing.assert_array_equal(loss[part].get_ydata(), table[f"{part}_loss"])
    best = table["epoch"][table["validation_loss"].argmin()]
    assert 1 < best < 30
    assert set(loss["weights kept"].get_xdata()) == {best}
    assert figure.axes[0].get_yscale() == "log"
    assert not figure.axes[0].patches
    assert "has not collapsed" in figure.get_suptitle()


def test_collapsed_epochs_are_shaded():
    table = history(validation=False, collapse=True)
    figure = plot_training(table)
    empty = (table["training_kl"] < 1) | (table["training_active_units"] == 0)
    for axes in figure.axes[:5]:
        (shade,) = axes.patches
        first = table["epoch"][empty.argmax()]
        assert (shade.get_x(), shade.get_x() + shade.get_width()) == (first - 0.5, 30.5)
    assert "collapsed: in epoch 30" in figure.get_suptitle()


def test_units_are_drawn_most_informative_first_and_collapse_is_said():
    axes = plot_latent_units([0.2, 3.0, 0.0], 2).axes[0]
    assert [bar.get_height() for bar in axes.patches] == [3.0, 0.2, 0.0]
    assert "ollapsed" not in axes.get_title(loc="left")
    assert "Collapsed" in plot_latent_units([0.2, 0.3, 0.0], 2).axes[0].get_title(loc="left")


def test_qcsc_shows_the_edges_that_have_both_length_and_correlation():
    record = qcsc()
    figure = plot_qcsc({"before": record, "after": qcsc(seed=1)})
    known = (record.lengths > 0) & ~np.isnan(record.correlations)
    points = figure.axes[0].collections[0].get_offsets()
    np.testing.assert_array_equal(
        points, np.column_stack([record.lengths[known], record.correlations[known]])
    )
    assert figure.axes[0].get_ylim() == figure.axes[1].get_ylim()
    assert f"{record.median_absolute:.2f}" in figure.axes[0].get_title(loc="left")
    assert f"{100 * record.share_significant:.0f} %" in figure.axes[0].get_xlabel()


def test_the_running_median_follows_a_rule_and_ignores_outliers():
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 100, 600)
    y = -x / 100
    y[::50] = 9
    middles, medians = running_median(x, y)
    assert len(middles) == 12
    np.testing.assert_allclose(medians, -middles / 100, atol=0.03)
    assert running_median(x[:14], y[:14])[0].size == 0


def test_edges_without_lengths_or_correlations_can_be_drawn():
    empty = QCSC(np.full(3, np.nan), np.full(3, np.nan), np.zeros(3))
    figure = plot_qcsc({"raw": empty})
    assert figure.axes[0].get_title(loc="left") == "A  raw: median |r| = unknown"


@pytest.mark.parametrize(
    ("draw", "said"),
    [
        (lambda: plot_leakage({}), "none given"),
        (
            lambda: plot_leakage({"raw": pd.DataFrame({"r2": [1.0]})}),
            "'raw': no column p_holm, null_95",
        ),
        (lambda: plot_leakage(certificates(), level=2), "level=2"),
        (lambda: plot_frontier(None), "frontier: a NoneType"),
        (lambda: plot_frontier(frontier().drop(columns="passed")), "passed"),
        (lambda: plot_frontier(frontier((False,) * 5).drop(columns="n_test")), "give chosen="),
        (
            lambda: plot_glass_brain(change(), REGIONS.drop(columns=["x", "z"])),
            "columns x, y and z",
        ),
        (lambda: plot_glass_brain(change(), REGIONS.assign(x=np.nan)), "fewer than two"),
        (lambda: plot_glass_brain(change()[:4, :4], REGIONS), "each of the 4 regions"),
        (lambda: plot_glass_brain(change() * np.nan, REGIONS), "NaN"),
        (lambda: plot_glass_brain(change(), REGIONS, n_edges=0), "n_edges=0"),
        (lambda: plot_subject(counts(3), counts(4)), "same subject"),
        (lambda: plot_subject(counts(3) * np.nan, counts(3)), "raw: holds NaN"),
        (lambda: plot_training(pd.DataFrame({"epoch": []})), "no column training_loss"),
        (lambda: plot_training(history().iloc[:0]), "history: no rows"),
        (lambda: plot_latent_units([[1.0]], 1), "one finite number per"),
        (lambda: plot_latent_units([np.nan], 1), "one finite number per"),
        (lambda: plot_latent_units([1.0], -1), "active_units=-1"),
        (lambda: plot_qcsc({}), "none given"),
        (lambda: plot_qcsc({"raw": np.zeros(3)}), "'raw' is a ndarray"),
    ],
)
def test_what_cannot_be_drawn_is_said_in_a_sentence(draw, said):
    with pytest.raises(InputError, match=said):
        draw()
