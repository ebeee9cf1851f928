"""Fits on a Dask cluster: the bits of a fit on threads, whatever happens to the workers."""

import os
import signal
import threading
import time

import h5py
import numpy as np
import pytest
import zarr
from dask.distributed import Client, LocalCluster
from numpy.testing import assert_array_equal

from moving_people import MovingPeople
from stillome import InvFA
from stillome.cohort.edges import edges_to_matrices
from stillome.cohort.subject_rows import SubjectRows
from stillome.counts.block_plan import BlockPlan
from stillome.counts.edge_tables import EdgeTable
from stillome.exceptions import FileError
from stillome.methods.inv_fa.by_subjects import by_subjects
from stillome.methods.inv_fa.imputing import imputed

PEOPLE = MovingPeople(60)
X, MOTION = PEOPLE.X, PEOPLE.motion
MEMORY = 700_000  # bytes: a few blocks of edges
pytestmark = pytest.mark.filterwarnings("ignore::stillome.exceptions.StillomeWarning")


def fitted(values=X):
    return InvFA(4, memory=MEMORY).fit(values, MOTION, confounds=MOTION)


def answers(model, values):
    bounds = model.adjust(values, confounds=MOTION, interval=0.9)
    return (
        model.transform(values, confounds=MOTION),
        model.predict(values, confounds=MOTION),
        model.reconstruct(values, confounds=MOTION),
        *model.infer_confounds(values),
        *bounds,
    )


def assert_same_model(found, expected):
    assert found.training_hash_ == expected.training_hash_
    one, other = found.stored().state.arrays, expected.stored().state.arrays
    assert one.keys() == other.keys()
    for name in one:
        assert_array_equal(one[name], other[name], err_msg=name)


@pytest.fixture(scope="module")
def model():
    assert len(BlockPlan.of(X.shape, MEMORY).blocks(X.shape[1])) == 3
    return fitted()


@pytest.fixture
def small_blocks(monkeypatch):
    """Answers for a few subjects at a time."""
    monkeypatch.setattr("stillome.methods.inv_fa.ordered_table._ELEMENTS", 10 * X.shape[1])


def of_threads(n):
    """A cluster of workers in this process, which starts and answers quickly."""
    return LocalCluster(n_workers=n, threads_per_worker=1, processes=False, dashboard_address=":0")


def test_a_fit_on_two_workers_has_the_bits_of_one_on_threads(model, shared):
    with of_threads(2) as cluster, Client(cluster):
        assert_same_model(fitted(), model)
    assert list(shared.glob(".stillome-*")) == []


def test_so_has_a_fit_to_weights_on_one_worker(shared):
    weights = X * 0.37 * (1 + 0.01 * PEOPLE.people[:, :1])
    here = fitted(weights)
    with of_threads(1) as cluster, Client(cluster):
        assert_same_model(fitted(weights), here)


def test_a_worker_that_is_killed_in_the_middle_changes_nothing(client, model, shared):
    seen, over = set(), threading.Event()
    pids = client.run(os.getpid)
    victim, killed = next(iter(pids.values())), []

    def kill():
        while len(seen) < 20 and not over.is_set():  # every pass over blocks has a file of its own
            seen.update(shared.iterdir())
            time.sleep(0.002)
        if not over.is_set():
            os.kill(victim, signal.SIGKILL)
            killed.append(victim)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        found = fitted()
    finally:
        over.set()
        killer.join()
    assert killed == [victim]
    assert victim not in client.run(os.getpid).values()
    assert_same_model(found, model)


def test_counts_drawn_in_place_of_zeros_are_the_same(client, model, small_blocks):
    drawn = []
    for plan in (BlockPlan(22), BlockPlan(22, shared=True)):
        table = EdgeTable.of_blocks(X.shape, lambda edges: X[:, edges], plan).stored(X.dtype)
        latent, floors = np.zeros((60, 4)), np.full((60, 1), 3.0)
        found = imputed(table, model.model_, latent, MOTION[:, None], floors, 1)
        drawn.append(found.subjects(slice(0, 60)))
    assert_array_equal(*drawn)
    assert (drawn[0] != X).any()


def in_zarr(path):
    return zarr.create_array(str(path), data=X, chunks=(7, 9))


def in_hdf5(path):
    with h5py.File(path, "w") as file:
        file["connectomes"] = X
    return h5py.File(path, "r")["connectomes"]


def in_npy(path):
    np.save(path, X)
    return np.load(f"{path}.npy", mmap_mode="r")


STORES = {
    "array": lambda path: X,
    "matrices": lambda path: edges_to_matrices(X),
    "zarr": in_zarr,
    "zarr in memory": lambda path: zarr.array(X, chunks=(7, 9)),
    "hdf5": in_hdf5,
    "npy": in_npy,
}


@pytest.mark.parametrize("kind", STORES)
def test_answers_on_a_cluster_have_the_bits_of_those_on_threads(
    kind, model, shared, small_blocks, cluster, tmp_path
):
    values = STORES[kind](tmp_path / "values")
    here = answers(model, values)
    with Client(cluster):
        there = answers(model, values)
    for found, expected in zip(there, here, strict=True):
        assert_array_equal(found, expected)
        assert found.dtype == expected.dtype
    assert list(shared.iterdir()) == []


def test_a_chunk_that_a_worker_cannot_read_is_named(client, small_blocks, tmp_path):
    rows = SubjectRows(in_zarr(tmp_path / "values"))
    (tmp_path / "values" / "c" / "3" / "0").write_bytes(b"no chunk")
    with pytest.raises(FileError, match=r"X: subjects 20 to 29 cannot be read .* damaged"):
        by_subjects(rows, lambda place, edges: edges.sum(axis=1))
