import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stillome.exceptions import InputError
from stillome.io.motion.rigid import (
    check_rigid,
    framewise_displacement,
    mean_of_known,
    mean_relative_rms,
    parameters_to_transforms,
    residual_misalignment,
    rigid_displacements,
)

axes = st.tuples(*[st.floats(-1, 1)] * 3).filter(lambda v: np.linalg.norm(v) > 1e-3)
angles = st.one_of(
    st.floats(0, np.pi),
    st.floats(-150, -1).map(lambda e: 10.0**e),
    st.floats(-15, -1).map(lambda e: np.pi - 10.0**e),
    st.just(np.pi),
)


def rotation_vector(axis, angle):
    return np.array(axis) / np.linalg.norm(axis) * angle


def rigid(vector, translation):
    """Build a transform from a rotation vector by Rodrigues' formula, not with SciPy's class."""
    x, y, z = vector
    hat = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    angle = np.linalg.norm(vector)
    # sinc(x) of NumPy is sin(πx)/(πx), which is 1 at 0.
    first, second = np.sinc(angle / np.pi), 0.5 * np.sinc(angle / (2 * np.pi)) ** 2
    transform = np.eye(4)
    transform[:3, :3] += first * hat + second * hat @ hat
    transform[:3, 3] = translation
    return transform


@settings(max_examples=80)
@given(axes, angles)
def test_the_angle_keeps_its_digits_from_0_to_pi(axis, angle):
    vector = rotation_vector(axis, angle)
    _, turns = rigid_displacements(rigid(vector, np.zeros(3))[None])
    assert turns[0] == pytest.approx(np.linalg.norm(vector), rel=1e-9, abs=0)


def test_half_turns_where_the_papers_formula_is_undefined():
    half_turns = np.tile(np.eye(4), (3, 1, 1))
    half_turns[:, :3, :3] = [np.diag(d) for d in ([1, -1, -1], [-1, 1, -1], [-1, -1, 1])]
    assert rigid_displacements(half_turns)[1] == pytest.approx(np.full(3, np.pi))
    assert (rigid_displacements(np.eye(4)[None])[1] == 0).all()


def test_missing_and_absent_frames_keep_their_places():
    frames = np.stack([rigid([0.1, 0, 0], [1, 0, 0]), np.full((4, 4), np.nan)])
    lengths, turns = rigid_displacements(frames)
    assert lengths[0] == 1 and turns[0] == pytest.approx(0.1)
    assert np.isnan([lengths[1], turns[1]]).all()
    assert rigid_displacements(frames[:0])[1].shape == (0,)


@settings(max_examples=80)
@given(axes, st.floats(0, 0.3), st.tuples(*[st.floats(-5, 5)] * 3))
def test_displacements_are_length_and_angle(axis, angle, translation):
    frame = rigid(rotation_vector(axis, angle), translation)
    lengths, turns = rigid_displacements(frame[None])
    assert lengths[0] == pytest.approx(np.linalg.norm(translation))
    assert turns[0] == pytest.approx(angle, abs=1e-9)


def test_misalignment_is_the_mean_over_known_frames():
    frames = np.stack(
        [
            rigid([0.02, 0, 0], [3, 4, 0]),
            np.full((4, 4), np.nan),
            rigid([0, 0.04, 0], [0, 0, 1]),
        ]
    )
    translation, rotation, n_frames = residual_misalignment(frames)
    assert (translation, rotation, n_frames) == (pytest.approx(3), pytest.approx(0.03), 2)


def test_a_subject_without_frames_has_missing_motion_not_zero():
    for frames in (np.full((3, 4, 4), np.nan), np.empty((0, 4, 4))):
        translation, rotation, n_frames = residual_misalignment(frames)
        assert np.isnan(translation) and np.isnan(rotation) and n_frames == 0
    assert np.isnan(mean_of_known([]))
    assert np.isnan(mean_relative_rms([[0.0, 0.0]]))


def test_head_motion_leaves_out_the_first_volume_and_missing_ones():
    rms = [[0, 0], [1, 0.2], [1, np.nan], [1, 0.6]]
    assert mean_relative_rms(rms) == pytest.approx(0.4)


@pytest.mark.parametrize(
    ("matrix", "sentence"),
    [
        (np.diag([1.08, 1.08, 1.08, 1]), r"x\.mat: transform is not rigid \(det 1\.26\)"),
        (np.diag([-1, 1, 1, 1]), r"not rigid \(det -1\)"),
        (np.diag([2, 0.5, 1, 1]), r"not rigid \(det 1, RᵀR differs from 1 by 3\)"),
        (np.diag([1, 1, 1, 2]), "last row"),
        (np.diag([1, 1, 1e200, 1]), "not rigid"),
        (np.diag([1, np.inf, 1, 1]), "infinite"),
        (np.eye(3), "shape"),
        ([["a"]], "cannot be read as numbers"),
    ],
)
def test_what_is_not_rigid_is_refused(matrix, sentence):
    with pytest.raises(InputError, match=sentence):
        check_rigid(matrix, name="x.mat")


def test_matrices_written_with_six_decimals_pass():
    frame = rigid([0.1, -0.2, 0.05], [1, 2, 3]).round(6)
    assert check_rigid(frame).tolist() == frame.tolist()
    with pytest.raises(InputError, match="not rigid"):
        check_rigid(frame.round(2))


def test_parameters_turn_in_fsls_sense_and_order():
    a, b, c = angles = np.array([0.011, -0.004, 0.02])
    transform = parameters_to_transforms([[0.4, -1.2, 0.75, *angles]])[0]
    about_x = [[1, 0, 0], [0, np.cos(a), np.sin(a)], [0, -np.sin(a), np.cos(a)]]
    about_y = [[np.cos(b), 0, -np.sin(b)], [0, 1, 0], [np.sin(b), 0, np.cos(b)]]
    about_z = [[np.cos(c), np.sin(c), 0], [-np.sin(c), np.cos(c), 0], [0, 0, 1]]
    expected = np.array(about_x) @ about_y @ about_z
    assert np.allclose(transform[:3, :3], expected, atol=1e-15)
    assert transform[:3, 3].tolist() == [0.4, -1.2, 0.75]


def test_missing_parameters_are_a_missing_frame():
    parameters = [[0, 0, 0, 0.1, 0, 0], [np.nan] * 6, [1, 0, 0, np.nan, 0, 0]]
    lengths, turns = rigid_displacements(parameters_to_transforms(parameters))
    assert turns[0] == pytest.approx(0.1)
    assert np.isnan(lengths[1:]).all() and np.isnan(turns[1:]).all()


def test_framewise_displacement_by_hand():
    parameters = [[0, 0, 0, 0, 0, 0], [1, -1, 0, 0.01, 0, 0], [1, -1, 0, 0, 0, -0.02]]
    found = framewise_displacement(parameters)
    assert np.isnan(found[0])
    assert found[1:] == pytest.approx([2.5, 1.5])
    assert framewise_displacement(parameters, radius_mm=80)[1] == pytest.approx(2.8)
    assert framewise_displacement(np.empty((0, 6))).shape == (0,)
