"""What a run left is read whole, and what is wrong with it is said in one sentence."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from stillome.exceptions import FileError
from stillome.persistence import read_json, write_json
from stillome.report import read_results, write_report

NEEDED = [
    "run.json",
    "dropped.tsv",
    "subjects.tsv",
    "latents.tsv",
    "certificates.tsv",
    "certificates.json",
    "fidelity.tsv",
    "graph_measures.tsv",
    "work/cohort/cohort.json",
    "work/cohort/connectomes.npy",
    "work/adjusted.npy",
]
OPTIONAL = ["work/slider.npz", "work/truth.npy", "predictions.tsv", "diagnostics.json"]


def one_sentence(error):
    text = str(error.value)
    return "\n" not in text and len(text) < 600


def test_everything_is_read(results):
    assert results.cohort.n_subjects == len(results.subjects) == 70
    assert results.adjusted.shape == results.truth.shape == results.cohort.connectomes.shape
    assert results.method == "inv-fa"
    assert results.baselines == ["edgewise"]
    assert results.whole_counts
    assert results.slider.keys[0] == "all subjects"
    assert set(results.comparison) == {"folds", "summary", "tests"}
    assert results.certificates["passed"].dtype == bool


def test_ids_that_look_like_numbers_stay_text(copied_run):
    table = pd.read_csv(copied_run / "dropped.tsv", sep="\t", dtype=str)
    table["participant_id"] = ["001", "1e3"]
    table.to_csv(copied_run / "dropped.tsv", sep="\t", index=False)
    assert read_results(copied_run).dropped["participant_id"].tolist() == ["001", "1e3"]


@pytest.mark.parametrize("name", NEEDED)
def test_a_missing_file_is_one_sentence(copied_run, name):
    (copied_run / name).unlink()
    with pytest.raises(FileError) as error:
        read_results(copied_run)
    assert one_sentence(error)
    assert name.split("/")[-1] in str(error.value)


@pytest.mark.parametrize("name", NEEDED + OPTIONAL)
@pytest.mark.parametrize("content", [b"", b"\x00\xff\x93NUMPY nonsense\t\n{]"])
def test_a_damaged_file_is_one_sentence(copied_run, name, content):
    (copied_run / name).write_bytes(content)
    with pytest.raises(FileError) as error:
        read_results(copied_run)
    assert one_sentence(error)


@pytest.mark.parametrize("name", OPTIONAL)
def test_what_was_not_looked_for_may_be_missing(copied_run, name, results):
    (copied_run / name).unlink()
    part = Path(name).stem
    nothing = {} if part == "diagnostics" else None
    assert getattr(read_results(copied_run), part) == nothing
    assert getattr(results, part) is not nothing


def test_results_of_other_subjects_are_refused(copied_run):
    table = pd.read_csv(copied_run / "subjects.tsv", sep="\t")
    table.iloc[::-1].to_csv(copied_run / "subjects.tsv", sep="\t", index=False)
    with pytest.raises(FileError, match="other subjects"):
        read_results(copied_run)


def test_matrices_of_another_size_are_refused(copied_run):
    np.save(copied_run / "work" / "adjusted.npy", np.zeros((3, 4, 4)))
    with pytest.raises(FileError, match="shape"):
        read_results(copied_run)


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("format", "something else", "not that of a stillome run"),
        ("version", 99, "Update stillome"),
        ("settings", None, "damaged"),
        ("settings", {"method": "inv-fa", "confounds": []}, "damaged"),
        ("settings", {"method": "inv-fa", "confounds": ["speed"]}, "no motion column"),
    ],
)
def test_a_foreign_run_is_refused(copied_run, key, value, told):
    write_json(copied_run / "run.json", read_json(copied_run / "run.json") | {key: value})
    with pytest.raises(FileError, match=told):
        read_results(copied_run)


def test_a_text_where_numbers_should_be_is_refused(copied_run):
    text = (copied_run / "certificates.tsv").read_text().replace("ridge\t0", "ridge\tmuch", 1)
    (copied_run / "certificates.tsv").write_text(text)
    with pytest.raises(FileError, match="r2 should hold numbers"):
        read_results(copied_run)


def test_no_run_at_all(tmp_path):
    with pytest.raises(FileError, match=r"run\.json is missing"):
        write_report(tmp_path)
