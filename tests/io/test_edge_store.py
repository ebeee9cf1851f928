"""`convert`: one store of edge vectors, in the dtype of the input; stopped, it goes on."""

import h5py
import numpy as np
import pytest
import zarr
from numpy.testing import assert_array_equal

from moving_people import MovingPeople
from stillome import InvFA
from stillome.cli import main
from stillome.cohort.edges import edges_to_matrices
from stillome.exceptions import FileError
from stillome.io.connectomes import read_connectomes
from stillome.io.edge_store import convert_connectomes

PEOPLE = MovingPeople(40)
IDS = [f"{number:03d}" for number in range(40)]


class StoppedError(Exception):
    pass


@pytest.fixture
def stack(tmp_path):
    path = tmp_path / "stack.h5"
    with h5py.File(path, "w") as file:
        file["connectomes"] = edges_to_matrices(PEOPLE.X.astype(np.uint16))
        file["subject_ids"] = [one.encode() for one in IDS]
    return path


@pytest.fixture
def few_at_a_time(monkeypatch):
    monkeypatch.setattr("stillome.io.edge_store._CHUNK_BYTES", 2 * PEOPLE.X.shape[1] * 7)


def test_the_store_holds_the_edges_ids_and_regions(stack, tmp_path, few_at_a_time):
    seen = []
    out = convert_connectomes(stack, tmp_path / "c.zarr", progress=lambda *part: seen.append(part))
    stored = zarr.open_array(str(out / "connectomes"), mode="r")
    assert_array_equal(stored[:], PEOPLE.X)
    assert stored.dtype == np.uint16 and stored.chunks == (7, PEOPLE.X.shape[1])
    assert seen[0] == (7, 40) and seen[-1] == (40, 40)
    again = read_connectomes(out)  # the store says in which order its edges are
    assert list(again.subject_ids) == IDS
    assert_array_equal(again.connectomes, edges_to_matrices(PEOPLE.X))
    assert sorted(one.name for one in tmp_path.iterdir()) == ["c.zarr", "stack.h5"]


def test_a_fit_reads_from_the_store(stack, tmp_path):
    out = convert_connectomes(stack, tmp_path / "c.zarr")
    stored = zarr.open_array(str(out / "connectomes"), mode="r")
    model = InvFA(3).fit(stored, confounds=PEOPLE.motion)
    expected = InvFA(3).fit(PEOPLE.X, confounds=PEOPLE.motion)
    assert_array_equal(model.model_.effect.slopes, expected.model_.effect.slopes)


def test_stopped_it_goes_on_where_it_was(stack, tmp_path, few_at_a_time):
    def stop(done, total):
        if done > 20:
            raise StoppedError

    with pytest.raises(StoppedError):
        convert_connectomes(stack, tmp_path / "c.zarr", progress=stop)
    assert not (tmp_path / "c.zarr").exists()
    seen = []
    out = convert_connectomes(stack, tmp_path / "c.zarr", progress=lambda *part: seen.append(part))
    assert seen[0] == (28, 40)
    assert_array_equal(zarr.open_array(str(out / "connectomes"), mode="r")[:], PEOPLE.X)


def test_it_does_not_go_on_with_other_connectomes(stack, tmp_path, few_at_a_time):
    def stop(done, total):
        raise StoppedError

    with pytest.raises(StoppedError):
        convert_connectomes(stack, tmp_path / "c.zarr", progress=stop)
    with h5py.File(stack, "a") as file:
        file["connectomes"][3] = 2 * file["connectomes"][3]
    with pytest.raises(FileError, match=r"c.zarr.part: was begun with other connectomes"):
        convert_connectomes(stack, tmp_path / "c.zarr")


def test_nothing_is_overwritten(stack, tmp_path):
    (tmp_path / "mine.zarr").mkdir()
    with pytest.raises(FileError, match=r"mine.zarr: is there already"):
        convert_connectomes(stack, tmp_path / "mine.zarr")


def test_the_command(stack, tmp_path, capsys):
    assert main(["convert", str(stack), "--out", str(tmp_path / "c.zarr"), "--quiet"]) == 0
    assert capsys.readouterr().out.strip() == str(tmp_path / "c.zarr")
    assert main(["convert", str(stack), "--out", str(tmp_path / "c.zarr"), "--quiet"]) == 2
    assert "is there already" in capsys.readouterr().err
