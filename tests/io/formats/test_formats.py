"""One contract over every format: the same subjects, regions and counts come out of each."""

import warnings
from pathlib import Path

import numpy as np
import pytest

from connectome_files import IDS, LENGTHS, NAMES, SAMPLES, TRUE_LENGTHS, TRUTH
from stillome.exceptions import StillomeWarning
from stillome.io.connectome_data import ConnectomeData
from stillome.io.connectomes import read_connectomes
from stillome.io.write import write_connectomes

NUMBERED = {
    "uk_biobank": [f"100000{i}" for i in range(4)],
    "zarr_stack": ["101", "102", "103", "104"],
}
NUMBERED["zarr3_stack"] = NUMBERED["zarr_stack"]


def read(name: str, path: Path, **arguments: object) -> ConnectomeData:
    with warnings.catch_warnings():
        if name == "dipy":  # says that the background was left out
            warnings.simplefilter("ignore", StillomeWarning)
        return read_connectomes(path, **{**SAMPLES[name].arguments, **arguments})


@pytest.mark.parametrize("name", SAMPLES)
def test_every_format_gives_the_same_connectomes(name: str, tmp_path: Path) -> None:
    sample = SAMPLES[name]
    data = read(name, sample.make(tmp_path))
    assert data.source.producer == sample.producer
    assert list(data.subject_ids) == NUMBERED.get(name, list(IDS))
    matrices = np.asarray(data.connectomes)
    if sample.named:
        order = [list(data.regions["name"]).index(region) for region in NAMES]
        matrices = matrices[:, order][:, :, order]
    assert matrices.dtype.kind in "iuf"
    np.testing.assert_array_equal(matrices, TRUTH)
    assert data.n_regions == len(NAMES) == len(data.regions)


@pytest.mark.parametrize("name", [name for name, sample in SAMPLES.items() if sample.lengths])
def test_lengths_are_found_beside_the_counts(name: str, tmp_path: Path) -> None:
    data = read(name, SAMPLES[name].make(tmp_path))
    known = (TRUE_LENGTHS > 0).sum(0)
    expected = np.divide(TRUE_LENGTHS.sum(0), known, out=np.zeros((6, 6)), where=known > 0)
    assert data.lengths is not None
    np.testing.assert_allclose(data.lengths, expected)


def test_a_stack_may_hold_one_matrix_of_lengths(tmp_path: Path) -> None:
    data = read("npz_stack", SAMPLES["npz_stack"].make(tmp_path))
    assert data.lengths is not None
    np.testing.assert_allclose(data.lengths[0, 1], LENGTHS.mean(0)[0, 1])


@pytest.mark.parametrize("name", [name for name in SAMPLES if name != "wide_numbered"])
def test_what_was_read_can_be_written_and_read_again(name: str, tmp_path: Path) -> None:
    sample = SAMPLES[name]
    source, out = tmp_path / "in", tmp_path / "out"
    source.mkdir()
    data = read(name, sample.make(source))
    adjusted = np.asarray(data.connectomes, dtype=float) * 0.75
    write_connectomes(out, data, adjusted, random_state=3)
    place = out / Path(data.source.files[0]).name
    found = read(
        name, place if place.exists() and len(data.source.files) == 1 else out, measure=data.measure
    )
    assert found.source.producer == sample.producer
    assert found.subject_ids == data.subject_ids
    order = [list(found.regions["name"]).index(region) for region in data.regions["name"]]
    matrices = np.asarray(found.connectomes)[:, order][:, :, order]
    np.testing.assert_array_equal(matrices, adjusted)


@pytest.mark.parametrize("name", ["mrtrix", "hdf5_stack", "edge_list"])
def test_any_source_can_be_written_as_bids(name: str, tmp_path: Path) -> None:
    source = tmp_path / "in"
    source.mkdir()
    data = read(name, SAMPLES[name].make(source))
    write_connectomes(tmp_path / "bids", data, np.asarray(data.connectomes) * 0.5, form="relmat")
    found = read_connectomes(tmp_path / "bids")
    assert found.source.producer == "BIDS relmat"
    assert found.subject_ids == data.subject_ids
    assert list(found.regions["name"]) == list(data.regions["name"])
    np.testing.assert_array_equal(found.connectomes, np.asarray(data.connectomes) * 0.5)
