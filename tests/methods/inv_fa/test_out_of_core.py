"""Connectomes larger than memory: stores are read in slices, and blocks change no answer."""

import subprocess
import sys

import dask.array
import h5py
import numpy as np
import pytest
import zarr
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from moving_people import MovingPeople
from stillome import InvFA, InvVAE
from stillome.cohort.edges import edges_to_matrices
from stillome.counts.workers import working
from stillome.exceptions import FileError, InputError

PEOPLE = MovingPeople(60)
X, MOTION = PEOPLE.X, PEOPLE.motion
SMALL = 20_000  # bytes: blocks of a single edge, in a file
pytestmark = pytest.mark.filterwarnings("ignore::stillome.exceptions.StillomeWarning")
BOTH = pytest.mark.parametrize(
    "model", [InvFA(4), InvVAE(4, max_epochs=2)], ids=["inv-fa", "inv-vae"]
)


class Read:
    """An array of a store that counts how much of it is read at a time."""

    def __init__(self, values: np.ndarray, chunks: tuple[int, int] = (7, 5)) -> None:
        self.values, self.largest = values, 0
        self.shape, self.dtype, self.chunks = values.shape, values.dtype, chunks
        self.ndim = values.ndim

    def __getitem__(self, rows: slice) -> np.ndarray:
        part = self.values[rows]
        self.largest = max(self.largest, len(part))
        return part


def in_zarr(path, values, version):
    return zarr.create_array(
        str(path), data=values, chunks=(7, *values.shape[1:]), zarr_format=version
    )


def in_hdf5(path, values):
    file = h5py.File(path, "w")
    return file.create_dataset("connectomes", data=values, chunks=(7, *values.shape[1:]))


def in_npy(path, values):
    np.save(path, values)
    return np.load(path, mmap_mode="r")


STORES = {
    "zarr 2": lambda folder, values: in_zarr(folder / "a.zarr", values, 2),
    "zarr 3": lambda folder, values: in_zarr(folder / "b.zarr", values, 3),
    "hdf5": lambda folder, values: in_hdf5(folder / "c.h5", values),
    "npy": lambda folder, values: in_npy(folder / "d.npy", values),
    "dask": lambda folder, values: dask.array.from_array(values, chunks=(9, -1)),
}


@pytest.fixture(scope="module")
def model():
    return InvFA(4).fit(X, PEOPLE.motion, confounds=MOTION)


def answers(model, values):
    return (
        model.transform(values, confounds=MOTION),
        model.adjust(values, confounds=MOTION),
        model.predict(values, confounds=MOTION),
    )


@pytest.mark.parametrize("kind", STORES)
def test_every_store_gives_the_bits_of_an_array(kind, model, tmp_path):
    stored = STORES[kind](tmp_path, X)
    for found, expected in zip(answers(model, stored), answers(model, X), strict=True):
        assert_array_equal(found, expected)
        assert found.dtype == expected.dtype


@pytest.mark.parametrize("kind", ["zarr 3", "hdf5"])
def test_a_fit_to_a_store_has_the_bits_of_a_fit_to_an_array(kind, model, tmp_path):
    stored = STORES[kind](tmp_path, edges_to_matrices(X))
    again = InvFA(4).fit(stored, PEOPLE.motion, confounds=MOTION)
    assert again.training_hash_ == model.training_hash_
    assert_array_equal(again.model_.decoder.loadings, model.model_.decoder.loadings)


def test_narrow_blocks_in_a_file_change_nothing_but_rounding_errors(model):
    small = InvFA(4, memory=SMALL).fit(X, PEOPLE.motion, confounds=MOTION)
    for part in ("slopes", "baseline", "dispersion"):
        expected = getattr(model.model_.effect, part)
        found = getattr(small.model_.effect, part)
        assert_allclose(found, expected, rtol=1e-5, atol=1e-5 * np.abs(expected).max())
    latent, adjusted, _ = answers(small, X)
    expected = answers(model, X)[0]
    assert_allclose(latent, expected, rtol=1e-5, atol=1e-5 * np.abs(expected).max())
    assert (adjusted != answers(model, X)[1]).mean() < 1e-3


def test_one_and_two_workers_give_the_same_bits():
    found = []
    for number in (1, 2):
        with working(number):
            fitted = InvFA(4, memory=SMALL).fit(X, confounds=MOTION)
            found.append((fitted.model_.decoder.loadings, fitted.adjust(X, confounds=MOTION)))
    for one, two in zip(*found, strict=True):
        assert_array_equal(one, two)


class Place:
    """An array of a store that counts how often it is written to."""

    def __init__(self, shape: tuple[int, ...], chunks: tuple[int, ...]) -> None:
        self.values, self.n_times, self.chunks = np.zeros(shape, np.int64), 0, chunks
        self.shape, self.dtype = self.values.shape, self.values.dtype

    def __setitem__(self, rows: slice, values: np.ndarray) -> None:
        self.values[rows] = values
        self.n_times += 1


@pytest.mark.parametrize("most, n_times", [(10**9, 3), (15, 5), (1, 10)])
def test_chunks_are_read_and_written_as_a_whole_where_memory_allows(
    monkeypatch, model, most, n_times
):
    # Two subjects are computed at a time, of chunks of 8; a third chunk is not full.
    monkeypatch.setattr("stillome.methods.inv_fa.by_subjects._BANDS", 1)
    monkeypatch.setattr("stillome.methods.inv_fa.ordered_table._ELEMENTS", 2 * X.shape[1])
    monkeypatch.setattr("stillome.cohort.subject_rows._CHUNK_BYTES", 8 * X.shape[1] * most // 3)
    stored, place = Read(X[:20], (8, 5)), Place((20, X.shape[1]), (8, 5))
    model.adjust(stored, confounds=MOTION[:20], out=place)
    assert place.n_times == n_times
    assert_array_equal(place.values, model.adjust(X[:20], confounds=MOTION[:20]))


@BOTH
def test_a_store_is_never_read_whole(monkeypatch, model):
    monkeypatch.setattr("stillome.cohort.subject_rows._PART_BYTES", 8 * X.shape[1] * 10)
    monkeypatch.setattr("stillome.cohort.validation.connectome_checks._SLICE_BYTES", X[:10].nbytes)
    monkeypatch.setattr("stillome.methods.inv_fa.ordered_table._ELEMENTS", 10 * X.shape[1])
    stored = Read(X)
    fitted = clone(model).fit(stored, confounds=MOTION)
    answers_of_store = fitted.adjust(stored, confounds=MOTION)
    assert stored.largest == 10
    assert_array_equal(answers_of_store, fitted.adjust(X, confounds=MOTION))


def test_adjusted_connectomes_are_written_as_they_are_made(model, tmp_path):
    out = zarr.create_array(str(tmp_path / "out.zarr"), shape=X.shape, dtype=X.dtype, chunks=(7, 9))
    assert model.adjust(X, confounds=MOTION, out=out) is out
    assert_array_equal(out[:], model.adjust(X, confounds=MOTION))
    with pytest.raises(InputError, match="leave out n_draws"):
        model.adjust(X, confounds=MOTION, out=out, n_draws=2)


@pytest.mark.parametrize("n", [3, len(X) + 1])
def test_a_place_of_another_shape_is_refused(model, n):
    out = np.full((n, X.shape[1]), -1)
    with pytest.raises(InputError, match=rf"out: its shape is \({n}, .*; the answer has \(60"):
        model.adjust(X, confounds=MOTION, out=out)
    assert (out == -1).all()


def test_a_dtype_that_would_change_counts_is_refused(model):
    with pytest.raises(InputError, match=r"does not fit its dtype int8\. Use a wider one"):
        model.adjust(X, confounds=MOTION, out=np.zeros(X.shape, np.int8))


def test_a_place_that_cannot_be_written_is_told(model):
    out = np.zeros(X.shape)
    out.flags.writeable = False
    with pytest.raises(FileError, match=r"subjects 0 to 59 cannot be written .*read-only"):
        model.adjust(X, confounds=MOTION, out=out)


def test_a_chunk_that_cannot_be_read_is_named(tmp_path):
    stored = in_zarr(tmp_path / "a.zarr", X, 2)
    (tmp_path / "a.zarr" / "2.0").write_bytes(b"no chunk")
    with pytest.raises(FileError, match=r"X: subjects 0 to 59 cannot be read .* damaged"):
        InvFA(4).fit(stored, confounds=MOTION)


@BOTH
def test_a_store_that_changes_under_the_run_is_refused(model):
    class Changing(Read):
        reads = 0

        def __getitem__(self, rows):
            self.reads += 1
            return super().__getitem__(rows) + (self.reads > 5)

    with pytest.raises(FileError, match="changed while it was being read"):
        clone(model).fit(Changing(X), confounds=MOTION)


def test_a_full_disk_is_said_in_one_sentence(tmp_path):
    program = f"""
import resource, warnings
warnings.simplefilter("ignore")
from moving_people import MovingPeople
from stillome import InvFA, InvVAE
people = MovingPeople(60)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
InvFA(4, memory={SMALL}).fit(people.X, confounds=people.motion)
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env={
            "TMPDIR": str(tmp_path),
            "PYTHONPATH": ":".join(sys.path),
            "PYTHONDONTWRITEBYTECODE": "1",  # or they would be cut short, too
        },
        check=False,
    )
    last = done.stderr.strip().splitlines()[-1]
    assert "FileError" in last and str(tmp_path) in last and "Make room there" in last
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("memory", [0, -1, "2GB"])
def test_memory_is_a_number_of_bytes(memory):
    with pytest.raises(InputError, match="expected a number of bytes"):
        InvFA(4, memory=memory).fit(X, confounds=MOTION)
