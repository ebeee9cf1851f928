"""Every study on folders shaped like HCP and ABCD, from what a user downloads to the claims."""

import numpy as np
import pytest

from real_folders import N_SUBJECTS, WITHOUT_FLIRT, write_abcd, write_hcp
from stillome.cli import main
from stillome.exceptions import StillomeError
from stillome.studies import real_data, study_cohort
from stillome.studies.catalogue import STUDIES, load_study
from stillome.studies.study import (
    NO_VERDICT,
    Options,
)

# The other two are simulations, which no folder changes.
WITH_DATA = [name for name in STUDIES if name not in ("section4", "breakdown")]
FAMILY = {"HCP": "Family_ID", "ABCD": "rel_family_id"}


class Tiny(Options):
    """Half of a quick run: enough to see that everything is there."""

    def size(self, full, quick):
        return max(1, quick // 2)


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    place = tmp_path_factory.mktemp("users")
    write_hcp(place / "HCP")
    write_abcd(place / "ABCD", 5, flirt=True)
    return place


@pytest.fixture(params=["HCP", "ABCD"])
def study(request, folders):
    return request.param, folders / request.param


@pytest.mark.parametrize("name", WITH_DATA)
@pytest.mark.parametrize("which", ["HCP", "ABCD"])
def test_every_study_runs_on_the_folder_of_a_user(which, name, folders):
    options = Tiny(quick=True, data=folders / which, group=FAMILY[which])
    outcome = load_study(name)(options)
    assert outcome.numbers
    lacking = outcome.dropped.get(study_cohort.NO_FLIRT, [])
    assert len(lacking) == WITHOUT_FLIRT
    for claim in outcome.claims:
        assert claim.verdict != NO_VERDICT or "no transforms" not in claim.why
        assert which in claim.tested and "simulated" not in claim.tested


def test_residual_misalignment_is_what_flirt_measured(study):
    _, folder = study
    read = real_data.load_cohort(folder)
    assert read.cohort.n_subjects == N_SUBJECTS
    known = read.with_residual()
    assert known.cohort.n_subjects == N_SUBJECTS - WITHOUT_FLIRT
    moved = known.cohort.motion[read.head_motion].to_numpy()
    expected = np.sqrt(3) * 0.2 * moved  # the baseline's, not five times as much
    np.testing.assert_allclose(known.cohort.motion["translation_mm"], expected, atol=0.12)
    assert known.cohort.motion["rotation_rad"].between(0, 0.011).all()


def test_a_person_of_a_family_is_on_one_side_only(study):
    which, folder = study
    read = real_data.load_cohort(folder, group=FAMILY[which])
    assert len(np.unique(read.families)) == N_SUBJECTS // 2
    from stillome.studies.synthetic_release import halves

    learn, judge = halves(read, 0)
    assert len(learn.edges) == len(judge.edges) == N_SUBJECTS // 2
    everybody = {row.tobytes(): f for row, f in zip(read.cohort.edges, read.families, strict=True)}
    sides = [{everybody[row.tobytes()] for row in half.edges} for half in (learn, judge)]
    assert not sides[0] & sides[1]


@pytest.mark.parametrize("release", [4, 6])
def test_other_releases_have_other_names(release, tmp_path):
    write_abcd(tmp_path, release, flirt=True)
    column = {4: "rel_family_id", 6: "ab_g_stc__design_id__fam"}[release]
    assert len(np.unique(real_data.load_cohort(tmp_path, group=column).families)) == N_SUBJECTS // 2
    outcome = load_study("motion_effects")(Tiny(quick=True, data=tmp_path, group=column))
    assert set(outcome.numbers["measures"]["measure"]) == {
        "fd_mm",
        "translation_mm",
        "rotation_rad",
    }
    assert len(outcome.dropped[study_cohort.NO_FLIRT]) == WITHOUT_FLIRT


def test_traits_are_those_that_the_figures_show(study):
    which, folder = study
    read = real_data.load_cohort(folder)
    assert len(read.predicted) == 5
    assert read.predicted[0] == read.drawn[0] == "picture vocabulary"
    assert ("oral reading" in read.predicted) == (which == "ABCD")
    assert "oral reading" in read.drawn


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--group", "Family_ID"], "--group needs --data"),
        (["--data", "HCP", "--group", "clan"], "no table has the column 'clan' of families"),
    ],
)
def test_a_group_that_is_not_there_is_named(words, sentence, tmp_path, capsys, monkeypatch):
    write_hcp(tmp_path / "HCP")
    monkeypatch.chdir(tmp_path)
    assert main(["reproduce", "outliers", "--quick", *words]) == 2
    assert sentence in capsys.readouterr().err


def test_two_files_of_a_kind_are_not_chosen_between(tmp_path):
    folder = write_hcp(tmp_path)
    original = next((folder / "100307").rglob("*.eddy_movement_rms"))
    (folder / "100307" / "old").mkdir()
    (folder / "100307" / "old" / original.name).write_bytes(original.read_bytes())
    with pytest.raises(StillomeError, match="both hold eddy_movement_rms of subject '100307'"):
        real_data.load_cohort(folder)
