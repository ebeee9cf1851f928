import re

import numpy as np
import pytest

import motion_samples as samples
from stillome.exceptions import FileError, InputError
from stillome.io.motion.qsiprep import (
    confound_parameters,
    read_image_qc,
    read_qsiprep_confounds,
)
from stillome.io.motion.rigid import framewise_displacement


@pytest.fixture
def parameters():
    return samples.movement_parameters(np.random.default_rng(2))


def test_confounds(tmp_path, parameters):
    displacements = framewise_displacement(parameters)
    path = samples.qsiprep_confounds(tmp_path / "c.tsv", parameters, displacements)
    table = read_qsiprep_confounds(path)
    assert np.array_equal(table["framewise_displacement"], displacements, equal_nan=True)
    assert np.array_equal(confound_parameters(table), parameters)


def test_confounds_without_parameters_still_have_displacements(tmp_path):
    path = samples.write(tmp_path / "c.tsv", "framewise_displacement\tx\nn/a\ta\n0.25\tb\n")
    table = read_qsiprep_confounds(path)
    assert table["framewise_displacement"].tolist()[1:] == [0.25]
    assert confound_parameters(table) is None


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("trans_x\ttrans_y\n0\t0\n", "not QSIPrep's confounds"),
        ("framewise_displacement\ttrans_x\n0.1\tabc\n", "'trans_x' has a cell"),
        ("framewise_displacement\ttrans_x\ninf\t0\n", "'framewise_displacement' has a cell"),
        ("framewise_displacement\ttrans_x\n-1\t0\n", "negative"),
        ("framewise_displacement\ttrans_x\n", "no row below the header"),
    ],
)
def test_confounds_that_are_none(tmp_path, content, sentence):
    with pytest.raises(FileError, match=sentence):
        read_qsiprep_confounds(samples.write(tmp_path / "c.tsv", content))


def test_e11_confounds_in_degrees(tmp_path, parameters):
    parameters[:, 3:] = 2.1
    path = samples.qsiprep_confounds(tmp_path / "c.tsv", parameters, np.full(8, 0.1))
    sentence = f"{path}: rotations up to 2.1; looks like degrees. Pass rotation_unit=...."
    with pytest.raises(InputError, match=re.escape(sentence)):
        read_qsiprep_confounds(path)
    table = read_qsiprep_confounds(path, rotation_unit="deg")
    assert table["rot_x"].to_numpy() == pytest.approx(np.deg2rad(2.1))


@pytest.mark.parametrize(("name", "delimiter"), [("q.csv", ","), ("q.tsv", "\t")])
def test_image_qc(tmp_path, name, delimiter):
    subjects = {"sub-A01": 0.25, "sub-002": 0.5}
    path = samples.image_qc(tmp_path / name, subjects, delimiter=delimiter)
    table = read_image_qc(path)
    assert table["mean_fd"].to_dict() == {"A01": 0.25, "002": 0.5}
    assert table["max_fd"].tolist() == [0.5, 0.5]


def test_image_qc_that_names_its_subject_in_the_file_name_only(tmp_path):
    content = "mean_fd,max_fd\n0.25,0.5\n"
    path = samples.write(tmp_path / "sub-007_desc-ImageQC_dwi.csv", content)
    assert read_image_qc(path)["mean_fd"].to_dict() == {"007": 0.25}
    below = samples.write(tmp_path / "siteA/100307/dwi/image_qc.csv", content)
    assert list(read_image_qc(below, root=tmp_path).index) == ["100307"]
    with pytest.raises(FileError, match="several rows without subject_id"):
        read_image_qc(samples.write(tmp_path / "q.csv", content + "0.5,0.7\n"))


def test_image_qc_that_is_none(tmp_path):
    with pytest.raises(FileError, match="no column 'mean_fd'"):
        read_image_qc(samples.write(tmp_path / "q.csv", "subject_id,max_fd\nA,1\n"))
    for value in ("abc", "-1", "inf"):
        path = samples.write(tmp_path / "q.csv", f"subject_id,mean_fd\nA,{value}\n")
        with pytest.raises(InputError, match="not a displacement in mm"):
            read_image_qc(path)
