"""Joining by id: who is kept, who is not, and that nobody is dropped in silence."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from connectome_files import IDS, NAMES, SAMPLES, TRUE_LENGTHS, TRUTH
from stillome.cohort.cohort import Cohort
from stillome.exceptions import InputError, StillomeError, StillomeWarning
from stillome.io.cohorts import join_subjects, read_cohort
from stillome.io.connectomes import read_connectomes


def eddy(folder: Path, values: dict[str, float]) -> Path:
    for subject, value in values.items():
        place = folder / f"sub-{subject}" / f"sub-{subject}.eddy_movement_rms"
        place.parent.mkdir(parents=True)
        place.write_text(f"0 0\n0.5 {value}\n0.6 {value}\n")
    return folder


def participants(path: Path, ids: list[str]) -> Path:
    lines = [f"{subject}\t{100 + i}" for i, subject in enumerate(ids)]
    path.write_text("participant_id\tiq\n" + "\n".join(lines) + "\n")
    return path


def test_a_saved_cohort_is_joined_like_any_file(tmp_path: Path) -> None:
    """Its ids may have ``sub-``, as those of simulated cohorts do."""
    Cohort([f"sub-{subject}" for subject in IDS], TRUTH).save(tmp_path / "saved")
    motion = eddy(tmp_path / "eddy", {subject: 0.1 * (i + 1) for i, subject in enumerate(IDS)})
    assert read_cohort(tmp_path / "saved", motion=motion).subject_ids == IDS


def test_everything_is_joined_by_id_whatever_the_order(tmp_path: Path) -> None:
    connectomes = SAMPLES["mrtrix"].make(tmp_path / "mrtrix")
    motion = eddy(tmp_path / "eddy", {subject: 0.1 * (i + 1) for i, subject in enumerate(IDS)})
    traits = participants(tmp_path / "participants.tsv", [f"sub-{s}" for s in reversed(IDS)])
    cohort = read_cohort(connectomes, motion=motion, traits=traits, labels=NAMES)
    assert cohort.subject_ids == IDS
    np.testing.assert_array_equal(cohort.connectomes, TRUTH)
    np.testing.assert_allclose(cohort.motion["rms_mm"], [0.1, 0.2, 0.3, 0.4])
    assert cohort.traits["iq"].tolist() == [103, 102, 101, 100]
    assert list(cohort.regions["name"]) == list(NAMES)
    assert cohort.lengths is not None
    assert cohort.lengths[0, 1] == pytest.approx(TRUE_LENGTHS[:, 0, 1].mean())


def test_e13_says_who_was_left_out_and_lists_them(tmp_path: Path) -> None:
    connectomes = SAMPLES["mrtrix"].make(tmp_path / "mrtrix")
    motion = pd.DataFrame({"rms_mm": [0.1, np.nan, 0.3]}, index=["sub-A01", "A02", "A04"])
    traits = pd.DataFrame({"iq": [1.0, np.nan, 2.0]}, index=["A01", "A04", "Z99"])
    listed = tmp_path / "dropped.tsv"
    sentence = rf"2 subjects lack motion, 2 lack traits; kept 2\. Listed in {listed}"
    sentence += r"; 1 subjects of the tables have no connectome, e\.g\. 'Z99'\."
    with pytest.warns(StillomeWarning, match=sentence):
        cohort = read_cohort(connectomes, motion=motion, traits=traits, dropped=listed)
    assert cohort.subject_ids == ("A01", "A04")
    assert np.isnan(cohort.traits["iq"].iloc[1])
    table = pd.read_csv(listed, sep="\t").set_index("participant_id")["reason"].to_dict()
    assert table == {
        "A02": "no motion, no traits",
        "A03": "no motion, no traits",
        "Z99": "no connectome",
    }


def test_thousands_without_a_connectome_are_one_sentence_and_all_listed(tmp_path: Path) -> None:
    connectomes = SAMPLES["mrtrix"].make(tmp_path / "mrtrix")
    ids = [*(f"Z{i:05d}" for i in range(10_000)), *IDS]
    traits = pd.DataFrame({"iq": np.arange(len(ids), dtype=float)}, index=ids)
    listed = tmp_path / "dropped.tsv"
    with pytest.warns(StillomeWarning) as said:
        cohort = read_cohort(connectomes, traits=traits, dropped=listed)
    assert [str(warning.message) for warning in said] == [
        "10000 subjects of the tables have no connectome, e.g. 'Z00000'; kept 4. "
        f"Listed in {listed}"
    ]
    assert cohort.subject_ids == IDS
    table = pd.read_csv(listed, sep="\t")
    assert list(table["participant_id"]) == ids[:10_000]
    assert set(table["reason"]) == {"no connectome"}


def test_e13_is_an_error_when_nobody_is_left(tmp_path: Path) -> None:
    connectomes = SAMPLES["mrtrix"].make(tmp_path / "mrtrix")
    motion = pd.DataFrame({"rms_mm": [0.1]}, index=["A01"])
    traits = pd.DataFrame({"iq": [1.0]}, index=["A02"])
    listed = tmp_path / "dropped.tsv"
    with pytest.raises(InputError, match="3 subjects lack motion, 3 lack traits; kept 0"):
        read_cohort(connectomes, motion=motion, traits=traits, dropped=listed)
    assert len(pd.read_csv(listed, sep="\t")) == 4


def test_e10_shows_an_id_of_each(tmp_path: Path) -> None:
    connectomes = SAMPLES["mrtrix"].make(tmp_path / "mrtrix")
    table = pd.DataFrame({"rms_mm": [0.1]}, index=["NDAR_INVXX"])
    sentence = "No ids in common: connectomes e.g. 'A01', motion e.g. 'NDARINVXX'"
    with pytest.raises(InputError, match=sentence):
        read_cohort(connectomes, motion=table)


def test_e8_in_a_table(tmp_path: Path) -> None:
    connectomes = SAMPLES["mrtrix"].make(tmp_path / "mrtrix")
    table = pd.DataFrame({"rms_mm": [0.1, 0.2]}, index=["sub-A01", "A01"])
    with pytest.raises(StillomeError, match="'sub-A01' and 'A01' are the same subject"):
        read_cohort(connectomes, motion=table)


def test_a_record_and_lengths_may_be_given(tmp_path: Path) -> None:
    folder = SAMPLES["mrtrix"].make(tmp_path / "mrtrix")
    data = read_connectomes(folder)
    given = read_cohort(data, lengths=np.full((6, 6), 40.0))
    assert given.lengths is not None
    assert (given.lengths == 40).all()
    from_file = read_cohort(
        data, lengths=folder / "sub-A01/connectome/sub-A01_desc-toy_meanlength.csv"
    )
    np.testing.assert_allclose(from_file.lengths, TRUE_LENGTHS[0])
    with pytest.raises(InputError, match="lengths: not an array of numbers"):
        read_cohort(data, lengths=[["a"]])


def test_only_the_kept_subjects_of_a_lazy_stack_are_loaded(tmp_path: Path) -> None:
    path = SAMPLES["hdf5_stack"].make(tmp_path)
    motion = pd.DataFrame({"rms_mm": [0.1, 0.2]}, index=["A04", "A02"])
    with pytest.warns(StillomeWarning, match="2 subjects lack motion"):
        cohort = read_cohort(path, motion=motion, lazy=True)
    np.testing.assert_array_equal(cohort.connectomes, TRUTH[[1, 3]])


def test_dropped_is_not_overwritten_unasked(tmp_path: Path) -> None:
    connectomes = SAMPLES["mrtrix"].make(tmp_path / "mrtrix")
    listed = tmp_path / "dropped.tsv"
    listed.write_text("mine")
    motion = pd.DataFrame({"rms_mm": [0.1, 0.2, 0.3, 0.4]}, index=list(IDS))
    with pytest.raises(StillomeError, match="exists already"):
        read_cohort(connectomes, motion=motion, dropped=listed)
    assert listed.read_text() == "mine"
    read_cohort(connectomes, motion=motion, dropped=listed, overwrite=True)
    assert listed.read_text() == "participant_id\treason\n"


def test_join_without_tables_keeps_everybody() -> None:
    join = join_subjects(["a", "b"], None, None)
    assert join.kept == ["a", "b"]
    assert join.dropped.empty
