"""Stacks larger than memory: opened, looked at and sliced where they stand."""

import time
from pathlib import Path

import h5py
import numpy as np
import pytest
import zarr

from connectome_files import COUNTS, IDS, SAMPLES, TRUTH
from stillome.exceptions import FileError, InputError
from stillome.io.clean import Cleaner
from stillome.io.connectomes import read_connectomes
from stillome.io.inspection import inspect_path
from stillome.io.lazy_stack import LazyStack

HUGE = (100_000, 400, 400)


def huge_npy(path: Path) -> Path:
    """A file of 128 GB in name, of a few kilobytes on disk."""
    with path.open("wb") as stream:
        header = {"descr": "<f8", "fortran_order": False, "shape": HUGE}
        np.lib.format.write_array_header_1_0(stream, header)
        start = stream.tell()
        stream.truncate(start + 8 * int(np.prod(HUGE)))
        _fill(lambda position, row: (stream.seek(start + position), stream.write(row)))
    return path


def _fill(write: object) -> None:
    """Give the first 64 subjects a ring of fibres; the rest are holes in the file."""
    for subject in range(64):
        for region in range(400):
            row = np.zeros(400)
            row[[(region + 1) % 400, (region - 1) % 400]] = 5 + subject
            write((subject * 400 + region) * 3200, row.tobytes())  # type: ignore[operator]


def ring(subject: int) -> np.ndarray:
    shifted = np.roll(np.eye(400), 1, axis=1)
    return (shifted + shifted.T) * (5 + subject)


def huge_hdf5(path: Path) -> Path:
    with h5py.File(path, "w") as file:
        stack = file.create_dataset("connectomes", HUGE, "f8", chunks=(1, 400, 400))
        for subject in range(64):
            stack[subject] = ring(subject)
        file["subject_ids"] = np.arange(HUGE[0])
    return path


def huge_zarr(path: Path) -> Path:
    group = zarr.open_group(str(path), mode="w", zarr_format=2)
    stack = group.create_array("connectomes", shape=HUGE, dtype="f8", chunks=(1, 400, 400))
    for subject in range(64):
        stack[subject : subject + 1] = ring(subject)[None]
    ids = group.create_array("subject_ids", shape=HUGE[:1], dtype="i8", chunks=HUGE[:1])
    ids[...] = np.arange(HUGE[0])
    return path


@pytest.mark.parametrize("make", [huge_npy, huge_hdf5, huge_zarr])
def test_a_hundred_thousand_subjects_are_opened_without_being_loaded(
    make: object, tmp_path: Path
) -> None:
    path = make(tmp_path / f"huge.{make.__name__.removeprefix('huge_')}")  # type: ignore
    ids = [str(i) for i in range(HUGE[0])]
    started = time.process_time()
    data = read_connectomes(path, subjects=ids)
    assert isinstance(data.connectomes, LazyStack)
    assert data.connectomes.shape == HUGE
    assert data.connectomes.nbytes == 8 * np.prod(HUGE)
    np.testing.assert_array_equal(data.connectomes[3], ring(3))
    np.testing.assert_array_equal(data.connectomes[[5, 1]], [ring(5), ring(1)])
    some = read_connectomes(path, subjects=["7", "2"]) if make is not huge_npy else None
    if some is not None:
        np.testing.assert_array_equal(np.asarray(some.connectomes), [ring(7), ring(2)])
    found = inspect_path(path)
    assert found.facts["regions"] == "400"
    assert found.facts["subjects"].startswith("100000")
    assert found.facts["range"] == "0 to 68 (first 64 subjects)"
    assert time.process_time() - started < 5


def test_a_huge_stack_is_not_turned_into_an_array(tmp_path: Path) -> None:
    path = huge_npy(tmp_path / "huge.npy")
    data = read_connectomes(path, subjects=[str(i) for i in range(HUGE[0])])
    with pytest.raises(ValueError, match="copied into memory"):
        np.array(data.connectomes, copy=False)


@pytest.mark.parametrize("name", ["npz_stack", "hdf5_stack", "zarr_stack", "netcdf_stack"])
def test_lazy_and_loaded_are_the_same(name: str, tmp_path: Path) -> None:
    path = SAMPLES[name].make(tmp_path)
    lazy = read_connectomes(path, lazy=True).connectomes
    assert isinstance(lazy, LazyStack)
    loaded = read_connectomes(path, lazy=False).connectomes
    assert isinstance(loaded, np.ndarray)
    assert lazy.dtype == loaded.dtype
    np.testing.assert_array_equal(np.asarray(lazy), loaded)
    np.testing.assert_array_equal(lazy[1:3], loaded[1:3])
    np.testing.assert_array_equal(lazy[np.array([True, False, False, True])], loaded[[0, 3]])
    np.testing.assert_array_equal(lazy.select(np.array([3, 0]))[:], loaded[[3, 0]])
    np.testing.assert_array_equal(np.asarray(lazy, dtype=np.float32), loaded.astype(np.float32))


def test_slices_are_judged_when_they_are_read(tmp_path: Path) -> None:
    counts = np.concatenate([COUNTS] * 5)
    counts[15, 1, 2] = -4
    np.save(tmp_path / "x.npy", counts)
    ids = [f"s{i}" for i in range(20)]
    data = read_connectomes(tmp_path / "x.npy", subjects=ids, lazy=True)
    np.testing.assert_array_equal(data.connectomes[:4], TRUTH)
    with pytest.raises(FileError, match=r"\(s15\): negative or NaN at \(1,2\)"):
        data.connectomes[14:17]


def test_a_stack_is_indexed_by_subject_only() -> None:
    stack = LazyStack(COUNTS, 0, Cleaner(str))
    with pytest.raises(InputError, match="by subject only"):
        stack[np.zeros((2, 2), dtype=int)]


def test_hdf5_does_not_follow_links_to_other_files(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "secret.h5", "w") as file:
        file["connectomes"] = COUNTS
    with h5py.File(tmp_path / "link.h5", "w") as file:
        file["connectomes"] = h5py.ExternalLink("secret.h5", "connectomes")
    with pytest.raises(FileError, match="no connectomes"):
        read_connectomes(tmp_path / "link.h5", subjects=IDS)
    layout = h5py.VirtualLayout(COUNTS.shape, dtype="f8")
    layout[...] = h5py.VirtualSource(tmp_path / "secret.h5", "connectomes", COUNTS.shape)
    with h5py.File(tmp_path / "virtual.h5", "w") as file:
        file.create_virtual_dataset("connectomes", layout)
    with pytest.raises(FileError, match="its values are stored in other files"):
        read_connectomes(tmp_path / "virtual.h5", subjects=IDS)
    with h5py.File(tmp_path / "external.h5", "w") as file:
        stored = [(str(tmp_path / "secret.h5"), 0, 8 * COUNTS.size)]
        file.create_dataset("connectomes", COUNTS.shape, "f8", external=stored)
    with pytest.raises(FileError, match="its values are stored in other files"):
        read_connectomes(tmp_path / "external.h5", subjects=IDS)


@pytest.mark.parametrize(
    "options", [{}, {"chunks": (100,)}, {"chunks": (77,), "compression": "gzip", "shuffle": True}]
)
def test_texts_in_hdf5_are_read_as_h5py_writes_them(options: dict, tmp_path: Path) -> None:
    ids = [f"sub-{i:03d}ü{'x' * (i % 7)}" for i in range(300)]
    counts = np.broadcast_to(TRUTH[0], (300, 6, 6))
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["connectomes"] = counts
        file.create_dataset("subject_ids", data=ids, dtype=h5py.string_dtype(), **options)
    found = read_connectomes(tmp_path / "x.h5").subject_ids
    assert list(found) == [name.removeprefix("sub-") for name in ids]
