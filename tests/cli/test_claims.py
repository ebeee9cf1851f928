"""What `compare` and `certify` print about methods, traits and subjects."""

import numpy as np
import pandas as pd
import pytest

from small_study import small_cohort
from stillome.cli import main
from stillome.io.write_cohort import write_cohort


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """A study with a truth, and a trait that few subjects have."""
    cohort = small_cohort(48)
    cohort.traits["rare"] = np.where(np.arange(48) < 12, np.arange(48.0) % 5, np.nan)
    folder = tmp_path_factory.mktemp("claims") / "study"
    write_cohort(folder, cohort, motion_free=2 * cohort.connectomes)
    return folder


def words_of(study):
    places = {"connectomes": "connectomes", "motion": "motion.tsv"}
    return [f"--{option}={study}/{name}" for option, name in places.items()]


def compared(study, tmp_path, capsys, *more):
    words = ["compare", *words_of(study), f"--traits={study}/participants.tsv", "--trait=reading"]
    words += ["--confound=rms_mm", "--method=raw", "--method=edgewise", "--components=4"]
    code = main([*words, "--folds=3", "--jobs=1", f"--out={tmp_path}/out", "--no-leakage", *more])
    return code, capsys.readouterr()


def test_raw_is_a_method_to_compare_with_and_a_small_trait_is_called_small(study, tmp_path, capsys):
    code, said = compared(study, tmp_path, capsys)
    assert code == 0
    rows = [line.split() for line in said.out.splitlines()]
    assert {"raw", "edgewise"} <= {row[0] for row in rows if row}
    assert "too small: 48 subjects" in said.out and "95 % interval" in said.out
    assert "fidelity" not in said.out
    summary = pd.read_csv(tmp_path / "out" / "summary.tsv", sep="\t").set_index("method")
    assert (summary["r_low"] < summary["r_mean"]).all()


def test_fidelity_is_printed_where_the_truth_is_given(study, tmp_path, capsys):
    code, said = compared(study, tmp_path, capsys, f"--truth={study}/truth")
    assert code == 0
    summary = pd.read_csv(tmp_path / "out" / "summary.tsv", sep="\t")
    title, *rows = said.out.splitlines()[1:4]
    assert "fidelity" in title
    for row, value in zip(rows, summary["fidelity"], strict=True):
        assert f"{value:.2f}" in row


def test_a_trait_of_twelve_values_is_refused(study, tmp_path, capsys):
    code, said = compared(study, tmp_path, capsys, "--trait=rare")
    assert code == 2 and said.err.count("\n") == 1
    assert "'rare' is known of 12 subjects, too few to predict it; at least 30" in said.err
    assert said.err.endswith("Leave out --trait.\n")


def test_subjects_are_chosen_in_certify_as_elsewhere(study, tmp_path, capsys):
    table = pd.DataFrame(
        np.random.default_rng(0).normal(size=(48, 2)),
        index=pd.Index([f"{i:03d}" for i in range(48)], name="participant_id"),
        columns=["z_1", "z_2"],
    )
    table.to_csv(tmp_path / "z.tsv", sep="\t")
    words = ["certify", f"{tmp_path}/z.tsv", f"--motion={study}/motion.tsv", "--confound=rms_mm"]
    words += ["--permutations=99", f"--out={tmp_path}/found.tsv"]
    chosen = [f"--subject={i:03d}" for i in range(24)]
    assert main([*words, *chosen]) == 0
    said = capsys.readouterr().out
    assert "Cannot be told with 24 subjects, where only strong leakage is detected: no" in said
    assert "ridge regression" in said.splitlines()[-1]
    few = table.iloc[:24]
    few.to_csv(tmp_path / "few.tsv", sep="\t")
    words[1], words[-1] = f"{tmp_path}/few.tsv", f"--out={tmp_path}/again.tsv"
    assert main(words) == 0
    found, again = (pd.read_csv(tmp_path / n, sep="\t") for n in ("found.tsv", "again.tsv"))
    assert found.drop(columns="features").equals(again.drop(columns="features"))
    assert main([*words, "--subject=nobody", f"--out={tmp_path}/none.tsv"]) == 2
    assert "nobody" in capsys.readouterr().err.splitlines()[-1]
