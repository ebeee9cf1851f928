"""Cohorts whose connectomes stay in their store."""

import numpy as np
import pandas as pd
import pytest
import zarr

from stillome import Cohort, InvFA
from stillome.cohort.edges import edges_to_matrices
from stillome.exceptions import StillomeError
from stillome.io import read_cohort
from stillome.io.edge_store import convert_connectomes
from stillome.io.lazy_stack import LazyStack

N, N_REGIONS = 80, 12


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """A store as `stillome convert` writes it, and motion of most of its subjects."""
    folder = tmp_path_factory.mktemp("study")
    rng = np.random.default_rng(0)
    motion = rng.gamma(2.0, 0.2, N)
    people = rng.standard_normal((N, 2)) @ rng.normal(0, 0.4, (2, 66))
    rate = np.exp(rng.normal(3.0, 1.0, 66) + people - 0.4 * motion[:, None])
    counts = edges_to_matrices(rng.poisson(rate).astype(np.uint16))
    ids = [f"{i:03d}" for i in range(N)]
    np.savez(folder / "counts.npz", connectomes=counts, subject_ids=np.array(ids))
    convert_connectomes(folder / "counts.npz", folder / "cohort.zarr")
    table = pd.DataFrame({"rms_mm": motion}, index=ids).drop(index=["003", "050"])
    return folder, counts, table


@pytest.fixture
def lazily(monkeypatch):
    monkeypatch.setattr("stillome.io.one_stack.LAZY_BYTES", 0)


def read(folder, table):
    with pytest.warns(match="2 subjects lack motion"):
        return read_cohort(folder / "cohort.zarr", motion=table)


def test_a_cohort_keeps_connectomes_in_their_store(study, lazily, monkeypatch):
    folder, counts, table = study
    cohort = read(folder, table)
    assert isinstance(cohort.connectomes, LazyStack)
    kept = np.delete(counts, [3, 50], axis=0)
    assert cohort.connectomes.shape == kept.shape
    monkeypatch.setattr("stillome.cohort.stored_matrices._PART_VALUES", 7 * N_REGIONS**2)
    np.testing.assert_allclose(cohort.edge_means(), kept.mean(axis=0))
    np.testing.assert_allclose(cohort.edge_means([0, 5]), kept[[0, 5]].mean(axis=0))
    some = cohort.select([7, 2])
    assert isinstance(some.connectomes, LazyStack)
    np.testing.assert_array_equal(np.asarray(some.connectomes), kept[[7, 2]])
    assert cohort.X.shape == (N - 2, 66)


def test_fits_and_saved_cohorts_are_those_of_memory(study, monkeypatch, tmp_path):
    folder, _, table = study
    in_memory = read(folder, table)
    assert isinstance(in_memory.connectomes, np.ndarray)
    monkeypatch.setattr("stillome.io.one_stack.LAZY_BYTES", 0)
    lazy = read(folder, table)
    fits = [InvFA(3).fit(c.X, confounds=c.confounds()) for c in (in_memory, lazy)]
    answers = [
        m.adjust(c.connectomes, confounds=c.confounds())
        for m, c in zip(fits, (in_memory, lazy), strict=True)
    ]
    np.testing.assert_array_equal(*answers)
    for cohort, name in ((in_memory, "one"), (lazy, "two")):
        cohort.save(tmp_path / name)
    one, two = (Cohort.load(tmp_path / name) for name in ("one", "two"))
    np.testing.assert_array_equal(one.connectomes, two.connectomes)
    assert one.connectomes.dtype == two.connectomes.dtype == np.uint16


def test_other_stores_are_taken_too(study):
    _, counts, _ = study
    store = zarr.create_array({}, shape=counts.shape, dtype="u2", chunks=(20, 12, 12))
    store[:] = counts
    cohort = Cohort([f"s{i}" for i in range(N)], store)
    assert cohort.connectomes is store
    np.testing.assert_array_equal(cohort.select(["s7", "s2"]).connectomes, counts[[7, 2]])


def test_a_chunk_that_cannot_be_read_is_one_sentence(study, lazily, tmp_path):
    folder, _, table = study
    convert_connectomes(folder / "counts.npz", tmp_path / "cohort.zarr")
    chunk = tmp_path / "cohort.zarr" / "connectomes" / "0.0"
    chunk.write_bytes(chunk.read_bytes()[:20])
    with pytest.raises(StillomeError, match=r"cohort\.zarr.*damaged zarr chunk") as caught:
        read_cohort(tmp_path / "cohort.zarr", motion=table)
    assert "\n" not in str(caught.value)
