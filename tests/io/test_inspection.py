"""`inspect` recognises every format, motion files and tables, and never loads a stack."""

import warnings
from pathlib import Path

import numpy as np
import pytest

from connectome_files import IDS, LENGTHS, SAMPLES, TRUTH
from stillome.cli.inspect import inspect
from stillome.exceptions import FileError
from stillome.io.inspection import inspect_path


@pytest.mark.parametrize("name", SAMPLES)
def test_every_format_is_described(name: str, tmp_path: Path) -> None:
    path = SAMPLES[name].make(tmp_path)
    arguments = {k: v for k, v in SAMPLES[name].arguments.items() if k != "subjects"}
    found = inspect_path(path, **arguments)
    assert found.producer == SAMPLES[name].producer
    assert found.facts["subjects"].startswith("4")
    assert found.facts["regions"].startswith("6")
    assert set(found.facts) >= {"measure", "range", "zeros", "stored"}
    if name == "mrtrix":
        assert found.facts["stored"] == "upper"
        assert found.facts["zeros"] == "6.7% of edges"
        assert found.facts["lengths"].endswith("mm on average")
    if name == "npy_stack":
        assert found.facts["subjects"] == "4, without ids"
        assert "Pass subjects=" in found.warnings[0]


def test_motion_files_and_tables_are_described(tmp_path: Path) -> None:
    rms = tmp_path / "sub-01.eddy_movement_rms"
    rms.write_text("0 0\n0.4 0.2\n0.6 0.4\n")
    found = inspect_path(rms)
    assert found.producer.startswith("motion (eddy_movement_rms")
    assert found.facts["rms_mm"] == "0.3 to 0.3"
    table = tmp_path / "participants.tsv"
    table.write_text("participant_id\tage\tsex\nsub-01\t10\tF\nsub-02\tn/a\tM\n")
    found = inspect_path(table)
    assert found.producer == "table of subjects"
    assert found.facts["age"] == "10 to 10, 1 missing"
    assert found.facts["sex"] == "2 values"


def test_what_readers_refuse_is_described_with_their_sentence(tmp_path: Path) -> None:
    path = tmp_path / "sub-01_meanlength.csv"
    np.savetxt(path, LENGTHS[0], delimiter=",")
    found = inspect_path(path)
    assert found.facts["measure"] == "meanlength"
    assert "looks like lengths" in found.warnings[0]
    assert not any("fibres" in note or "SIFT2" in note for note in found.warnings)
    assert inspect_path(path, measure="length").facts["measure"] == "meanlength"
    table = tmp_path / "nihtb.tsv"
    table.write_text("participant_id\tsession_id\tscore\nsub-1\tses-a\t5\nsub-1\tses-b\t6\n")
    found = inspect_path(table)
    assert (found.facts["rows"], found.facts["subjects"]) == ("2", "1")
    assert found.facts["events"] == "ses-a, ses-b"
    assert "several events" in found.warnings[0]
    assert inspect_path(table, session="b").facts["score"] == "6 to 6"
    np.savez(tmp_path / "two.npz", left=TRUTH, right=TRUTH)
    found = inspect_path(tmp_path / "two.npz")
    assert found.facts == {"matrices": "2: left, right"}
    assert "Choose atlas=... or measure=" in found.warnings[0]


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="no connectome files in this folder"):
        inspect_path(tmp_path)


def test_the_command_prints_and_goes_on_after_a_refusal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = SAMPLES["hdf5_stack"].make(tmp_path)
    bad = tmp_path / "notes.txt"
    bad.write_text("nothing here\n")
    with pytest.raises(FileError, match="not recognised"), warnings.catch_warnings():
        inspect([str(bad), str(good)])
    shown = capsys.readouterr().out
    assert "HDF5 stack" in shown
    assert ", ".join(IDS[:3]) in shown


def test_motion_files_that_a_reader_refuses_are_described(tmp_path: Path) -> None:
    path = tmp_path / "sub-01_b0.mat"
    path.write_text("1.2 0 0 3\n0 1 0 4\n0 0 1 0\n0 0 0 1\n")
    found = inspect_path(path)
    assert found.producer == "transform (FLIRT)"
    assert (found.facts["translation"], found.facts["determinant"]) == ("5 mm", "1.2")
    assert "not rigid" in found.warnings[0]
    path = tmp_path / "diff2str.mat"
    path.write_text("1 0 0 3\n0 1 0 4\n0 0 1 0\n0 0 0 1\n")
    assert inspect_path(path).facts["determinant"] == "1"
    path = tmp_path / "sub-01_mcf.par"
    path.write_text("0 0 0 0 0 0\n2.1 0 0 1 0 0\n")
    found = inspect_path(path)
    assert "looks like degrees" in found.warnings[0]
    assert found.facts["rotation_rad"] == "0.018326 to 0.018326"


def test_degrees_that_were_assumed_are_a_note(tmp_path: Path) -> None:
    path = tmp_path / "abcd.csv"
    path.write_text("src_subject_id,dmri_meanmotion,dmri_meanrot\nNDAR_INVA,1.1,0.3\n")
    assert "dmri_meanrot taken as degrees" in inspect_path(path).warnings[0]


def test_maps_of_deviations_are_described(tmp_path: Path) -> None:
    path = tmp_path / "sub-01.eddy_outlier_n_stdev_map"
    path.write_text("One row per scan, one column per slice. Deviations\n0.5 -4.8 1\n0 2 1\n")
    found = inspect_path(path)
    assert found.facts == {"volumes": "2", "slices": "3", "range": "-4.8 to 2"}


def test_what_cannot_be_opened_is_named_and_not_mistaken_for_a_table(tmp_path: Path) -> None:
    (tmp_path / "sub-01_connectome.csv").touch()
    for place in (tmp_path / "sub-01_connectome.csv", tmp_path, tmp_path / "*.csv"):
        with pytest.raises(FileError, match=r"sub-01_connectome\.csv: an empty file"):
            inspect_path(place)
    with pytest.raises(FileError, match="cannot be opened"):
        inspect_path("a" * 5000)
