"""One rule for whose file it is: connectomes, motion and tables of the same layout agree."""

from pathlib import Path

import numpy as np
import pytest

import motion_samples as samples
from connectome_files import COUNTS
from stillome.exceptions import FileError
from stillome.io.cohorts import read_cohort
from stillome.io.connectomes import read_connectomes
from stillome.io.find_subjects import subjects_of
from stillome.io.motion.summary import read_motion

ROOT = Path("/study")
RMS = samples.lines([[0, 0], [0.1, 0.2]])
IMAGE_QC = "raw_num_directions\tmean_fd\n64\t0.25\n"
# A folder and the beginning of a file's name, and the ids of two subjects in them.
LAYOUTS = {
    "BIDS": ("sub-{}/dwi/sub-{}_", ("A01", "A02")),
    "BIDS below sites": ("site{1}/sub-{0}/dwi/sub-{0}_", ("A01", "A02")),
    "NDAR": ("sub-NDAR_INV{}/", ("NDARINVA", "NDARINVB")),
    "folders below sites": ("site{1}/{0}/T1w/Diffusion/", ("100307", "100408")),
    "folders below unnamed sites": ("Utrecht{1}/{0}/dwi/", ("100307", "100408")),
    "folders": ("{}/dwi/", ("100307", "100408")),
    "folders of a step": ("derivatives/{}/", ("HC_001", "PT_002")),
    "UK Biobank": ("{}_31020_2_0/", ("1000001", "1000002")),
    "flat": ("{}_", ("100307", "100408")),
    "flat, with a group": ("{}_", ("HC_001", "PT_002")),
    "flat below a step": ("connectomes/{}_", ("100307", "100408")),
    "flat below a site": ("siteA/{}_", ("100307", "100408")),
}


def place(layout: str, subject: str, number: int) -> str:
    pattern, _ = LAYOUTS[layout]
    bare = subject.removeprefix("NDARINV")
    return pattern.format(bare, number) if "{0}" in pattern else pattern.format(bare, bare)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_connectomes_motion_and_tables_find_the_same_people(layout: str, tmp_path: Path) -> None:
    ids = LAYOUTS[layout][1]
    for number, subject in enumerate(ids):
        start = tmp_path / "study" / place(layout, subject, number)
        stem = str(start) + ("" if place(layout, subject, number).endswith("_") else "/")
        path = samples.write(f"{stem}connectome.csv", "")
        np.savetxt(path, COUNTS[number], delimiter=",")
        samples.write(f"{stem}eddy.eddy_movement_rms", RMS)
        samples.write(f"{stem}image_qc.tsv", IMAGE_QC)
    study = tmp_path / "study"
    assert read_connectomes(study).subject_ids == ids
    motion = read_motion(study)
    assert tuple(motion.index) == ids
    assert motion["fd_mm"].tolist() == [0.25, 0.25]
    assert tuple(read_cohort(study, motion=study).subject_ids) == ids


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["count_100307.csv", "count_100408.csv"], ["100307", "100408"]),
        (["100307_cm_count_raw.mat"], ["100307"]),
        (["HC_001.par"], ["HC_001"]),
        (["HC_001.par", "HC_002.par", "PT_003.par"], ["HC_001", "HC_002", "PT_003"]),
        (["A_count.csv", "A_len.csv", "B_count.csv"], ["A", "A", "B"]),
        (["A_x.csv", "A_y.csv", "B_x.csv", "B_y.csv"], ["A", "A", "B", "B"]),
        (["NDAR_INVA_c.csv", "NDAR_INVB_c.csv"], ["NDARINVA", "NDARINVB"]),
        (["a/1.csv", "a/2.csv", "b/3.csv", "b/4.csv"], ["1", "2", "3", "4"]),
        (["a/sc.npy", "a/len.npy", "b/sc.npy", "b/len.npy"], ["a", "a", "b", "b"]),
        (["a/1.csv", "b/2.csv"], ["a", "b"]),
        (["sub-1/x.csv", "2/x.csv"], ["sub-1", "2"]),
    ],
)
def test_ids_in_file_names_and_folders(names: list[str], expected: list[str]) -> None:
    assert subjects_of([ROOT / name for name in names], ROOT) == expected


def test_a_folder_above_is_asked_last(tmp_path: Path) -> None:
    frame = ROOT / "100307" / "T1w" / "b0_03.mat"
    assert subjects_of([frame], ROOT / "100307" / "T1w", frames=True) == ["100307"]
    assert subjects_of([frame], ROOT, frames=True) == ["100307"]
    one = ROOT / "sub-A" / "dwi" / "one.par"
    assert subjects_of([one]) == ["sub-A"]
    # A user whose name looks like a subject's is none if the files are named.
    flat = [Path("/home/sub-lab/flat/100307.csv"), Path("/home/sub-lab/flat/100408.csv")]
    assert subjects_of(flat, flat[0].parent) == ["100307", "100408"]
    with pytest.raises(FileError, match="neither its name nor a folder names a subject"):
        subjects_of([Path("/data/dwi/connectome.csv")], Path("/data/dwi"))


def test_two_pipelines_of_the_same_people_are_two_choices(tmp_path: Path) -> None:
    for pipeline in ("first", "second"):
        for i, subject in enumerate(("sub-1", "sub-2")):
            path = samples.write(tmp_path / pipeline / subject / "connectome.csv", "")
            np.savetxt(path, COUNTS[i], delimiter=",")
    with pytest.raises(FileError, match=r"first/\*/connectome.csv, second/\*/connectome.csv"):
        read_connectomes(tmp_path)
