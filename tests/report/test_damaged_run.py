"""What a run left is read whole, and what is wrong with it is said in one sentence."""

import numpy as np
import pandas as pd
import pytest

from stillome.exceptions import FileError
from stillome.persistence import read_json, write_json
from stillome.report import write_report
from stillome.run import RunFolder
from stillome.run.run_files import FILES

NEEDED = [
    "run.json",
    "dropped.tsv",
    "subjects.tsv",
    "latents.tsv",
    "certificates.tsv",
    "certificates.json",
    "graph_motion.tsv",
    "fidelity.tsv",
    "graph_measures.tsv",
    "motion_effects/qcsc.tsv",
    "motion_effects/groups.tsv",
    "motion_effects_adjusted/qcsc.tsv",
    "work/cohort/cohort.json",
    "work/cohort/connectomes.npy",
    "work/adjusted.npy",
]
OPTIONAL = ["slider", "truth", "predictions", "diagnostics"]
OPTIONAL_FILES = [FILES[key].name for key in OPTIONAL] + ["comparison/summary.tsv"]


def one_sentence(error):
    text = str(error.value)
    return "\n" not in text and len(text) < 600


def test_everything_is_read(folder):
    folder.check()
    assert folder.cohort.n_subjects == len(folder.subjects) == 70
    assert folder.adjusted.shape == folder.truth.shape == folder.cohort.connectomes.shape
    assert folder.latents.shape[0] == 70
    assert folder.method == "inv-fa"
    assert folder.settings.baselines == ("edgewise",)
    assert folder.whole_counts
    assert folder.slider.keys[0] == "all subjects (64 of 70)"
    assert set(folder.comparison) == {"folds", "summary", "tests"}
    uses = [(one.use, one.method, one.features) for one in folder.certificates]
    assert uses[0] == ("cohort", "raw", "connectomes") and len(set(uses)) == len(uses) == 10
    latents, adjusted = folder.baseline("edgewise")
    assert len(latents) == len(adjusted) == 70


def test_ids_that_look_like_numbers_stay_text(copied_run):
    table = pd.read_csv(copied_run / "dropped.tsv", sep="\t", dtype=str)
    table["participant_id"] = ["001", "1e3"]
    table.to_csv(copied_run / "dropped.tsv", sep="\t", index=False)
    assert RunFolder(copied_run).dropped["participant_id"].tolist() == ["001", "1e3"]


@pytest.mark.parametrize("name", NEEDED)
def test_a_missing_file_is_one_sentence(copied_run, name):
    (copied_run / name).unlink()
    with pytest.raises(FileError) as error:
        RunFolder(copied_run).check()
    assert one_sentence(error)
    assert name.split("/")[-1] in str(error.value)


@pytest.mark.parametrize("name", NEEDED + OPTIONAL_FILES)
@pytest.mark.parametrize("content", [b"", b"\x00\xff\x93NUMPY nonsense\t\n{]"])
def test_a_damaged_file_is_one_sentence(copied_run, name, content):
    (copied_run / name).write_bytes(content)
    with pytest.raises(FileError) as error:
        RunFolder(copied_run).check()
    assert one_sentence(error)


@pytest.mark.parametrize("key", OPTIONAL)
def test_what_was_not_looked_for_may_be_missing(copied_run, key, folder):
    (copied_run / FILES[key].name).unlink()
    assert getattr(RunFolder(copied_run), key) is None
    assert getattr(folder, key) is not None


def test_a_damaged_file_says_how_it_is_made_again(copied_run):
    (copied_run / "certificates.tsv").write_text("nothing\n")
    with pytest.raises(FileError, match=r"Remove certificates\.json from the folder and continue"):
        RunFolder(copied_run).check()


def test_results_of_other_subjects_are_refused(copied_run):
    table = pd.read_csv(copied_run / "subjects.tsv", sep="\t")
    table.iloc[::-1].to_csv(copied_run / "subjects.tsv", sep="\t", index=False)
    with pytest.raises(FileError, match="other subjects"):
        RunFolder(copied_run).check()


def test_matrices_of_another_size_are_refused(copied_run):
    np.save(copied_run / "work" / "adjusted.npy", np.zeros((3, 4, 4)))
    with pytest.raises(FileError, match="shape"):
        RunFolder(copied_run).check()


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("format", "something else", "not that of a stillome run"),
        ("version", 99, "Update stillome"),
        ("settings", None, "damaged"),
        ("settings", {"method": "inv-fa"}, "cannot be read"),
        ("settings", {"connectomes": ["a"], "motion": ["b"]}, "damaged"),
        (
            "settings",
            {"connectomes": ["a"], "motion": ["b"], "confounds": ["speed"]},
            "no motion column",
        ),
    ],
)
def test_a_foreign_run_is_refused(copied_run, key, value, told):
    write_json(copied_run / "run.json", read_json(copied_run / "run.json") | {key: value})
    with pytest.raises(FileError, match=told):
        RunFolder(copied_run).check()


def test_a_text_where_numbers_should_be_is_refused(copied_run):
    text = (copied_run / "certificates.tsv").read_text().replace("ridge\t0", "ridge\tmuch", 1)
    (copied_run / "certificates.tsv").write_text(text)
    with pytest.raises(FileError, match="r2 should hold numbers"):
        RunFolder(copied_run).check()


def test_no_run_at_all(tmp_path):
    with pytest.raises(FileError, match=r"run\.json is missing"):
        write_report(tmp_path)
