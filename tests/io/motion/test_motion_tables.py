"""Tables of subjects given as motion, under whatever names their columns have."""

import pytest

import motion_samples as samples
from stillome.exceptions import FileError, InputError
from stillome.io.motion.motion_files import recognise
from stillome.io.motion.summary import read_motion

HEADER = "participant_id\tmean_rel_rms\tage\tsite\tn_volumes\n"
ROWS = "sub-A\t0.2\t9\tX\t280\nsub-B\t0.4\t-1\tY\tn/a\n"


@pytest.fixture
def table(tmp_path):
    return samples.write(tmp_path / "table.tsv", HEADER + ROWS)


def test_usual_names_are_taken_and_others_only_where_asked_for(table):
    found = read_motion(table)
    assert list(found.columns) == ["mean_rel_rms"]
    assert found.attrs["measures"]["mean_rel_rms"].endswith("relative to the previous volume")
    asked = read_motion(table, confounds=["age", "n_volumes", "site", "elsewhere"])
    assert asked.columns.tolist() == ["mean_rel_rms", "age", "n_volumes"]
    assert asked["age"].tolist() == [9, -1]
    assert asked["n_volumes"].isna().tolist() == [False, True]
    assert asked.attrs["measures"]["age"] == "as given in the table"


def test_a_table_without_a_usual_name_is_read_only_where_a_column_is_named(tmp_path):
    place = samples.write(tmp_path / "a.csv", "Subject,wiggle\nA,1\nB,2\n")
    assert recognise(place) is None
    with pytest.raises(InputError, match=r"none of its columns \(Subject, wiggle\).*confounds="):
        read_motion(place)
    assert read_motion(place, confounds=["wiggle"])["wiggle"].tolist() == [1, 2]
    nobody = samples.write(tmp_path / "b.csv", "wiggle,rms\n1,2\n")
    with pytest.raises(FileError, match="participant_id"):
        read_motion(nobody)


def test_framewise_displacement_by_subject_is_no_time_series(tmp_path):
    place = samples.write(tmp_path / "fd.tsv", "participant_id\tframewise_displacement\nA\t0.3\n")
    assert recognise(place) == "table"
    assert read_motion(place)["framewise_displacement"].tolist() == [0.3]


def test_tables_of_studies_keep_a_column_that_is_named(tmp_path):
    abcd = samples.write(
        tmp_path / "abcd.csv",
        "src_subject_id,dmri_meanmotion,dmri_rsi_note\nNDAR_INVA,1.2,7\nNDAR_INVB,1.4,8\n",
    )
    found = read_motion(abcd, confounds=["dmri_meanmotion", "dmri_rsi_note"])
    assert list(found.columns) == ["fd_mm", "dmri_meanmotion", "dmri_rsi_note"]
    assert found["fd_mm"].tolist() == found["dmri_meanmotion"].tolist() == [1.2, 1.4]
    qc = samples.write(
        tmp_path / "qc.csv", "subject_id,mean_fd,max_fd,file_name\nsub-A,0.2,1.5,a.nii\n"
    )
    assert read_motion(qc, confounds=["max_fd"]).loc["A"].to_dict() == {"fd_mm": 0.2, "max_fd": 1.5}


def test_motion_of_other_tools_stands_beside_a_table(tmp_path, table):
    folder = tmp_path / "eddy"
    for subject in ("A", "B"):
        place = folder / f"sub-{subject}" / f"sub-{subject}.eddy_movement_rms"
        samples.write(place, samples.lines([[0, 0], [1, 0.5]]))
    found = read_motion([folder, table])
    assert {"rms_mm", "mean_rel_rms"} <= set(found.columns)
    assert found.attrs["sources"]["mean_rel_rms"] == "table"
