"""The slider's matrices survive packing, and fit into the page."""

import base64
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from report.variants import as_weights, changed, with_many_regions, with_region_columns
from stillome.cohort.edges import edge_indices
from stillome.plot.region_order import region_order
from stillome.report.slider_data import _packed, slider_data


def unpacked(data):
    n_regions = len(data["regions"]["names"])
    shape = (len(data["keys"]), len(data["references"]) + 1, n_regions * (n_regions - 1) // 2)
    packed = np.frombuffer(base64.b64decode(data["packed"]), dtype="<u2").reshape(shape)
    return (packed / 65535.0) ** 2 * data["largest"]


def test_the_page_holds_the_matrices_of_the_run(folder):
    data = slider_data(folder, with_subjects=True)
    order = region_order(folder.cohort.regions)
    rows, columns = edge_indices(len(order))
    found, slider = unpacked(data), folder.slider
    error = data["largest"] / 65535
    expected = slider.matrices[:, :, order[rows], order[columns]]
    np.testing.assert_allclose(found[:, 1:], expected, atol=error)
    expected = slider.observed[:, order[rows], order[columns]]
    np.testing.assert_allclose(found[:, 0], expected, atol=error)
    totals = np.array(data["totals"])[:, 0]
    np.testing.assert_allclose(totals, expected.sum(axis=1, dtype=float), atol=1e-3)


@settings(max_examples=50, deadline=None)
@given(arrays.arrays(np.float32, 12, elements=st.floats(0, 1e6, width=32)))
def test_packing_loses_little(values):
    largest = float(values.max()) or 1.0
    packed = np.frombuffer(base64.b64decode(_packed(values, largest)), dtype="<u2")
    found = (packed / 65535.0) ** 2 * largest
    np.testing.assert_allclose(found, values, atol=largest / 65535 * 1.01)
    assert ((packed == 0) >= (values == 0)).all()


def test_a_fine_atlas_still_fits(folder):
    data = slider_data(with_many_regions(folder))
    assert len(data["packed"]) < 9e6
    assert data["references"][0] == folder.slider.references[0].round(6)
    assert data["references"][-1] == folder.slider.references[-1].round(6)
    assert data["keys"] == list(folder.slider.keys[:4])


def test_what_does_not_fit_is_counted(folder):
    n_edges = folder.cohort.n_regions * (folder.cohort.n_regions - 1) // 2
    data = slider_data(folder, with_subjects=True, budget=2 * n_edges * 6 * 6)
    assert len(data["references"]) == 5
    assert len(data["keys"]) + data["leftOut"] == len(folder.slider.keys)
    assert len(data["keys"]) == 6
    assert data["keys"][:4] == list(folder.slider.keys[:4])


def test_the_slider_reaches_the_largest_motion(folder):
    largest = folder.cohort.motion[folder.measure].max()
    assert slider_data(folder)["references"][-1] == pytest.approx(largest, abs=1e-6)


@pytest.mark.parametrize(
    ("columns", "places", "lobes"),
    [
        (["name"], False, False),
        (["name", "x", "y", "z"], True, False),
        (["name", "lobe"], False, True),
    ],
)
def test_unknown_places_and_lobes_are_none(folder, columns, places, lobes):
    regions = slider_data(with_region_columns(folder, columns))["regions"]
    assert (regions["places"] is not None, regions["lobe"] is not None) == (places, lobes)


def test_places_in_voxels_have_no_outline(folder):
    table = folder.cohort.regions.assign(x=lambda t: t["x"] + 200)
    moved = changed(folder, cohort=replace(folder.cohort, regions=table))
    assert slider_data(folder)["regions"]["mni"]
    assert not slider_data(moved)["regions"]["mni"]


def test_small_weights_keep_their_digits(folder):
    data = slider_data(as_weights(folder))
    assert not data["whole"]
    found = unpacked(data)
    assert 0 < found[found > 0].min() < 0.02


def test_without_a_slider_there_is_none(folder):
    assert slider_data(changed(folder, slider=None)) is None
