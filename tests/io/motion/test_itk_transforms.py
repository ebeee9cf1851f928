import numpy as np
import pytest
import scipy.io
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import expm

import motion_samples as samples
from stillome.exceptions import FileError
from stillome.io.motion.itk_transforms import mat_kind, read_itk_transform
from stillome.io.motion.rigid import residual_misalignment

small = st.floats(-0.4, 0.4)
# The infinitesimal rotations about x, y and z.
GENERATORS = -np.array([np.cross(axis, np.eye(3)) for axis in np.eye(3)])


@settings(max_examples=25)
@given(st.tuples(small, small, small), st.tuples(*[st.floats(-5, 5)] * 3))
def test_text_and_binary_are_the_transform_that_flirt_would_write(tmp_path, angles, translation):
    transform = samples.rigid_transform(angles, translation)
    text = samples.itk_text(tmp_path / "a.txt", transform)
    binary = samples.ants_affine(tmp_path / "a0GenericAffine.mat", transform)
    assert np.allclose(read_itk_transform(text), transform, atol=1e-12)
    assert np.allclose(read_itk_transform(binary), transform, atol=1e-12)


@pytest.mark.parametrize(("dtype", "order"), [(np.float32, "<"), (np.float64, ">")])
def test_other_precisions_and_byte_orders(tmp_path, dtype, order):
    path = samples.ants_affine(tmp_path / "a.mat", dtype=dtype, order=order)
    assert np.allclose(read_itk_transform(path), samples.rigid_transform(), atol=1e-5)


def itk(tmp_path, kind, parameters, centre="0 0 0"):
    return samples.write(
        tmp_path / "t.txt",
        f"#Insight Transform File V1.0\n#Transform 0\nTransform: {kind}_double_3_3\n"
        f"Parameters: {parameters}\nFixedParameters: {centre}\n",
    )


def test_euler_and_versor_transforms(tmp_path):
    euler = read_itk_transform(itk(tmp_path, "Euler3DTransform", "0.1 0.2 0.3 1 2 3"))
    x, y, z = (expm(angle * g) for angle, g in zip((0.1, 0.2, 0.3), GENERATORS, strict=True))
    expected = z @ x @ y
    assert np.allclose(euler[:3, :3], samples.FLIP @ expected @ samples.FLIP)
    assert euler[:3, 3].tolist() == [-1, -2, 3]
    half = np.sin(0.15)
    versor = read_itk_transform(itk(tmp_path, "VersorRigid3DTransform", f"{half} 0 0 0 0 0"))
    assert residual_misalignment(versor).rotation_rad == pytest.approx(0.3)
    still = read_itk_transform(itk(tmp_path, "VersorRigid3DTransform", "0 0 0 0 0 0"))
    assert (still == np.eye(4)).all()


@pytest.mark.parametrize(
    ("kind", "parameters", "centre", "sentence"),
    [
        ("AffineTransform", "1 2 3", "0 0 0", "cannot be read"),
        ("BSplineTransform", "1 0 0 0 1 0 0 0 1 0 0 0", "0 0 0", "cannot be read"),
        ("AffineTransform", "1 0 0 0 1 0 0 0 1 0 0 0", "0 0", "centre of rotation"),
        ("AffineTransform", "1 0 0 0 1 0 0 0 1 0 0 nan", "0 0 0", "not finite"),
        ("AffineTransform", "1 0 0 0 1 0 0 0 1 0 0 0", "0 0 1e300", "centre of rotation"),
        ("AffineTransform", "2 0 0 0 1 0 0 0 1 0 0 0", "0 0 0", r"not rigid \(det 2\)"),
        ("VersorRigid3DTransform", "2 0 0 0 0 0", "0 0 0", "versor of length 2"),
        ("Affine_2D", "1 2 3", "0 0 0", "three dimensions"),
    ],
)
def test_other_transforms_are_refused(tmp_path, kind, parameters, centre, sentence):
    with pytest.raises(FileError, match=sentence):
        read_itk_transform(itk(tmp_path, kind, parameters, centre))


def test_several_or_half_transforms_are_refused(tmp_path):
    once = samples.itk_text(tmp_path / "a.txt").read_text()
    with pytest.raises(FileError, match="several transforms"):
        read_itk_transform(samples.write(tmp_path / "b.txt", once + once))
    with pytest.raises(FileError, match="no 'FixedParameters'"):
        read_itk_transform(samples.write(tmp_path / "c.txt", once.split("Fixed")[0]))
    alone = samples.mat4_variable("AffineTransform_double_3_3", np.zeros(12))
    with pytest.raises(FileError, match="expected a transform and 'fixed'"):
        read_itk_transform(samples.write(tmp_path / "d.mat", alone))
    with pytest.raises(FileError, match="neither an ITK text transform nor an ANTs"):
        read_itk_transform(samples.flirt(tmp_path / "e.mat"))


def test_three_kinds_of_mat_are_told_apart_by_content(tmp_path):
    connectome = {"connectivity": np.eye(3)}
    scipy.io.savemat(tmp_path / "v5.mat", connectome)
    scipy.io.savemat(tmp_path / "v4.mat", connectome, format="4")
    kinds = {
        samples.flirt(tmp_path / "flirt.mat"): "flirt",
        samples.ants_affine(tmp_path / "ants.mat"): "itk",
        samples.itk_text(tmp_path / "itk.mat"): "itk",
        tmp_path / "v5.mat": "matlab",
        tmp_path / "v4.mat": "matlab",
        samples.write(tmp_path / "v73.mat", b"\x89HDF\r\n\x1a\n"): "matlab",
        samples.write(tmp_path / "text.mat", "1 2 3\n"): "unknown",
        samples.write(tmp_path / "noise.mat", b"\xff\xfe\xfd" * 20): "unknown",
    }
    assert {path: mat_kind(path) for path in kinds} == kinds
