import json
import re

import numpy as np
import pandas as pd
import pytest
import scipy.io
import typer

import motion_samples as samples
from stillome.cli.motion import motion
from stillome.cohort.motion_names import MOTION_NAMES
from stillome.exceptions import FileError, InputError, StillomeWarning
from stillome.io.motion.columns import MEASURES
from stillome.io.motion.motion_table import write_motion
from stillome.io.motion.rigid import framewise_displacement, rigid_displacements
from stillome.io.motion.summary import read_motion

OUTLIERS = [(1, 5), (4, 4)]


def eddy_folder(folder, stem, seed):
    """Write everything eddy and eddy_quad leave behind; answer the truth."""
    rng = np.random.default_rng(seed)
    rms, parameters = samples.movement_rms(rng), samples.movement_parameters(rng)
    samples.write(folder / f"{stem}.eddy_movement_rms", samples.lines(rms))
    samples.write(folder / f"{stem}.eddy_restricted_movement_rms", samples.lines(rms / 2))
    samples.eddy_parameters(folder / f"{stem}.eddy_parameters", parameters)
    samples.outlier_report(folder / f"{stem}.eddy_outlier_report", OUTLIERS[:seed])
    samples.outlier_map(folder / f"{stem}.eddy_outlier_map", np.eye(8, 5, dtype=int))
    samples.outlier_map(folder / f"{stem}.eddy_outlier_n_stdev_map", np.eye(8, 5))
    samples.quad_json(folder / "quad/qc.json")
    samples.write(folder / f"{stem}.nii.gz", b"\x1f\x8b not looked at")
    return {
        "rms_mm": rms[1:, 1].mean(),
        "rms_absolute_mm": rms[:, 0].mean(),
        "rms_restricted_mm": rms[1:, 1].mean() / 2,
        "translation_mm": np.linalg.norm(parameters[:, :3], axis=1).mean(),
        "fd_mm": np.nanmean(framewise_displacement(parameters)),
        "n_outlier_slices": len(OUTLIERS[:seed]),
        "outliers_percent": 5.5,
    }


@pytest.mark.parametrize(
    ("folder", "stem"),
    [
        ("sub-{}/dwi", "sub-{}"),
        ("{}/T1w/Diffusion/eddylogs", "eddy_unwarped_images"),
        ("derivatives/groupX/{}/eddy", "data"),
        ("", "{}"),
    ],
)
def test_an_eddy_folder_in_every_layout(tmp_path, folder, stem):
    subjects = {"100307": 1, "A02": 2, "NA": 0}
    truth = {
        subject: eddy_folder(
            tmp_path / folder.format(subject) if folder else tmp_path, stem.format(subject), seed
        )
        for subject, seed in subjects.items()
    }
    (tmp_path / "quad/qc.json").unlink(missing_ok=True)
    table = read_motion(tmp_path)
    assert table.index.tolist() == sorted(subjects)
    for subject, expected in truth.items():
        for column in table.columns.intersection(list(expected)):
            assert table.loc[subject, column] == pytest.approx(expected[column]), column
    assert {"rms_mm", "translation_mm", "n_outlier_slices"} <= set(table.columns)
    assert table.attrs["sources"]["rms_mm"] == "eddy_movement_rms"
    assert table.attrs["sources"]["n_outlier_slices"] == "eddy_outlier_report"
    assert "volumes 2 to N" in table.attrs["measures"]["rms_mm"]


def test_one_subjects_own_folder(tmp_path):
    truth = eddy_folder(tmp_path / "100307/T1w/Diffusion/eddylogs", "eddy_unwarped_images", 1)
    for place in ("100307", "100307/T1w/Diffusion/eddylogs"):
        table = read_motion(tmp_path / place)
        assert table["rms_mm"].to_dict() == {"100307": pytest.approx(truth["rms_mm"])}


def test_residual_misalignment_from_flirt_matrices(tmp_path):
    rng = np.random.default_rng(3)
    frames = [
        samples.rigid_transform(rng.normal(size=3) * 0.02, rng.normal(size=3)) for _ in range(6)
    ]
    for number, frame in enumerate(frames):
        samples.flirt(tmp_path / f"sub-A/b0_{number:02d}.mat", frame)
    samples.flirt(tmp_path / "sub-A/b0_06.mat", np.full((4, 4), np.nan))
    samples.flirt(tmp_path / "sub-B/b0_01.mat", np.full((4, 4), np.nan))
    # Neither a registration nor a connectome of the same suffix is a frame.
    samples.flirt(tmp_path / "sub-A/diff2str.mat", np.diag([2, 2, 2, 1]))
    scipy.io.savemat(tmp_path / "sub-A/connectivity.mat", {"connectivity": np.eye(3)})
    table = read_motion(tmp_path)
    lengths, angles = rigid_displacements(frames)
    assert table.loc["A", "translation_mm"] == pytest.approx(lengths.mean())
    assert table.loc["A", "rotation_rad"] == pytest.approx(angles.mean())
    assert table.loc["B"].isna().all()
    assert "residual misalignment" in table.attrs["measures"]["rotation_rad"]
    only_two = read_motion(tmp_path, frames="b0_0[01].mat")
    assert only_two.loc["A", "translation_mm"] == pytest.approx(lengths[:2].mean())


def test_e12_is_raised_for_a_frame_that_is_not_rigid(tmp_path):
    path = samples.flirt(tmp_path / "sub-A/b0_01.mat", np.diag([1.08, 1.08, 1.08, 1]))
    sentence = f"{path}: transform is not rigid (det 1.26); rotation undefined."
    with pytest.raises(FileError, match=re.escape(sentence)):
        read_motion(tmp_path)


@pytest.mark.parametrize("kind", ["flirt", "mcflirt", "ants", "itk"])
def test_all_kinds_of_transforms_agree(tmp_path, kind):
    match kind:
        case "flirt":
            samples.flirt(tmp_path / "sub-A/b0_01.mat")
        case "mcflirt":
            samples.flirt(tmp_path / "sub-A/mcf.mat/MAT_0001")
        case "ants":
            samples.ants_affine(tmp_path / "sub-A/frame1_0GenericAffine.mat")
        case "itk":
            samples.itk_text(tmp_path / "sub-A/frame1.txt")
    lengths, angles = rigid_displacements(samples.rigid_transform()[None])
    found = read_motion(tmp_path).loc["A"]
    assert found.tolist() == pytest.approx([lengths[0], angles[0]])


def test_mcflirt_parameters_and_rms(tmp_path):
    parameters = samples.movement_parameters(np.random.default_rng(0))
    path = tmp_path / "sub-A/run_mcf"
    samples.write(f"{path}.par", samples.lines(parameters[:, [3, 4, 5, 0, 1, 2]]))
    samples.write(f"{path}_rel.rms", "0.1\n0.3\n")
    samples.write(f"{path}_abs.rms", "0\n0.1\n0.3\n")
    found = read_motion(tmp_path).loc["A"]
    assert found["rms_mm"] == pytest.approx(0.2)
    assert found["fd_mm"] == pytest.approx(np.nanmean(framewise_displacement(parameters)))


def test_qsiprep_and_what_is_not_about_diffusion(tmp_path):
    parameters = samples.movement_parameters(np.random.default_rng(1))
    displacements = framewise_displacement(parameters)
    folder = tmp_path / "sub-A01/dwi"
    name = "desc-confounds_timeseries.tsv"
    samples.qsiprep_confounds(folder / f"sub-A01_{name}", parameters, displacements)
    samples.qsiprep_confounds(folder / f"sub-A01_task-rest_{name}", parameters, displacements * 9)
    samples.image_qc(folder / "sub-A01_desc-image_qc.tsv", {"sub-A01": 0.7})
    table = read_motion(tmp_path)
    assert table.loc["A01", "fd_mm"] == pytest.approx(np.nanmean(displacements))
    assert table.attrs["sources"]["fd_mm"] == "qsiprep_confounds"
    assert len(table.attrs["files"]) == 2


def test_abcd_tables_and_image_quality(tmp_path):
    rows = [("NDAR_INVA", "baseline", "1.1", "0.4", "0.3")]
    columns = ["dmri_dti_meanmotion", "dmri_dti_meantrans", "dmri_dti_meanrot"]
    samples.abcd4(tmp_path / "abcd_dti_p101.txt", rows, columns)
    samples.abcd4(tmp_path / "other.txt", rows, ["dmri_rsi_meanmotion", "x", "y"])
    samples.image_qc(tmp_path / "dwiqc.csv", {"sub-NDARINVA": 0.25}, delimiter=",")
    with pytest.warns(StillomeWarning, match="dmri_dti_meanrot taken as degrees"):
        table = read_motion(tmp_path)
    assert table.index.tolist() == ["NDARINVA"]
    assert table.attrs["sources"] == {
        "translation_mm": "abcd",
        "rotation_rad": "abcd",
        "fd_mm": "image_qc",
    }


def test_a_subject_of_whom_only_the_reference_is_known_has_missing_motion(tmp_path):
    samples.write(tmp_path / "sub-1/e.eddy_movement_rms", "0 0\nnan nan\nnan nan\n")
    samples.write(tmp_path / "sub-1/e.eddy_parameters", "0 0 0 0 0 0\nnan nan nan nan nan nan\n")
    samples.write(tmp_path / "sub-1/x_abs.rms", "0\nnan\n")
    samples.write(tmp_path / "sub-2/e.eddy_movement_rms", "0 0\n0.4 0.4\nnan nan\n")
    table = read_motion(tmp_path)
    assert table.loc["1"].isna().all()
    assert table.loc["2", ["rms_mm", "rms_absolute_mm"]].tolist() == pytest.approx([0.4, 0.2])


def test_mcflirt_gives_both_displacements(tmp_path):
    samples.write(tmp_path / "sub-1/x_abs.rms", "0\n0.5\n1\n")
    samples.write(tmp_path / "sub-1/x_rel.rms", "0.5\n0.25\n")
    table = read_motion(tmp_path)
    assert table.loc["1", ["rms_mm", "rms_absolute_mm"]].tolist() == [0.375, 0.5]
    assert table.attrs["sources"]["rms_absolute_mm"] == "mcflirt_absolute_rms"


def test_measures_of_different_tools_are_not_mixed(tmp_path):
    for number in range(4):
        rms = samples.lines([[0, 0], [0.1, 0.2]])
        samples.write(tmp_path / f"sub-{number}/e.eddy_movement_rms", rms)
    samples.quad_json(tmp_path / "sub-9/qc.json")
    with pytest.warns(
        StillomeWarning, match=r"rms_mm \(1 subjects, e\.g\. '9', not eddy_movement_rms\)"
    ):
        table = read_motion(tmp_path)
    assert np.isnan(table.loc["9", "rms_mm"])
    assert table["rms_mm"].notna().sum() == 4


def test_sessions_are_chosen(tmp_path):
    for session, value in (("01", 0.2), ("02", 0.4)):
        rms = samples.lines([[0, 0], [0.1, value]])
        samples.write(tmp_path / f"sub-A/ses-{session}/x.eddy_movement_rms", rms)
    with pytest.raises(InputError, match=r"several sessions \['01', '02'\]\. Choose session="):
        read_motion(tmp_path)
    assert read_motion(tmp_path, session="02")["rms_mm"].tolist() == [0.4]
    assert read_motion(tmp_path, session="ses-01")["rms_mm"].tolist() == [0.2]
    with pytest.raises(FileError, match="no file about motion found for session '7'"):
        read_motion(tmp_path, session="7")


def test_two_files_of_a_kind_or_two_spellings_are_refused(tmp_path):
    rms = samples.lines([[0, 0], [0.1, 0.2]])
    samples.write(tmp_path / "sub-A/one.eddy_movement_rms", rms)
    samples.write(tmp_path / "A/one.eddy_movement_rms", rms)
    with pytest.raises(InputError, match="ids 'A' and 'sub-A' are the same subject"):
        read_motion(tmp_path)
    samples.write(tmp_path / "sub-A/two.eddy_movement_rms", rms)
    with pytest.raises(InputError, match="both hold eddy_movement_rms of subject 'A'"):
        read_motion(tmp_path / "sub-A")


def test_tables_that_repeat_a_subject_or_hold_no_motion(tmp_path):
    samples.write(tmp_path / "a.tsv", "participant_id\trms_mm\nA\t0.2\n")
    samples.write(tmp_path / "b.tsv", "participant_id\trms_mm\nsub-A\t0.3\n")
    with pytest.raises(InputError, match="was in another file of the same kind"):
        read_motion(tmp_path)
    bad = samples.write(tmp_path / "c.tsv", "participant_id\trms_mm\nA\t-2\n")
    with pytest.raises(InputError, match="'rms_mm' must hold numbers ≥ 0"):
        read_motion(bad)


def test_nothing_to_be_found(tmp_path):
    samples.write(tmp_path / "readme.txt", "hello")
    samples.write(tmp_path / "settings.json", "{}")
    with pytest.raises(FileError, match="no file about motion found"):
        read_motion(tmp_path)
    with pytest.raises(FileError, match=r"readme\.txt: not recognised as a file about motion"):
        read_motion(tmp_path / "readme.txt")
    with pytest.raises(FileError, match="nowhere"):
        read_motion(tmp_path / "nowhere")


def test_every_column_has_a_meaning_and_every_meaning_a_column():
    assert set(MEASURES) == set(MOTION_NAMES)


@pytest.fixture
def study(tmp_path):
    for subject, seed in (("sub-001", 1), ("sub-NA", 2)):
        eddy_folder(tmp_path / "study" / subject, subject, seed)
    return tmp_path / "study"


def test_what_is_written_is_read_back(tmp_path, study):
    table = read_motion(study)
    table.loc["001", "fd_mm"] = np.nan
    sidecar = write_motion(table, tmp_path / "out/motion.tsv", version="1")
    again = read_motion(tmp_path / "out")
    pd.testing.assert_frame_equal(again, table[again.columns])
    content = json.loads(sidecar.read_text())
    assert content["rms_mm"]["Units"] == "mm"
    assert content["rotation_rad"]["Units"] == "rad"
    assert len(content["Inputs"]) == len(table.attrs["files"])
    with pytest.raises(FileError, match="exists"):
        write_motion(table, tmp_path / "out/motion.tsv", version="1")
    with pytest.raises(InputError, match=r"\.tsv"):
        write_motion(table, tmp_path / "motion.csv", version="1")


def run(*arguments):
    app = typer.Typer()
    app.command()(motion)
    app([str(argument) for argument in arguments], standalone_mode=False)


def test_the_command(tmp_path, study, capsys):
    out = tmp_path / "motion.tsv"
    run(study, "--out", out)
    printed = capsys.readouterr().out
    assert printed.startswith("2 subjects, 12 files")
    assert "rms_mm" in printed and "volumes 2 to N" in printed and str(out) in printed
    assert out.read_text().splitlines()[1].startswith("001\t")
    with pytest.raises(FileError, match="exists"):
        run(study, "--out", out)
    run(study / "sub-NA", "--out", out, "--overwrite", "--quiet")
    assert capsys.readouterr().out == f"{out}\n"
    assert out.read_text().splitlines()[1].startswith("NA\t")


def test_the_command_converts_degrees_when_told(tmp_path):
    folder = tmp_path / "sub-A"
    samples.write(folder / "x.par", samples.lines([[0] * 6, [2.0, 0, 0, 0, 0, 0]]))
    out = tmp_path / "motion.tsv"
    with pytest.raises(InputError, match="looks like degrees"):
        run(folder, "--out", out)
    assert not out.exists()
    run(folder, "--out", out, "--rotation-unit", "deg")
    assert read_motion(out).loc["A", "rotation_rad"] == pytest.approx(np.deg2rad(1.0))
