"""What is written: sidecars, seeds, hashes; nothing is replaced unasked or left half-written."""

import hashlib
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from connectome_files import SAMPLES, TRUTH
from stillome import __version__
from stillome.cohort.edges import matrices_to_edges
from stillome.exceptions import FileError, InputError
from stillome.io.connectomes import read_connectomes
from stillome.io.write import hash_of, write_connectomes, write_described_table


def test_the_same_format_keeps_names_and_triangles(tmp_path: Path) -> None:
    source = SAMPLES["mrtrix"].make(tmp_path / "in")
    data = read_connectomes(source)
    out = write_connectomes(tmp_path / "out", data, TRUTH + 0.5, random_state=11)
    written = out / "sub-A02" / "connectome" / "sub-A02_desc-toy_connectome.csv"
    matrix = np.loadtxt(written, delimiter=",")
    np.testing.assert_array_equal(matrix, np.triu(TRUTH[1] + 0.5, 1))
    told = json.loads((out / "connectomes.json").read_text())
    assert told["Seed"] == 11
    assert told["Versions"]["stillome"] == __version__
    original = source / "sub-A02" / "connectome" / "sub-A02_desc-toy_connectome.csv"
    assert told["Inputs"][str(original)] == hashlib.sha256(original.read_bytes()).hexdigest()
    described = json.loads((out / "dataset_description.json").read_text())
    assert described["DatasetType"] == "derivative"
    assert described["GeneratedBy"][0]["Name"] == "stillome"


def test_edge_vectors_can_be_written_and_every_relmat_has_its_json(tmp_path: Path) -> None:
    data = read_connectomes(SAMPLES["qsiprep"].make(tmp_path / "in"))
    out = write_connectomes(
        tmp_path / "out", data, matrices_to_edges(TRUTH), form="relmat", random_state=5
    )
    tables = sorted(out.rglob("*_relmat.dense.tsv"))
    assert len(tables) == len(TRUTH)
    for table in tables:
        told = json.loads(Path(str(table).replace(".dense.tsv", ".json")).read_text())
        assert told["RelationshipMeasure"] == "radius2_count"
        assert told["Directed"] is False
        assert told["ValidDiagonal"] is False
        assert told["Seed"] == 5
        own = {file for file in data.source.files if table.name.split("_")[0] in file}
        assert told["Inputs"] == {file: hash_of(file) for file in own} and len(own) == 1
    np.testing.assert_array_equal(read_connectomes(out).connectomes, TRUTH)


def test_subjects_of_one_stack_name_the_stack(tmp_path: Path) -> None:
    stack = SAMPLES["npz_stack"].make(tmp_path)
    out = write_connectomes(tmp_path / "out", read_connectomes(stack), form="relmat")
    sidecars = [json.loads(file.read_text()) for file in sorted(out.rglob("*_relmat.json"))]
    assert len(sidecars) == len(TRUTH)
    assert {tuple(told["Inputs"].values()) for told in sidecars} == {(hash_of(stack),)}


def test_nothing_is_replaced_unasked(tmp_path: Path) -> None:
    data = read_connectomes(SAMPLES["mrtrix"].make(tmp_path / "in"))
    out = write_connectomes(tmp_path / "out", data)
    with pytest.raises(FileError, match="exists already"):
        write_connectomes(out, data)
    write_connectomes(out, data, TRUTH * 2, overwrite=True)
    np.testing.assert_array_equal(read_connectomes(out).connectomes, TRUTH * 2)
    stranger = tmp_path / "home"
    stranger.mkdir()
    (stranger / "thesis.txt").write_text("mine")
    with pytest.raises(FileError, match="holds other things"):
        write_connectomes(stranger, data, overwrite=True)
    assert (stranger / "thesis.txt").read_text() == "mine"


def test_a_failure_leaves_nothing_behind(tmp_path: Path) -> None:
    data = read_connectomes(SAMPLES["mrtrix"].make(tmp_path / "in"))
    for wrong, sentence in ((TRUTH[:2], "2 subjects but 4"), (TRUTH[:, :5, :5], "5 regions")):
        with pytest.raises(InputError, match=sentence):
            write_connectomes(tmp_path / "out", data, wrong)
    with pytest.raises(InputError, match="form='xlsx'"):
        write_connectomes(tmp_path / "out", data, form="xlsx")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in"]


def test_tables_say_what_they_hold(tmp_path: Path) -> None:
    source = tmp_path / "source.csv"
    source.write_text("x")
    table = pd.DataFrame({"rms_mm": [0.25, np.nan], "z_1": [1.0, 2.0]}, index=["A01", "002"])
    sidecar = write_described_table(
        tmp_path / "latents.tsv",
        table,
        description="latents",
        units={"z_1": "arbitrary"},
        inputs=[source],
        random_state=3,
    )
    told = json.loads(sidecar.read_text())
    assert told["rms_mm"]["Units"] == "mm"
    assert told["z_1"]["Units"] == "arbitrary"
    assert told["Seed"] == 3
    assert told["Inputs"] == {str(source): hashlib.sha256(b"x").hexdigest()}
    assert (tmp_path / "latents.tsv").read_text().splitlines() == [
        "participant_id\trms_mm\tz_1",
        "A01\t0.25\t1.0",
        "002\tn/a\t2.0",
    ]
    with pytest.raises(FileError, match="exists already"):
        write_described_table(tmp_path / "latents.tsv", table, description="latents")
    with pytest.raises(InputError, match=r"\.tsv"):
        write_described_table(tmp_path / "latents.csv", table, description="latents")


def test_hashes_of_folders_depend_on_content_and_names(tmp_path: Path) -> None:
    store = SAMPLES["zarr_stack"].make(tmp_path)
    first = hash_of(store)
    assert first == hash_of(store)
    piece = store / "connectomes" / "0.0.0"
    piece.rename(piece.with_name("9.0.0"))
    assert hash_of(store) != first
    with pytest.raises(FileError):
        hash_of("no\0where")
