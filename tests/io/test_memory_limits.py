"""Looking at a file takes at most 200 MiB and 5 s; reading three times what it answers with.

The file is read in a process of its own. `benchmarks/robustness.py` does the same with all files
of `huge_files`.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import huge_files
from measured_reading import MOST_TO_INSPECT, SLACK, TIMES
from stillome.exceptions import FileError
from stillome.io.connectomes import read_connectomes
from stillome.io.formats import text_matrix
from stillome.io.free_memory import check_array, memory_limited_to
from stillome.io.inspection import inspect_path


@pytest.mark.parametrize("what", ["inspect", "read"])
def test_what_reading_takes_depends_on_what_it_answers_with(what, tmp_path):
    path = tmp_path / "sub-01_connectome.csv"
    huge_files.csv_matrix(path, 1_500)
    program = str(Path(__file__).parents[1] / "measured_reading.py")
    command = [sys.executable, program, what, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ)
    found = json.loads(done.stdout)
    assert not found["foreign"], found
    allowed = MOST_TO_INSPECT if what == "inspect" else TIMES * found["answer"] + SLACK
    assert found["peak"] < allowed, found


@pytest.mark.parametrize(
    "name", ["sub-01.graphml", "edges.csv", "claimed.h5", "claimed_ids.h5", "claimed.zarr"]
)
def test_claims_of_small_files_are_not_believed(name, tmp_path):
    path = tmp_path / name
    huge_files.HUGE[name](path)
    with memory_limited_to(2**28), pytest.raises(FileError):
        read_connectomes(path)


def test_what_is_too_large_to_look_at_is_said(tmp_path):
    path = tmp_path / "edges.csv"
    huge_files.edge_list(path)
    found = inspect_path(path)
    assert found.producer == "edge list"
    assert found.facts == {"memory": "1.4 GiB to read it"}


def test_the_guard_knows_what_is_free():
    check_array((100, 100), "x")
    with pytest.raises(FileError, match="more than is free"):
        check_array((2**20, 2**20), "x")


def test_a_folder_of_many_files_is_looked_at_in_part(tmp_path):
    huge_files.folder_of_matrices(tmp_path / "many", n=70, size=5)
    facts = inspect_path(tmp_path / "many").facts
    assert facts["subjects"] == "70 (000, 001, 002, …), the first 64 read"
    assert facts["regions"] == "5"


def test_tables_of_very_many_columns_are_described_by_their_size(tmp_path):
    path = tmp_path / "table.csv"
    names = ",".join(f"c{i}" for i in range(2_000))
    path.write_text(f"participant_id,{names}\na{',1' * 2_000}\n")
    assert inspect_path(path).facts["columns"].endswith("… (2001)")


def test_one_file_for_every_number_is_refused(tmp_path):
    huge_files.zarr_of_single_values(tmp_path / "x.zarr", (1, 1, 1))
    file = tmp_path / "x.zarr" / "connectomes" / ".zarray"
    file.write_text(file.read_text().replace('[1, 1, 1], "chunks', '[1, 80, 80], "chunks'))
    with pytest.raises(FileError, match="too many small chunks"):
        read_connectomes(tmp_path / "x.zarr", subjects=["a"])


def test_large_text_is_read_in_blocks_to_the_same_numbers(tmp_path, monkeypatch):
    monkeypatch.setattr(text_matrix, "_BLOCK_BYTES", 100)
    counts = np.random.default_rng(0).poisson(3, (50, 50))
    counts = np.triu(counts, 1) + np.triu(counts, 1).T
    names = [f"region {i}" for i in range(len(counts))]
    plain, named = tmp_path / "sub-01.csv", tmp_path / "sub-02.csv"
    lines = [",".join(map(str, row)) for row in counts]
    plain.write_text("\n".join(lines) + "\n")
    beside = [f"{name},{line}," for name, line in zip(names, lines, strict=True)]
    named.write_text("\n".join([",".join(["", *names, ""]), *beside]) + "\n")
    for path in (plain, named):
        assert (read_connectomes(path).connectomes[0] == counts).all()
    assert list(read_connectomes(named).regions["name"]) == names
