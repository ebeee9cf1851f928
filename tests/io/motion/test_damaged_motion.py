"""Damaged files about motion are refused; they do not become missing values."""

import json

import pandas as pd
import pytest

from moving_people import MovingPeople
from stillome.cohort.cohort import Cohort
from stillome.cohort.edges import edges_to_matrices
from stillome.exceptions import FileError
from stillome.io.inspection import inspect_path
from stillome.io.motion.summary import read_motion

WHOLE = json.dumps({"qc_path": "x", "qc_mot_abs": 0.51, "qc_mot_rel": 0.2, "qc_outliers_tot": 1.5})


def eddy_folder(folder, content: str):
    for subject in ("01", "02"):
        place = folder / f"sub-{subject}" / "eddy.qc"
        place.mkdir(parents=True)
        (place / "qc.json").write_text(WHOLE)
    (folder / "sub-02" / "eddy.qc" / "qc.json").write_text(content)
    return folder


def test_a_sound_folder_is_read(tmp_path):
    assert not read_motion(eddy_folder(tmp_path, WHOLE)).isna().all(axis=None)


@pytest.mark.parametrize(
    "content", ["", "{", WHOLE[:20], WHOLE[:-3], "\x00" * 40, '{"qc_mot_abs": "many"}'], ids=repr
)
def test_a_damaged_qc_json_is_not_passed_over(content, tmp_path):
    with pytest.raises(FileError, match=r"sub-02.*qc\.json"):
        read_motion(eddy_folder(tmp_path, content))


def test_a_qc_json_of_another_tool_is(tmp_path):
    assert list(read_motion(eddy_folder(tmp_path, '{"snr": 3.5}')).index) == ["01"]


@pytest.mark.parametrize("keep", [0, 1, 40])
def test_a_cohort_whose_header_is_damaged_is_not_called_motion(keep, tmp_path):
    people = MovingPeople(12)
    ids = [f"s{i}" for i in range(12)]
    motion = pd.DataFrame({"rms_mm": people.motion}, index=ids)
    cohort = Cohort(subject_ids=ids, connectomes=edges_to_matrices(people.X), motion=motion)
    cohort.save(tmp_path / "cohort")
    assert inspect_path(tmp_path / "cohort").facts["subjects"].startswith("12")
    header = tmp_path / "cohort" / "cohort.json"
    header.write_bytes(header.read_bytes()[:keep])
    with pytest.raises(FileError, match=r"cohort\.json"):
        inspect_path(tmp_path / "cohort")
