"""Files and words as people have them: names of motion, doubtful subjects, ids, a study."""

import shutil

import numpy as np
import pandas as pd
import pytest

from small_study import small_cohort
from stillome.cli import main
from stillome.cli.options import Keep
from stillome.io.write_cohort import write_cohort
from stillome.methods.fitted import load_fitted

pytestmark = pytest.mark.filterwarnings("default::stillome.exceptions.StillomeWarning")
N = 40


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    root = tmp_path_factory.mktemp("people")
    cohort = small_cohort(N)
    write_cohort(root / "study", cohort, motion_free=cohort.connectomes)
    table = cohort.traits[["age", "sex"]].assign(Mean_Rel_RMS=cohort.motion["rms_mm"])
    table["wiggle"] = 3 * cohort.motion["rms_mm"] - 1
    table["n_volumes"] = 300
    table.rename_axis("participant_id").to_csv(root / "people.tsv", sep="\t")
    return root


def fit(place, out, *more, motion="people.tsv"):
    words = ["fit", f"--connectomes={place}/study/connectomes", f"--motion={place}/{motion}"]
    return main([*words, "--method=edgewise", "--set=n_components=3", f"--out={out}", *more])


def test_a_usual_name_is_found_and_said(place, tmp_path, capsys):
    assert fit(place, tmp_path / "model") == 0
    said = capsys.readouterr()
    assert "Note: Motion is measured by Mean_Rel_RMS" in said.err and "--confound" in said.err
    assert "motion is Mean_Rel_RMS" in said.out
    apply = ["transform", f"{tmp_path}/model", f"--connectomes={place}/study/connectomes"]
    assert main([*apply, f"--motion={place}/people.tsv", f"--out={tmp_path}/z.tsv"]) == 0


def test_any_column_of_numbers_can_be_named(place, tmp_path):
    assert fit(place, tmp_path / "model", "--confound=wiggle") == 0
    assert load_fitted(tmp_path / "model").confounds == ("wiggle",)
    apply = ["adjust", f"{tmp_path}/model", f"--connectomes={place}/study/connectomes"]
    assert main([*apply, f"--motion={place}/people.tsv", f"--out={tmp_path}/new"]) == 0
    assert main(["motion", f"{place}/people.tsv", "--confound=age", f"--out={tmp_path}/m.tsv"]) == 0
    assert list(pd.read_csv(tmp_path / "m.tsv", sep="\t"))[1:] == ["Mean_Rel_RMS", "age"]


def test_a_column_of_both_tables_is_a_trait_unless_its_name_is_of_motion(place, tmp_path):
    more = ["--confound=Mean_Rel_RMS", "--confound=age", f"--traits={place}/people.tsv"]
    assert fit(place, tmp_path / "model", *more, "--trait=wiggle") == 0
    coding = load_fitted(tmp_path / "model").coding
    assert (coding.motion, tuple(coding.numbers)) == (("Mean_Rel_RMS",), ("age",))


@pytest.mark.parametrize("verb", ["fit", "run"])
def test_one_subject_is_too_few_whatever_motion_is_called(verb, place, tmp_path, capsys):
    words = [verb, f"--connectomes={place}/study/connectomes", f"--motion={place}/people.tsv"]
    assert main([*words, "--subject=003", f"--out={tmp_path}/new"]) == 2
    note, said = capsys.readouterr().err.splitlines()
    assert note.startswith("Note: Motion is measured by Mean_Rel_RMS")
    assert "1 subject" in said and "usual name" not in said
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (["--confound=sex"], "motion has no column 'sex'"),
        (["--confound=n_volumes"], "'n_volumes' is 300.0 for all 40 subjects"),
        (["--subjects=nobody.txt"], "no such file"),
        (["--subject=999"], "no connectome of '999'"),
    ],
)
def test_mistakes_are_one_sentence(place, tmp_path, capsys, more, says):
    assert fit(place, tmp_path / "model", *more) == 2
    (said,) = capsys.readouterr().err.splitlines()
    assert says in said


def test_text_is_kept_and_the_coding_is_stored(place, tmp_path, capsys):
    more = [f"--traits={place}/people.tsv", "--keep=sex", "--keep=age"]
    assert fit(place, tmp_path / "model", *more) == 0
    keeping = load_fitted(tmp_path / "model").keeping
    assert keeping.levels == {"sex": ("f", "m")} and list(keeping.numbers) == ["age"]
    assert "It keeps age, sex." in capsys.readouterr().out
    assert "numbers or text" in Keep.__metadata__[0].help


@pytest.fixture
def doubtful(place, tmp_path):
    """Connectomes of which the first is empty."""
    folder = tmp_path / "study" / "connectomes"
    shutil.copytree(place / "study" / "connectomes", folder)
    files = sorted(folder.glob("*.csv"))
    np.savetxt(files[0], np.zeros_like(np.loadtxt(files[0], delimiter=",")), "%d", delimiter=",")
    return folder, files


def test_an_empty_connectome_is_left_out_and_listed(place, doubtful, tmp_path, capsys):
    words = ["fit", f"--connectomes={doubtful[0]}", f"--motion={place}/study/motion.tsv"]
    words += ["--confound=rms_mm", "--method=edgewise", f"--dropped={tmp_path}/dropped.tsv"]
    assert main([*words, f"--out={tmp_path}/model"]) == 0
    said = capsys.readouterr().err
    assert "no fibre at all in 000" in said and "1 subject was left out (1 with no fibre)" in said
    assert said.count("no fibre") == 2
    assert "000\tno fibre" in (tmp_path / "dropped.tsv").read_text()


@pytest.mark.parametrize("verb", ["fit", "run", "compare"])
def test_identical_subjects_are_refused(verb, place, doubtful, tmp_path, capsys):
    shutil.copy(doubtful[1][1], doubtful[1][2])
    words = [verb, f"--connectomes={doubtful[0]}", f"--motion={place}/study/motion.tsv"]
    words += ["--confound=rms_mm", "--method=edgewise", f"--out={tmp_path}/out"]
    words += [f"--traits={place}/study/participants.tsv", "--trait=reading"]
    assert main(words) == 2
    *_, said = capsys.readouterr().err.splitlines()
    assert "'001' and '002' have the same connectome" in said and "--group" in said


def test_identical_subjects_of_one_group_are_not_refused(place, doubtful, tmp_path):
    shutil.copy(doubtful[1][2], doubtful[1][3])  # both of family F1
    words = ["fit", f"--connectomes={doubtful[0]}", f"--motion={place}/study/motion.tsv"]
    words += ["--confound=rms_mm", "--method=edgewise", "--group=family"]
    words += [f"--traits={place}/study/participants.tsv", f"--out={tmp_path}/out"]
    assert main(words) == 0


def test_a_negative_reference_is_refused_before_anything_is_read(place, tmp_path, capsys):
    assert fit(place, tmp_path / "model", "--confound=Mean_Rel_RMS", "--quiet") == 0
    words = ["adjust", f"{tmp_path}/model", "--connectomes=nowhere", f"--out={tmp_path}/new"]
    assert main([*words, "--reference=-0.2"]) == 2
    assert "Mean_Rel_RMS -0.2 is negative" in capsys.readouterr().err


def test_ids_and_files_of_ids_are_taken_alike(place, tmp_path, capsys):
    (tmp_path / "ids.txt").write_text("sub-003\nsub-005\n")
    folder = f"{place}/study/connectomes"
    out = ["--out", f"{tmp_path}/m.tsv", "--overwrite", "--quiet"]
    for word in ("--subject", "--subjects"):
        for given in ([f"{word}={tmp_path}/ids.txt"], [f"{word}=003", f"{word}=sub-005"]):
            assert main(["inspect", folder, *given]) == 0
            assert "2 (003, 005)" in capsys.readouterr().out
            assert main(["motion", f"{place}/study/motion.tsv", *given, *out]) == 0
            assert len(pd.read_csv(tmp_path / "m.tsv", sep="\t")) == 2
    assert main(["motion", f"{place}/study/motion.tsv", "--subject=999", *out]) == 2


def test_a_study_with_its_truth_is_a_bids_folder(place, tmp_path, capsys):
    words = ["bids", f"{place}/study", f"{tmp_path}/out", "group", "--method=edgewise", "--quiet"]
    words += ["--trait=reading", "--confound=rms_mm", "--baseline=none", "--no-report"]
    assert main([*words, "--n-procs=1"]) == 0
    found = pd.read_csv(tmp_path / "out" / "predictions.tsv", sep="\t")
    expected = found["predicted"] + found["observed"] - found["residual"]
    np.testing.assert_allclose(found["predicted_trait"], expected)
    capsys.readouterr()
    assert main(words) == 2
    said = capsys.readouterr().err
    assert "Pass --resume to continue it, --overwrite to replace it" in said
    one = ["bids", f"{place}/study", f"{tmp_path}/out", "participant", "--subject=003"]
    assert main(one) == 0
    assert (tmp_path / "out" / "sub-003").is_dir()
