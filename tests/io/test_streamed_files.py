"""Folders of files are converted a few subjects at a time, to what loading them would give."""

import json
import logging
import re
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
import zarr
from numpy.testing import assert_array_equal

from connectome_files import COUNTS, IDS, N_REGIONS, NAMES, SAMPLES
from small_study import contents
from stillome.cli import main
from stillome.cohort.edges import matrices_to_edges
from stillome.exceptions import StillomeError
from stillome.io.connectomes import read_connectomes, stream_connectomes
from stillome.io.edge_store import convert_connectomes

FOLDERS = [name for name in SAMPLES if not name.endswith("_stack")]
ABOUT_LENGTHS = re.compile("lengths")  # which a store of edges does not hold


@pytest.fixture
def one_at_a_time(monkeypatch):
    monkeypatch.setattr("stillome.io.edge_store._CHUNK_BYTES", 1)


def said_by(function, *arguments, caplog, **reading):
    """Return what a function answers, its warnings and its notes."""
    caplog.clear()
    with warnings.catch_warnings(record=True) as caught, caplog.at_level(logging.INFO):
        warnings.simplefilter("always")
        answer = function(*arguments, **reading)
    notes = {one.getMessage() for one in caplog.records if one.name == "stillome.io.connectomes"}
    about_counts = {note for note in notes if not ABOUT_LENGTHS.search(note)}
    return answer, [str(one.message) for one in caught], about_counts


def is_the_same(out, data):
    store = zarr.open_group(str(out), mode="r")
    edges = matrices_to_edges(np.asarray(data.connectomes), check=False)
    assert store["connectomes"].dtype == data.connectomes.dtype
    assert store["connectomes"][:].tobytes() == edges.tobytes()
    assert tuple(one.decode() for one in store["subject_ids"][:]) == data.subject_ids
    assert [one.decode() for one in store["regions"][:]] == list(data.regions["name"])


@pytest.mark.parametrize("name", FOLDERS)
def test_the_store_is_what_loading_gives(name, tmp_path, one_at_a_time, caplog):
    (tmp_path / "files").mkdir()
    path, reading = SAMPLES[name].make(tmp_path / "files"), dict(SAMPLES[name].arguments)
    data, *said = said_by(read_connectomes, path, caplog=caplog, **reading)
    out, *streamed = said_by(
        convert_connectomes, path, tmp_path / "c.zarr", caplog=caplog, **reading
    )
    is_the_same(out, data)
    assert streamed == said


def write(folder, matrices):
    folder.mkdir(parents=True, exist_ok=True)
    for i, matrix in enumerate(matrices):
        np.savetxt(folder / f"sub-{i:03d}_connectome.csv", matrix, fmt="%.9g", delimiter=",")
    return folder


def odd_matrices():
    """Matrices with diagonals, in triangles, with empty regions, empty, and with halves."""
    matrices = np.array([COUNTS[i % len(IDS)] for i in range(40)])
    matrices[3] = np.triu(matrices[3])
    matrices[20] = np.tril(matrices[20])
    matrices[7] = 0
    matrices[11, 2] = matrices[11, :, 2] = 0
    matrices[35, 1, 4] = matrices[35, 4, 1] = 2.5
    return matrices


@pytest.mark.parametrize(
    "reading",
    [{}, {"labels": NAMES}, {"labels": NAMES[1:]}, {"subjects": [f"{i:03d}" for i in (35, 11, 2)]}],
    ids=["as they are", "labels", "one row too many", "subjects"],
)
def test_remarks_are_those_on_all_subjects(reading, tmp_path, one_at_a_time, caplog):
    folder = write(tmp_path / "files", odd_matrices())
    data, warned, notes = said_by(read_connectomes, folder, caplog=caplog, **reading)
    out, *streamed = said_by(convert_connectomes, folder, tmp_path / "c", caplog=caplog, **reading)
    is_the_same(out, data)
    if "subjects" not in reading:
        assert streamed == [warned, notes]
        assert any(one.startswith("no fibre at all in 007;") for one in warned)
    else:  # of those who are converted
        assert streamed[0] == ["region 'region-003' has no fibre in 011."]


def test_dtypes_that_differ_are_joined_as_loading_joins_them(tmp_path, one_at_a_time):
    for i, dtype in enumerate(["u1", ">i2", "f4", "?"]):
        np.save(tmp_path / f"sub-{i}_connectome.npy", COUNTS[i].astype(dtype))
    data = read_connectomes(tmp_path)
    assert data.connectomes.dtype == np.float32
    is_the_same(convert_connectomes(tmp_path, tmp_path.with_suffix(".zarr")), data)
    means = read_connectomes(tmp_path, symmetrize="mean")
    out = convert_connectomes(tmp_path, tmp_path.with_suffix(".mean"), symmetrize="mean")
    is_the_same(out, means)


def spoil(path, how):
    if how == "E8, cut off":
        path.write_bytes(b"\x1f\x8b\x08\x00")
    elif how == "E7, pickle":
        path.write_bytes(b"\x80\x04\x95.")
    elif how == "no numbers":
        path.write_text("a,b\nc,d\n")
    else:
        matrix = np.loadtxt(path, delimiter=",")
        if how == "E1, not square":
            matrix = matrix[:-1]
        elif how == "E2, other size":
            matrix = matrix[1:, 1:]
        elif how == "E3, asymmetric":
            matrix[1, 4] += 9
        elif how == "E4, negative":
            matrix[1, 4] = matrix[4, 1] = -1
        elif how == "E5, densities":
            matrix = (matrix + 1) / 1000
        np.savetxt(path, matrix, fmt="%.9g", delimiter=",")


BAD = [
    *("E1, not square", "E2, other size", "E3, asymmetric", "E4, negative", "E5, densities"),
    *("E7, pickle", "E8, cut off", "no numbers"),
]
BEGUN = ("E3, asymmetric", "E4, negative")  # seen when the values are read to be written


@pytest.mark.parametrize("how", BAD)
def test_a_bad_file_in_the_middle(how, tmp_path, one_at_a_time, capsys):
    folder = write(tmp_path / "files", np.array([COUNTS[i % len(IDS)] for i in range(9)]))
    bad = folder / "sub-005_connectome.csv"
    good = bad.read_bytes()
    spoil(bad, how)
    with pytest.raises(StillomeError) as refused:
        read_connectomes(folder)
    command = ["convert", str(folder), "--out", str(tmp_path / "c.zarr"), "--quiet"]
    with pytest.raises(StillomeError, match=re.escape(str(refused.value))):
        convert_connectomes(folder, tmp_path / "other.zarr")
    assert main(command) == 2
    assert bad.name in capsys.readouterr().err
    assert not (tmp_path / "c.zarr").exists()
    assert (tmp_path / "c.zarr.part").exists() == (how in BEGUN)
    bad.write_bytes(good)
    assert main(command) == 0
    is_the_same(tmp_path / "c.zarr", read_connectomes(folder))
    assert not (tmp_path / "c.zarr.part").exists()


def test_a_file_that_changes_between_the_two_readings(tmp_path):
    folder = write(tmp_path / "files", np.array([COUNTS[0]] * 20))
    data = stream_connectomes(folder)
    spoil(folder / "sub-018_connectome.csv", "E2, other size")
    assert_array_equal(data.connectomes[17], data.connectomes[0])
    with pytest.raises(StillomeError, match=r"sub-018_connectome.csv: was changed while it was re"):
        data.connectomes[18]


def test_killed_it_goes_on_to_the_same_bytes_and_remarks(tmp_path, caplog, one_at_a_time):
    folder = write(tmp_path / "files", np.concatenate([odd_matrices()] * 3))
    whole, *said = said_by(convert_connectomes, folder, tmp_path / "whole", caplog=caplog)
    script = (
        "import sys, time, stillome.io.edge_store as store\n"
        "store._CHUNK_BYTES = 1\n"
        "store.convert_connectomes(*sys.argv[1:], progress=lambda *_: time.sleep(0.02))"
    )
    how_far = tmp_path / "killed.part" / "how_far.json"
    process = subprocess.Popen(
        [sys.executable, "-c", script, str(folder), str(tmp_path / "killed")]
    )
    while not how_far.exists() or json.loads(how_far.read_text())["done"] < 25:
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert 25 <= json.loads(how_far.read_text())["done"] < 120
    seen = []
    again, *resumed = said_by(
        convert_connectomes,
        *(folder, tmp_path / "killed"),
        caplog=caplog,
        progress=lambda done, n: seen.append(done),
    )
    assert seen[0] > 25 and seen[-1] == 120
    assert contents(again) == contents(whole)
    assert resumed == said


def test_memory_does_not_grow_with_the_number_of_subjects(tmp_path):
    n, size = 400, 200
    row = np.arange(size, dtype=np.float64)
    matrix = np.add.outer(row, row)
    for i in range(n):
        np.save(tmp_path / f"sub-{i:03d}_connectome.npy", matrix + i)
    script = (
        "import resource, sys, zarr\n"
        "from stillome.io.edge_store import convert_connectomes\n"
        "def most(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024\n"
        "convert_connectomes(sys.argv[1], sys.argv[2] + '.few', subjects=['000'])\n"
        "before = most()\n"
        "convert_connectomes(*sys.argv[1:])\n"
        "print(most() - before)"
    )
    out = tmp_path.with_suffix(".zarr")
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path), str(out)],
        capture_output=True,
        text=True,
        check=True,
    )
    everything = n * size * size * 8  # 128 MB as matrices
    assert int(done.stdout) < everything / 2  # loading takes more than all of it
    stored = zarr.open_array(str(out / "connectomes"), mode="r")
    assert stored.shape == (n, size * (size - 1) // 2)
    assert_array_equal(stored[-1], (matrix + n - 1)[np.triu_indices(size, 1)])


def test_several_subjects_in_each_list_of_edges(tmp_path, one_at_a_time):
    for part in range(2):
        lines = ["subject\tsource\ttarget\tcount"]
        for subject in IDS[2 * part : 2 * part + 2]:
            counts = COUNTS[IDS.index(subject)]
            pairs = zip(*np.triu_indices(N_REGIONS, 1), strict=True)
            lines += [f"{subject}\t{NAMES[a]}\t{NAMES[b]}\t{counts[a, b]:g}" for a, b in pairs]
        Path(tmp_path, f"part-{part}_edges.tsv").write_text("\n".join(lines) + "\n")
    data = read_connectomes(tmp_path)
    assert data.subject_ids == IDS
    is_the_same(convert_connectomes(tmp_path, tmp_path.with_suffix(".zarr")), data)
