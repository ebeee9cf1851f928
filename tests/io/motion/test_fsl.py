import re

import numpy as np
import pytest

import motion_samples as samples
from stillome.exceptions import FileError, InputError
from stillome.io.motion.fsl import (
    read_eddy_movement_rms,
    read_eddy_outlier_map,
    read_eddy_outlier_report,
    read_eddy_parameters,
    read_eddy_quad,
    read_flirt_matrix,
    read_mcflirt_matrices,
    read_mcflirt_parameters,
    read_mcflirt_rms,
)
from stillome.io.motion.rigid import parameters_to_transforms


@pytest.fixture
def rng():
    return np.random.default_rng(4)


def test_movement_rms(tmp_path, rng):
    rms = samples.movement_rms(rng)
    path = samples.write(tmp_path / "a.eddy_movement_rms", samples.lines(rms))
    assert np.allclose(read_eddy_movement_rms(path), rms, atol=1e-9)


def test_movement_rms_refuses_other_things(tmp_path):
    three = samples.write(tmp_path / "three", "0 0 0\n1 2 3\n")
    negative = samples.write(tmp_path / "negative", "0 0\n1 -2\n")
    with pytest.raises(FileError, match="three: 3 columns; eddy_movement_rms has 2"):
        read_eddy_movement_rms(three)
    with pytest.raises(FileError, match="negative displacement"):
        read_eddy_movement_rms(negative)


def test_eddy_parameters_leave_out_eddy_currents(tmp_path, rng):
    parameters = samples.movement_parameters(rng)
    path = samples.eddy_parameters(tmp_path / "a.eddy_parameters", parameters)
    assert np.allclose(read_eddy_parameters(path), parameters, atol=1e-9)
    with pytest.raises(FileError, match="2 columns"):
        read_eddy_parameters(samples.write(tmp_path / "b", "1 2\n"))


def test_mcflirt_has_the_opposite_order_of_eddy(tmp_path):
    row = [*samples.ANGLES, *samples.TRANSLATION]
    path = samples.write(tmp_path / "mcf.par", samples.lines([[0] * 6, row]))
    parameters = read_mcflirt_parameters(path)
    assert np.allclose(parameters_to_transforms(parameters)[1], samples.rigid_transform())


@pytest.mark.parametrize("read", [read_eddy_parameters, read_mcflirt_parameters])
def test_e11_rotations_in_degrees(tmp_path, read):
    path = samples.write(tmp_path / "p.par", samples.lines([[0] * 6, [2.1] * 6]))
    sentence = f"{path}: rotations up to 2.1; looks like degrees. Pass rotation_unit=...."
    with pytest.raises(InputError, match=re.escape(sentence)):
        read(path)
    assert read(path, rotation_unit="deg")[1, 3:] == pytest.approx(np.deg2rad([2.1] * 3))
    assert read(path, rotation_unit="rad")[1].tolist() == [2.1] * 6


def test_outlier_maps(tmp_path):
    marked = np.array([[0, 0, 0], [0, 1, 0], [1, 0, 0]])
    path = samples.outlier_map(tmp_path / "a.eddy_outlier_map", marked)
    assert (read_eddy_outlier_map(path) == marked).all()
    deviations = samples.outlier_map(tmp_path / "a.n_stdev_map", [[-4.8, 0.25], [0, 1]])
    assert read_eddy_outlier_map(deviations).tolist() == [[-4.8, 0.25], [0, 1]]
    with pytest.raises(FileError, match="starts with a sentence"):
        read_eddy_outlier_map(samples.write(tmp_path / "b", "0 1\n0 0\n"))


def test_outlier_report(tmp_path):
    path = samples.outlier_report(tmp_path / "a.eddy_outlier_report", [(3, 6), (1, 7)])
    report = read_eddy_outlier_report(path)
    assert report[["slice", "scan"]].to_numpy().tolist() == [[3, 6], [1, 7]]
    assert report["stdev"].tolist() == [-4.8, -4.8]
    assert len(read_eddy_outlier_report(samples.write(tmp_path / "none", ""))) == 0
    with pytest.raises(FileError, match="line 1 is not a sentence"):
        read_eddy_outlier_report(samples.write(tmp_path / "b", "hello\n"))


def test_eddy_quad(tmp_path):
    found = read_eddy_quad(samples.quad_json(tmp_path / "qc.json"))
    assert found == (0.05, 0.11, 5.5)
    silent = read_eddy_quad(samples.write(tmp_path / "b.json", '{"qc_mot_rel": 0.2}'))
    assert silent.relative_mm == 0.2 and np.isnan(silent.absolute_mm)
    for number, content in enumerate(["[1]", "{}", '{"qc_mot_abs": "x"}', '{"qc_mot_abs": NaN}']):
        with pytest.raises(FileError, match=f"{number}.json: "):
            read_eddy_quad(samples.write(tmp_path / f"{number}.json", content))


def test_flirt_matrix(tmp_path):
    path = samples.flirt(tmp_path / "b0_02.mat")
    assert np.allclose(read_flirt_matrix(path), samples.rigid_transform(), atol=1e-9)
    with pytest.raises(FileError, match="1×2 numbers; FLIRT writes 4×4"):
        read_flirt_matrix(samples.write(tmp_path / "short.mat", "1 2\n"))


def test_e12_an_affine_transform_has_no_rotation(tmp_path):
    affine = samples.rigid_transform()
    affine[:3, :3] *= 1.08
    path = samples.flirt(tmp_path / "affine.mat", affine)
    sentence = f"{path}: transform is not rigid (det 1.26); rotation undefined."
    with pytest.raises(FileError, match=re.escape(sentence)):
        read_flirt_matrix(path)
    assert np.allclose(read_flirt_matrix(path, rigid=False), affine, atol=1e-9)


def test_a_frame_that_could_not_be_registered_is_missing(tmp_path):
    path = samples.flirt(tmp_path / "b0_03.mat", np.full((4, 4), np.nan))
    assert np.isnan(read_flirt_matrix(path)).all()


def test_mcflirt_matrices_come_in_the_order_of_frames(tmp_path):
    for frame in (10, 2, 0):
        transform = samples.rigid_transform(translation=[frame, 0, 0])
        samples.flirt(tmp_path / f"mcf.mat/MAT_{frame:04d}", transform)
    assert read_mcflirt_matrices(tmp_path / "mcf.mat")[:, 0, 3].tolist() == [0, 2, 10]
    with pytest.raises(FileError, match="no MAT_0000"):
        read_mcflirt_matrices(tmp_path)
    with pytest.raises(FileError, match="cannot be read"):
        read_mcflirt_matrices(tmp_path / "nowhere")


def test_mcflirt_rms(tmp_path):
    assert read_mcflirt_rms(samples.write(tmp_path / "m_rel.rms", "0.1\n0.3\n")).tolist() == [
        0.1,
        0.3,
    ]
    with pytest.raises(FileError, match="one column"):
        read_mcflirt_rms(samples.write(tmp_path / "n_rel.rms", "0.1 2\n"))
