"""Certificates of cohorts that stay in a store, or are too large for one table."""

import subprocess
import sys
from textwrap import dedent

import dask.array
import h5py
import numpy as np
import pandas as pd
import pytest
import zarr

from stillome.evaluate import leakage_certificate
from stillome.evaluate.leakage import blocked_ridge, folded_rows, large_probes, subject_sample
from stillome.evaluate.leakage.drawn_orders import DrawnOrders
from stillome.evaluate.leakage.folded_rows import FoldedRows
from stillome.evaluate.leakage.large_views import LargeView, StandardisedView
from stillome.evaluate.leakage.probe_data import prepare_probes
from stillome.evaluate.leakage.probes import probe_ridge
from stillome.exceptions import FileError, InputError

N, N_EDGES = 150, 66


@pytest.fixture(scope="module")
def cohort():
    rng = np.random.default_rng(0)
    motion = rng.gamma(2.0, 0.2, N)
    rate = np.exp(rng.normal(1.0, 1.5, N_EDGES) - 0.4 * motion[:, None])
    return rng.poisson(rate * rng.gamma(5, 0.2, rate.shape)).astype(np.uint16), motion


def in_store(kind, counts, folder):
    if kind == "zarr":
        store = zarr.create_array(str(folder / "X.zarr"), shape=counts.shape, dtype="u2")
        store[:] = counts
        return zarr.open_array(str(folder / "X.zarr"), mode="r")
    if kind == "hdf5":
        with h5py.File(folder / "X.h5", "w") as file:
            file.create_dataset("X", data=counts, chunks=(40, N_EDGES))
        return h5py.File(folder / "X.h5", "r")["X"]
    if kind == "memory map":
        np.save(folder / "X.npy", counts)
        return np.load(folder / "X.npy", mmap_mode="r")
    return dask.array.from_array(counts, chunks=(40, N_EDGES))


@pytest.fixture
def in_parts(monkeypatch):
    """Probe all cohorts as large ones are."""
    monkeypatch.setattr(large_probes, "_MOST_SUBJECTS", 20)
    monkeypatch.setattr("stillome.cohort.subject_rows._PART_BYTES", 8 * N_EDGES * 37)


STORES = ["zarr", "hdf5", "memory map", "dask"]


OPTIONS = {"kind": "counts", "n_permutations": 220}


@pytest.fixture(scope="module")
def of_the_array(cohort):
    return leakage_certificate(*cohort, **OPTIONS).table


@pytest.mark.parametrize("kind", STORES)
def test_the_certificate_of_a_store_is_that_of_the_array(cohort, of_the_array, kind, tmp_path):
    counts, motion = cohort
    found = leakage_certificate(in_store(kind, counts, tmp_path), motion, **OPTIONS)
    pd.testing.assert_frame_equal(found.table, of_the_array)


def test_so_it_is_in_parts(cohort, tmp_path, in_parts):
    counts, motion = cohort
    options = {"kind": "counts", "n_permutations": 5}
    with pytest.warns(match="too few"):
        whole = leakage_certificate(counts, motion, **options).table
    for kind in STORES:
        with pytest.warns(match="too few"):
            found = leakage_certificate(in_store(kind, counts, tmp_path), motion, **options)
        pd.testing.assert_frame_equal(found.table, whole)


@pytest.mark.parametrize("most_square", [20, 3000])
@pytest.mark.parametrize("with_nuisance", [False, True])
def test_parts_find_what_one_table_finds(cohort, in_parts, monkeypatch, most_square, with_nuisance):
    """The ridge regressions and intervals; the folds of the sample are others."""
    monkeypatch.setattr(folded_rows, "MOST_SQUARE", max(most_square, N_EDGES))
    monkeypatch.setattr("stillome.evaluate.leakage.large_jobs.MOST_SQUARE", most_square)
    counts, motion = cohort
    rng = np.random.default_rng(1)
    options = {"kind": "counts", "within": np.arange(N) % 2, "n_permutations": 1}
    if with_nuisance:
        options["nuisance"] = np.column_stack([rng.normal(size=N), np.arange(N) % 2])
    with pytest.warns(match="too few"):
        parts = leakage_certificate(counts, motion, **options).table
    monkeypatch.setattr(large_probes, "_MOST_SUBJECTS", 5000)
    with pytest.warns(match="too few"):
        whole = leakage_certificate(counts, motion, **options).table
    assert list(parts.index) == list(whole.index)
    ridges = [name for name in whole.index if name.endswith("ridge")]
    assert len(ridges) == 5
    np.testing.assert_allclose(parts.loc[ridges, "r2"], whole.loc[ridges, "r2"], atol=1e-6)
    assert (parts["n_features"] == whole["n_features"]).all()
    assert (parts["n_subjects"] == N).all()


def test_permuted_scores_from_sums_are_those_of_the_kernel(cohort):
    counts, motion = cohort
    confounds = np.column_stack([motion, np.arange(N) % 2])
    data = prepare_probes(counts, confounds, "counts", None, None, 5, np.random.default_rng(0))
    orders = DrawnOrders(data.groups, 30, seed=3)
    rows = FoldedRows(
        StandardisedView(LargeView.of_table(np.log1p(counts)), data.blocks, None), data.blocks, 0
    )
    blocked = blocked_ridge.probe_ridge_in_blocks(rows, data.confounds, orders, data.two_valued)
    drawn = np.concatenate(list(orders)[1:])
    whole = probe_ridge(data.features, data.confounds, data.blocks, drawn, data.two_valued)
    np.testing.assert_allclose(blocked.scores, whole.scores, atol=1e-6)
    np.testing.assert_allclose(blocked.predicted, whole.predicted, atol=1e-5)
    assert blocked.auc == pytest.approx(whole.auc, abs=1e-3)


def test_random_sums_still_show_motion(cohort, in_parts, monkeypatch):
    monkeypatch.setattr(folded_rows, "MOST_SQUARE", 30)
    monkeypatch.setattr("stillome.evaluate.leakage.large_jobs.MOST_SQUARE", 30)
    counts, motion = cohort
    found = leakage_certificate(counts, motion, kind="counts", n_permutations=220)
    assert found.table.loc["ridge", "n_features"] == 30
    assert found.table.loc["ridge", "p_holm"] <= 0.05
    rng = np.random.default_rng(2)
    clean = leakage_certificate(counts, rng.permutation(motion), kind="counts", n_permutations=220)
    assert clean.passed


def test_the_sample_is_told_and_does_not_depend_on_the_order(cohort, in_parts, monkeypatch):
    monkeypatch.setattr(subject_sample, "SAMPLE_SUBJECTS", 90)
    monkeypatch.setattr(subject_sample, "SAMPLE_VALUES", 90 * 40)
    counts, motion = cohort
    found = leakage_certificate(counts, motion, kind="counts", n_permutations=220)
    table = found.table
    sampled = ["svr", "trees", "distance correlation", "zeros, trees", "summary, trees"]
    assert (table.loc[sampled, "n_subjects"] == 90).all()
    assert (table.drop(sampled)["n_subjects"] == N).all()
    assert table.loc["trees", "n_features"] == 40
    assert table.loc["ridge", "n_features"] == N_EDGES
    assert found.n_subjects == N
    assert "in a sample of 90 of 150 subjects" in found.sentence()

    def chosen(order):
        view = LargeView.of_table(counts[order].astype(float))
        return set(order[subject_sample.sampled_subjects(view)])

    order = np.random.default_rng(0).permutation(N)
    assert chosen(np.arange(N)) == chosen(order)
    assert len(chosen(order)) == 90


def test_large_cohorts_are_judged_as_small_ones_are(cohort, in_parts):
    counts, motion = cohort
    with pytest.raises(InputError, match="collapsed"):
        leakage_certificate(np.tile(counts[:1], (N, 1)), motion, kind="counts")
    with pytest.raises(InputError, match="linear function of the nuisance"):
        leakage_certificate(motion[:, None], np.arange(N), nuisance=motion)
    with pytest.raises(InputError, match="rows for 150 subjects"):
        leakage_certificate(counts, motion[:-1], kind="counts")


def test_a_store_that_cannot_be_read_further_is_one_sentence(cohort, in_parts, tmp_path):
    counts, motion = cohort
    path = tmp_path / "X.zarr"
    zarr.create_array(str(path), shape=counts.shape, dtype="u2", chunks=(50, N_EDGES))[:] = counts
    chunk = path / "c" / "1" / "0"
    chunk.write_bytes(chunk.read_bytes()[:10])
    with pytest.raises(FileError, match=r"subjects \d+ to \d+ cannot be read"):
        leakage_certificate(zarr.open_array(str(path), mode="r"), motion, kind="counts")


def test_memory_does_not_grow_with_the_cohort(tmp_path):
    """The inner products of 6,000 subjects would take 288 MB."""
    script = dedent("""
        import resource, sys, warnings
        import numpy as np, zarr
        from stillome import leakage_certificate
        from stillome.evaluate.leakage import subject_sample
        subject_sample.SAMPLE_SUBJECTS = 200
        warnings.simplefilter("ignore")
        rng = np.random.default_rng(0)
        motion = rng.gamma(2.0, 0.2, 6000)
        rate = rng.normal(1.0, 1.5, 190)
        X = zarr.create_array(sys.argv[1], shape=(6000, 190), dtype="u2", chunks=(500, 190))
        for start in range(0, 6000, 500):
            X[start:start + 500] = rng.poisson(np.exp(rate), (500, 190))
        leakage_certificate(np.array(X[:300]), motion[:300], kind="counts", n_permutations=5)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        leakage_certificate(X, motion, kind="counts", n_permutations=20)
        print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
    """)
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "X")],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert float(done.stdout) < 150
