"""A study with several scans of a person: read, grouped and divided by person."""

import os

import numpy as np
import pandas as pd
import pytest

from moving_people import MovingPeople
from stillome.cohort.cohort import Cohort
from stillome.cohort.edges import edges_to_matrices
from stillome.cohort.groups import group_levels, grouped_parts
from stillome.io.write_cohort import write_cohort
from stillome.run.participants import apply_to_participants
from stillome.run.study_files import StudyFiles, read_study


@pytest.fixture
def study(tmp_path):
    people = MovingPeople(40)
    traits = pd.DataFrame({"family": [f"F{i // 4}" for i in range(40)]})
    cohort = Cohort(
        [f"{i // 2:03d}_ses-{1 + i % 2}" for i in range(40)],
        edges_to_matrices(people.X),
        motion=pd.DataFrame({"rms_mm": people.motion}),
        traits=traits,
    )
    files = write_cohort(tmp_path / "study", cohort, form="relmat")
    return cohort, StudyFiles(
        connectomes=(os.fspath(files.connectomes),),
        motion=(os.fspath(files.motion),),
        traits=(os.fspath(files.participants),),
    )


def test_every_scan_finds_its_own_motion_and_its_family(study):
    cohort, files = study
    read = read_study(files, ["family"], distinct=True, group="family").cohort
    assert read.subject_ids == cohort.subject_ids
    assert read.motion["rms_mm"].tolist() == pytest.approx(cohort.motion["rms_mm"].tolist())
    levels = group_levels(read.groups("family"), 40)
    for part in grouped_parts(levels[:, 0], 3, np.random.default_rng(0)):
        others = np.setdiff1d(np.arange(40), part)
        assert not {read.people[i] for i in part} & {read.people[i] for i in others}
        assert not set(levels[part, 0]) & set(levels[others, 0])
    assert group_levels(read.groups(), 40).shape == (40, 3)


def test_one_session_can_still_be_read_alone(study):
    _, files = study
    read = read_study(StudyFiles(**vars(files) | {"session": "2"})).cohort
    assert list(read.subject_ids) == [f"{i:03d}" for i in range(20)]
    assert read.groups() is None


def test_the_scans_of_a_participant_get_a_folder_each(study, tmp_path):
    from stillome.cohort.confound_coding import ConfoundCoding
    from stillome.methods.fitted import FittedModel, save_fitted
    from stillome.methods.registry import make_method

    cohort, files = study
    model = make_method("edgewise", n_components=2)
    model.fit(cohort.connectomes, confounds=cohort.confounds(), groups=cohort.groups())
    coding = ConfoundCoding(("rms_mm",))
    save_fitted(FittedModel(model, coding), tmp_path / "out" / "model")
    some = StudyFiles(**vars(files) | {"subjects": ("003",), "traits": ()})
    folders = apply_to_participants(tmp_path / "out", some)
    assert [folder.relative_to(tmp_path / "out").as_posix() for folder in folders] == [
        "sub-003/ses-1",
        "sub-003/ses-2",
    ]
    assert (folders[1] / "dwi" / "sub-003_ses-2_meas-count_relmat.dense.tsv").is_file()
