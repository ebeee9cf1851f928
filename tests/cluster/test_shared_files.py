"""Files that workers open by their path: small to send, removed by whoever made them."""

import pickle
import signal
import subprocess
import sys

import h5py
import numpy as np
import pytest
import zarr
from numpy.testing import assert_array_equal

from stillome.cluster.shared_files import SharedFile, _sweep_once, written
from stillome.cohort.reopening import by_path
from stillome.counts.block_plan import BlockPlan
from stillome.counts.edge_tables import EdgeTable
from stillome.exceptions import FileError

COUNTS = np.random.default_rng(0).poisson(5, (500, 45)).astype(np.uint16)


def test_a_stored_table_is_sent_as_a_path_and_stays_when_a_copy_goes(shared):
    plan = BlockPlan(4, shared=True)
    table = EdgeTable.of_blocks(COUNTS.shape, lambda edges: COUNTS[:, edges], plan).stored(
        np.uint16
    )
    sent = pickle.dumps(table.store)
    assert len(sent) < 2000 < COUNTS.nbytes
    copy = pickle.loads(sent)
    assert_array_equal(copy.read_rows(slice(0, 500)), COUNTS)
    copy.write(2, COUNTS[:, 8:12])  # a task that runs again writes the same
    del copy
    assert_array_equal(table.array(), COUNTS)
    del table
    assert list(shared.iterdir()) == []


def test_a_file_that_a_worker_does_not_see_is_said_with_what_to_do(shared):
    store = BlockPlan(4, shared=True).store(COUNTS.shape, np.uint16)
    copy = pickle.loads(pickle.dumps(store))
    del store
    with pytest.raises(FileError, match="Set TMPDIR to a folder that all workers see"):
        copy.read(0)


def test_a_file_that_is_written_twice_at_a_time_is_always_whole(shared):
    file = SharedFile()
    with written(file.path) as first, written(file.path) as second:
        first.write(b"a")
        second.write(b"the same counts")
        assert not file.path.exists()
    assert file.path.read_bytes() == b"a"
    assert list(file.path.parent.iterdir()) == [file.path]


def of_npy(folder):
    np.save(folder / "a.npy", COUNTS)
    return np.load(folder / "a.npy", mmap_mode="r")


def of_hdf5(folder):
    with h5py.File(folder / "b.h5", "w") as file:
        file.create_dataset("group/counts", data=COUNTS)
    return h5py.File(folder / "b.h5", "r")["group/counts"]


def of_zarr(folder):
    group = zarr.open_group(str(folder / "c.zarr"), mode="w")
    return group.create_array("counts", data=COUNTS)


def of_changed_copy(folder):
    np.save(folder / "d.npy", np.zeros_like(COUNTS))
    mapped = np.load(folder / "d.npy", mmap_mode="c")
    mapped[:] = COUNTS  # in memory only
    return mapped


SOURCES = {
    "npy": of_npy,
    "every second edge of npy": lambda folder: of_npy(folder)[:, ::2],
    "some subjects of npy": lambda folder: of_npy(folder)[30:400][5:],
    "hdf5": of_hdf5,
    "zarr": of_zarr,
    "array": lambda folder: COUNTS,
    "memory map with changes": of_changed_copy,
}


@pytest.mark.parametrize("kind", SOURCES)
def test_connectomes_are_sent_as_a_path_wherever_they_are(kind, shared, tmp_path):
    source = SOURCES[kind](tmp_path)
    expected = np.asarray(source[:])
    opened = by_path(source)
    copied = kind in ("array", "every second edge of npy", "memory map with changes")
    assert len(list(shared.iterdir())) == copied
    sent = pickle.dumps(opened)
    assert len(sent) < 2000
    copy = pickle.loads(sent)
    assert copy.shape == expected.shape
    assert_array_equal(copy[:], expected)
    assert_array_equal(copy[7:20], expected[7:20])
    assert copy[:].dtype == expected.dtype


def test_what_a_killed_process_left_is_removed_by_the_next(shared):
    program = """
import os, signal, tempfile
from stillome.cluster.shared_files import SharedFile
file = SharedFile()
file.path.write_text("counts")
os.kill(os.getpid(), signal.SIGKILL)
"""
    environment = {"TMPDIR": str(shared), "PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run([sys.executable, "-c", program], env=environment, check=False)
    assert done.returncode == -signal.SIGKILL
    assert len(list(shared.iterdir())) == 1
    _sweep_once.cache_clear()
    mine = SharedFile()
    assert list(shared.iterdir()) == [mine.path.parent]
