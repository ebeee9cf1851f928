"""Several sessions of a person: each is a scan, in files and tables of every study."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from stillome.cohort.cohort import Cohort
from stillome.exceptions import FileError, InputError
from stillome.io import read_cohort, read_connectomes, read_motion, read_table
from stillome.io.tables.events import SeveralEventsError
from stillome.io.write_cohort import write_cohort

ABCD = {
    "baselineYear1Arm1": ("baseline_year_1_arm_1", "ses-00A"),
    "2YearFollowUpYArm1": ("2_year_follow_up_y_arm_1", "ses-02A"),
}


def connectome(path: Path, count: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"0,{count},1\n{count},0,2\n1,2,0\n")


def motion_file(path: Path, size: float) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"0 {size}\n" for _ in range(5)))


@pytest.fixture
def abcd(tmp_path):
    """Two people with two visits and one with one, as in the folders of the study."""
    visits = [(person, session) for person in ("X1", "X2") for session in ABCD]
    for number, (person, session) in enumerate([*visits, ("X3", "baselineYear1Arm1")]):
        place = tmp_path / f"sub-NDARINV{person}" / f"ses-{session}" / "dwi"
        connectome(place / f"sub-NDARINV{person}_ses-{session}_connectome.csv", 10 + number)
        motion_file(place / "dwi.eddy_movement_rms", 0.1 * (1 + number))
    return tmp_path


SCANS = [
    "NDARINVX1_ses-2YearFollowUpYArm1",
    "NDARINVX1_ses-baselineYear1Arm1",
    "NDARINVX2_ses-2YearFollowUpYArm1",
    "NDARINVX2_ses-baselineYear1Arm1",
    "NDARINVX3_ses-baselineYear1Arm1",
]


@pytest.mark.parametrize("release", [0, 1], ids=["until 5", "6"])
def test_visits_are_joined_by_the_event_names_of_every_release(abcd, tmp_path, release):
    rows = ["src_subject_id,eventname,age"] if release == 0 else ["participant_id,session_id,age"]
    for person in ("NDAR_INVX1", "NDAR_INVX2", "NDAR_INVX3"):
        for years, names in enumerate(ABCD.values()):
            rows.append(f"{person},{names[release]},{9 + 2 * years}")
    table = tmp_path / "ages.csv"
    table.write_text("\n".join(rows) + "\n")
    families = pd.DataFrame({"family": ["f", "f", "g"]}, index=["NDARINVX1", "NDARINVX2", "X9"])
    families.loc["NDARINVX3"] = "h"
    with pytest.warns(match="no connectome"):
        cohort = read_cohort(abcd, motion=abcd, traits=table)
    assert list(cohort.subject_ids) == SCANS
    assert cohort.traits["age"].tolist() == [11, 9, 11, 9, 9]
    assert cohort.motion["rms_mm"].tolist() == pytest.approx([0.2, 0.1, 0.4, 0.3, 0.5])
    assert cohort.people == [scan.split("_")[0] for scan in SCANS]
    assert cohort.session_ids[0] == "2YearFollowUpYArm1"
    with pytest.warns(match="no connectome"):
        of_people = read_cohort(abcd, traits=families)
    assert of_people.traits["family"].tolist() == ["f", "f", "f", "f", "h"]
    groups = of_people.groups("family")
    assert groups[:, 0].tolist() == ["f", "f", "f", "f", "h"]
    assert groups[:, 1].tolist() == of_people.people
    assert groups[:, 2].tolist() == [1, 0, 1, 0, 0]  # the baseline first


def test_one_session_is_still_chosen_by_any_of_its_names(abcd):
    for name in ("baselineYear1Arm1", "baseline_year_1_arm_1", "00A"):
        cohort = read_cohort(abcd, motion=abcd, session=name)
        assert list(cohort.subject_ids) == ["NDARINVX1", "NDARINVX2", "NDARINVX3"]
        assert cohort.groups() is None
    with pytest.raises(FileError, match="session '04A': no file of it"):
        read_connectomes(abcd, session="04A")


def test_both_visits_of_a_retest_are_scans_of_one_person(tmp_path):
    for number, visit in enumerate(("test", "HCP_Retest")):
        for person in ("100307", "100408"):
            connectome(tmp_path / visit / person / "T1w" / "connectome.csv", 5 + number)
    found = read_connectomes(tmp_path).subject_ids
    people = {"100307", "100408"}
    assert set(found) == {f"{p}_ses-{v}" for p in people for v in ("test", "Retest")}


def test_tables_and_motion_alone_have_a_row_per_session_if_asked(abcd, tmp_path):
    table = tmp_path / "t.tsv"
    table.write_text("participant_id\tsession_id\tage\nsub-A\tses-1\t9\nsub-A\tses-2\t11\n")
    with pytest.raises(SeveralEventsError, match="or 'all' for a row each"):
        read_table(table)
    assert read_table(table, session="all").index.tolist() == ["A_ses-1", "A_ses-2"]
    with pytest.raises(InputError, match=r"several sessions .* or 'all' for a row each"):
        read_motion(abcd)
    assert read_motion(abcd, session="all").index.tolist() == SCANS


def test_connectomes_of_one_visit_do_not_take_the_motion_of_two(tmp_path):
    connectome(tmp_path / "sub-A_connectome.csv", 5)
    connectome(tmp_path / "sub-B_connectome.csv", 6)
    table = tmp_path / "motion.tsv"
    table.write_text("participant_id\tsession_id\trms_mm\nA\t1\t0.1\nA\t2\t0.2\nB\t1\t0.3\n")
    with pytest.raises(SeveralEventsError, match="several events"):
        read_cohort([tmp_path / f"sub-{s}_connectome.csv" for s in "AB"], motion=table)


@pytest.mark.parametrize("form", ["mrtrix", "relmat", "npz"])
def test_a_cohort_of_visits_is_written_as_bids_and_comes_back(tmp_path, form):
    rng = np.random.default_rng(0)
    counts = rng.poisson(20, (4, 5, 5))
    counts = np.triu(counts, 1) + np.swapaxes(np.triu(counts, 1), 1, 2)
    scans = ["A_ses-1", "A_ses-2", "B_ses-1", "B_ses-2"]
    motion = pd.DataFrame({"rms_mm": [0.1, 0.2, 0.3, 0.4]})
    cohort = Cohort(scans, counts, motion=motion, traits=pd.DataFrame({"age": [9, 11, 8, 10]}))
    files = write_cohort(tmp_path / "study", cohort, form=form)
    if form == "relmat":
        name = "sub-A/ses-2/dwi/sub-A_ses-2_meas-count_relmat.dense.tsv"
        assert (files.connectomes / name).is_file()
    header, first = files.motion.read_text().splitlines()[:2]
    assert header.split("\t") == ["participant_id", "session_id", "rms_mm"]
    assert first.split("\t")[:2] == ["sub-A", "ses-1"]
    again = read_cohort(files.connectomes, motion=files.motion, traits=files.participants)
    assert list(again.subject_ids) == scans
    assert again.motion["rms_mm"].tolist() == motion["rms_mm"].tolist()
    assert again.traits["age"].tolist() == [9, 11, 8, 10]
    assert (again.connectomes == counts).all()


def test_a_split_of_a_cohort_divides_no_person():
    counts = np.ones((40, 3, 3)) - np.eye(3)
    cohort = Cohort([f"P{p}_ses-{s}" for p in range(20) for s in "12"], counts)
    train, test = cohort.split(random_state=3)
    assert not set(train.people) & set(test.people)
    assert train.n_subjects + test.n_subjects == 40
