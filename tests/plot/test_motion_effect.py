import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb

from stillome.cohort.cohort import Cohort
from stillome.cohort.edges import edges_to_matrices
from stillome.evaluate.motion_effects import describe_motion_effects
from stillome.plot.motion_effect import plot_motion_effects
from stillome.plot.region_order import region_order
from stillome.plot.style import DIFFERENCE, LARGE_MOTION, SMALL_MOTION, house_style, save_figure


def effects_of(n_regions=6, lobes=True, lengths=True):
    rng = np.random.default_rng(0)
    moved = rng.gamma(2, 0.1, 50)
    n_edges = n_regions * (n_regions - 1) // 2
    regions = pd.DataFrame({"name": [f"r{i}" for i in range(n_regions)]})
    if lobes:
        regions["hemisphere"] = ["L", "R"] * (n_regions // 2)
        regions["lobe"] = (["temporal", "frontal", "insula"] * n_regions)[:n_regions]
    cohort = Cohort(
        [str(i) for i in range(50)],
        edges_to_matrices(rng.poisson(100 * np.exp(-moved[:, None]), (50, n_edges))),
        motion=pd.DataFrame({"rms_mm": moved}),
        regions=regions,
        lengths=edges_to_matrices(rng.uniform(10, 150, n_edges)) if lengths else None,
    )
    return describe_motion_effects(cohort, "rms_mm")


def panels(figure):
    return {axes.get_title(loc="left")[:1]: axes for axes in figure.get_axes()}


def test_the_matrix_shown_is_the_difference_in_the_order_of_lobes():
    effects = effects_of()
    shown = panels(plot_motion_effects(effects))["A"].images[0].get_array()
    order = region_order(effects.regions)
    expected = effects.difference[np.ix_(order, order)]
    off_diagonal = ~np.eye(6, dtype=bool)
    np.testing.assert_array_equal(shown[off_diagonal], expected[off_diagonal])
    assert effects.regions["hemisphere"].iloc[order].tolist() == ["L"] * 3 + ["R"] * 3
    assert effects.regions["lobe"].iloc[order[:3]].tolist() == ["frontal", "insula", "temporal"]


@pytest.mark.parametrize(("lobes", "lengths"), [(True, True), (False, True), (True, False)])
def test_nothing_is_cut_off(lobes, lengths):
    figure = plot_motion_effects(effects_of(lobes=lobes, lengths=lengths))
    figure.draw_without_rendering()
    width, height = figure.bbox.size
    for axes in figure.get_axes():
        box = axes.get_tightbbox()
        assert -1 <= box.x0 < box.x1 <= width + 1
        assert -1 <= box.y0 < box.y1 <= height + 1


def test_few_edges_are_each_a_step_of_the_running_median():
    effects = effects_of(n_regions=4)
    (line,) = (
        one for one in panels(plot_motion_effects(effects))["D"].lines if one.get_label()[0] != "_"
    )
    np.testing.assert_allclose(line.get_xdata(), np.sort(effects.qcsc.lengths))


def test_the_panels_do_not_overlap():
    figure = plot_motion_effects(effects_of())
    figure.draw_without_rendering()
    boxes = [axes.get_tightbbox() for axes in figure.get_axes()]
    for i, box in enumerate(boxes):
        for other in boxes[:i]:
            overlap_x = min(box.x1, other.x1) - max(box.x0, other.x0)
            overlap_y = min(box.y1, other.y1) - max(box.y0, other.y0)
            assert min(overlap_x, overlap_y) <= 1


def test_the_cut_offs_and_totals_are_those_of_the_record():
    effects = effects_of()
    drawn = panels(plot_motion_effects(effects))
    cutoffs = [line.get_xdata()[0] for line in drawn["B"].lines]
    assert cutoffs == [effects.groups.low_cutoff, effects.groups.high_cutoff]
    means = drawn["C"].lines[0].get_ydata().astype(float)
    np.testing.assert_allclose(means, effects.totals["fibres_mean"])


def test_a_cohort_that_does_not_change_can_be_drawn():
    counts = np.ones((20, 3, 3))
    counts[::2, 0, 1] = counts[::2, 1, 0] = 2
    moved = np.repeat(np.arange(10.0), 2)
    cohort = Cohort([str(i) for i in range(20)], counts, pd.DataFrame({"fd": moved}))
    figure = plot_motion_effects(describe_motion_effects(cohort, "fd"))
    assert panels(figure)["B"].get_xlabel() == "motion: fd"


def luminance(colour):
    return np.dot(to_rgb(colour), [0.2126, 0.7152, 0.0722])


def test_loss_and_gain_differ_in_grey():
    scale = DIFFERENCE(np.linspace(0, 1, 101))[:, :3] @ [0.2126, 0.7152, 0.0722]
    assert (np.diff(scale[:51]) > 0).all()
    assert (np.diff(scale[50:]) < 0).all()
    assert scale[-1] - scale[0] > 0.3
    assert abs(luminance(SMALL_MOTION) - luminance(LARGE_MOTION)) > 0.15


def test_the_users_settings_come_back():
    with mpl.rc_context({"font.size": 3.5}):
        with house_style():
            assert mpl.rcParams["font.size"] == 9
        assert mpl.rcParams["font.size"] == 3.5


def test_the_same_figure_gives_the_same_bytes(tmp_path):
    first = save_figure(plot_motion_effects(effects_of()), tmp_path / "a", dpi=60)
    second = save_figure(plot_motion_effects(effects_of()), tmp_path / "b", dpi=60)
    assert [path.suffix for path in first] == [".png", ".pdf"]
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
