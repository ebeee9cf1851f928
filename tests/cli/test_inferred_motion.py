"""People whose motion was not measured: it is inferred, said and written out by every verb."""

import shutil

import numpy as np
import pandas as pd
import pytest

from small_study import small_cohort
from stillome.cli import main
from stillome.io.write_cohort import write_cohort

pytestmark = pytest.mark.filterwarnings("default::stillome.exceptions.StillomeWarning")
N = 40


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A fitted inv-FA, and one person alone."""
    root = tmp_path_factory.mktemp("inferred")
    cohort = small_cohort(N)
    write_cohort(root / "study", cohort)
    write_cohort(root / "one", cohort.select([3]))
    words = ["fit", *study(root, "study"), "--confound=rms_mm", "--quiet", "--trait=reading"]
    words += [f"--traits={root}/study/participants.tsv", "--set", "n_components=4"]
    assert main([*words, f"--out={root}/model"]) == 0
    words[words.index("--quiet")] = "--method=edgewise"
    assert main([*words, f"--out={root}/edgewise"]) == 0
    return root


def study(root, name, motion="motion.tsv"):
    given = [f"--connectomes={root}/{name}/connectomes"]
    return given if motion is None else [*given, f"--motion={root}/{name}/{motion}"]


def inferred(path):
    return pd.read_csv(path, sep="\t", dtype={"participant_id": str})


@pytest.mark.parametrize("how", ["no table", "no value", "no row"])
@pytest.mark.parametrize("verb", ["adjust", "transform", "predict"])
def test_one_person_without_motion(verb, how, place, tmp_path, capsys):
    given = study(place, "one", None)
    if how != "no table":
        shutil.copytree(place / "one", tmp_path / "one")
        ids = "sub-003\tn/a\n" if how == "no value" else "sub-003\t0.2\nsub-777\t0.3\n"
        header = "participant_id\trms_mm\n"
        (tmp_path / "one" / "motion.tsv").write_text(header + ids)
        given = study(tmp_path, "one")
        if how == "no row":
            given[0] = f"--connectomes={place}/study/connectomes"
            given += ["--subject=003", "--subject=005"]
    out = tmp_path / ("adjusted" if verb == "adjust" else "table.tsv")
    assert main([verb, f"{place}/model", *given, "--out", str(out)]) == 0
    who = "005" if how == "no row" else "003"
    said = capsys.readouterr().err
    assert f"Note: rms_mm of subject {who!r} was not measured; it is inferred" in said
    assert " ± " in said
    table = out / "inferred_motion.tsv"
    table = table if verb == "adjust" else tmp_path / "table_inferred_motion.tsv"
    found = inferred(table)
    assert found[["participant_id", "column"]].to_numpy().tolist() == [[who, "rms_mm"]]
    truth = small_cohort(N).motion["rms_mm"].iloc[int(who)]
    assert abs(found["value"][0] - truth) < 4 * found["sd"][0]


def test_a_table_of_other_people_is_no_reason_to_infer(place, tmp_path, capsys):
    (tmp_path / "others.tsv").write_text("participant_id\trms_mm\nX1\t0.2\n")
    words = ["adjust", f"{place}/model", *study(place, "one", None), f"--out={tmp_path}/new"]
    assert main([*words, f"--motion={tmp_path}/others.tsv"]) == 2
    assert "Or leave out --motion: it is then inferred." in capsys.readouterr().err


def test_known_motion_is_not_inferred(place, tmp_path, capsys):
    out = tmp_path / "adjusted"
    assert main(["adjust", f"{place}/model", *study(place, "one"), "--out", str(out)]) == 0
    assert "inferred" not in capsys.readouterr().err
    assert not (out / "inferred_motion.tsv").exists()


def test_what_was_adjusted_without_motion_is_read_again(place, tmp_path):
    words = ["adjust", f"{place}/model", *study(place, "study", None), "--out", f"{tmp_path}/new"]
    assert main([*words, "--quiet"]) == 0
    assert len(inferred(tmp_path / "new" / "inferred_motion.tsv")) == N
    certify = ["certify", f"{tmp_path}/new", f"--motion={place}/study/motion.tsv"]
    assert main([*certify, "--confound=rms_mm", "--permutations=20"]) == 0


def test_a_method_that_cannot_infer_says_so(place, tmp_path, capsys):
    words = ["adjust", f"{place}/edgewise", *study(place, "one", None), f"--out={tmp_path}/new"]
    assert main(words) == 2
    assert "confounds" in capsys.readouterr().err


def test_motion_that_nobody_has_is_one_sentence(place, tmp_path, capsys):
    ids = [f"sub-{i:03d}" for i in range(N)]
    pd.DataFrame({"participant_id": ids, "rms_mm": np.nan}).to_csv(
        tmp_path / "none.tsv", sep="\t", na_rep="n/a", index=False
    )
    pd.DataFrame({"participant_id": ids, "rms_mm": 0.3}).to_csv(
        tmp_path / "same.tsv", sep="\t", index=False
    )
    connectomes = f"--connectomes={place}/study/connectomes"
    for method in ("inv-fa", "edgewise"):
        for verb in ("fit", "run"):
            for table, says in (("none", "missing for all 40"), ("same", "is 0.3 for all 40")):
                words = [verb, connectomes, f"--motion={tmp_path}/{table}.tsv"]
                assert main([*words, f"--method={method}", f"--out={tmp_path}/out"]) == 2
                (said,) = capsys.readouterr().err.splitlines()
                assert said.startswith("motion: ") and says in said and "--confound" in said
