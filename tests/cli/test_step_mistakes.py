"""Users' mistakes with every step: one sentence, exit code 2, nothing left behind."""

import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from stillome.cli import main
from stillome.cohort.cohort import Cohort
from stillome.io.write_cohort import write_cohort

N_SUBJECTS, REGIONS = 32, ["a", "b", "c", "d", "e", "f"]


def tiny(n_subjects=N_SUBJECTS, regions=REGIONS):
    rng = np.random.default_rng(1)
    motion = rng.gamma(2.0, 0.2, n_subjects)
    rates = 20 * np.exp(-motion)[:, None, None]
    upper = np.triu(rng.poisson(rates, (n_subjects, len(regions), len(regions))), 1)
    traits = pd.DataFrame(rng.normal(size=(n_subjects, 2)), columns=["reading", "age"])
    return Cohort(
        [f"{i:02d}" for i in range(n_subjects)],
        upper + np.swapaxes(upper, 1, 2),
        motion=pd.DataFrame({"rms_mm": motion, "fd_mm": 2 * motion}),
        traits=traits.assign(unknown=np.nan, same=1.0, site="A"),
        regions=pd.DataFrame({"name": regions}),
    )


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    """Studies of all sizes, a model with and one without traits, and places for results."""
    root = tmp_path_factory.mktemp("mistakes")
    write_cohort(root / "study", tiny(), form="relmat")
    write_cohort(root / "one", tiny(1), form="relmat")
    write_cohort(root / "two", tiny(2), form="relmat")
    write_cohort(root / "other", tiny(regions=[*REGIONS[:5], "thalamus"]), form="relmat")
    write_cohort(root / "larger", tiny(regions=[*REGIONS, "g"]), form="relmat")
    (root / "file").touch()
    (root / "taken").mkdir()
    (root / "taken" / "mine.txt").write_text("a diary")
    (root / "taken.tsv").write_text("a table")
    (root / "fd.tsv").write_text(
        "participant_id\tfd_mm\n" + "".join(f"{i:02d}\t{i}\n" for i in range(N_SUBJECTS))
    )
    (root / "text.tsv").write_text("participant_id\tz_1\n00\thigh\n01\tlow\n")
    (root / "constant.tsv").write_text("participant_id\tz_1\n00\t1\n01\t1\n")
    study = [f"--connectomes={root}/study/connectomes", f"--motion={root}/study/motion.tsv"]
    fit = ["fit", *study, "--confound=rms_mm", "--method=edgewise", "--quiet"]
    assert main([*fit, f"--out={root}/model"]) == 0
    traits = [f"--traits={root}/study/participants.tsv", "--trait=reading"]
    assert main([*fit, *traits, f"--out={root}/reader"]) == 0
    shutil.copytree(root / "model", root / "damaged")
    (root / "damaged" / "arrays.safetensors").write_bytes(b"")
    return root


STUDY = "--connectomes {r}/study/connectomes --motion {r}/study/motion.tsv"
TRAITS = "--traits {r}/study/participants.tsv"
ONE = "--connectomes {r}/one/connectomes --motion {r}/one/motion.tsv"
TWO = "--connectomes {r}/two/connectomes --motion {r}/two/motion.tsv"
FIT = "fit --confound rms_mm --out {r}/new"
COMPARE = f"compare --confound rms_mm --out {{r}}/new {TRAITS} --method edgewise --jobs 1"
APPLIED = {
    "transform": "transform {r}/reader --out {r}/new.tsv",
    "predict": "predict {r}/reader --out {r}/new.tsv",
    "adjust": "adjust {r}/reader --out {r}/new",
}
CERTIFY = "certify {r}/study/connectomes --confound rms_mm"

MISTAKES = [
    ("simulate", "--out"),
    ("simulate --out {r}/taken", "exists already"),
    ("simulate --out {r}/taken --overwrite", "holds other things"),
    ("simulate --out {r}/file/new --subjects 2", "cannot be"),
    ("simulate --out {r}/new --subjects 0", "greater than or equal to 1"),
    ("simulate --out {r}/new --regime lunar", "lunar"),
    ("simulate --out {r}/new --format excel", "excel"),
    (f"{FIT} --motion {{r}}/study/motion.tsv", "--connectomes"),
    (f"{FIT} --connectomes {{r}}/study/connectomes", "--motion"),
    (f"{FIT} --connectomes {{r}}/none --motion {{r}}/study/motion.tsv", "no such file"),
    (f"{FIT} --connectomes {{r}}/study/connectomes --motion {{r}}/none.tsv", "no such file"),
    (f"{FIT} {STUDY} --traits {{r}}/none.tsv --trait reading", "no such file"),
    (f"{FIT} {STUDY} --subjects {{r}}/none.txt", "no such file"),
    (f"{FIT} {STUDY} --labels {{r}}/none.txt", "no such file"),
    (f"{FIT} {STUDY} --trait reading", "Name the table with --traits"),
    (f"{FIT} {STUDY} {TRAITS} --trait wisdom", "no column 'wisdom'"),
    (f"{FIT} {STUDY} {TRAITS} --trait unknown", "no value for any of the 32 subjects"),
    (f"{FIT} {STUDY} {TRAITS} --trait same", "is 1 for everybody"),
    (f"{FIT} {STUDY} {TRAITS} --trait site", "holds text"),
    (f"{FIT} {STUDY} {TRAITS} --keep site", "column to keep 'site' does not differ"),
    (f"{FIT} {STUDY} {TRAITS} --keep unknown", "column to keep 'unknown' is missing for everybody"),
    (f"{FIT} {STUDY} --confound speed", "no column 'speed'"),
    (f"{FIT} {STUDY} --method magic", "no method 'magic'"),
    (f"{FIT} {STUDY} --set wings=2", "no parameter 'wings'"),
    (f"{FIT} {STUDY} --set wings", "expected NAME=VALUE"),
    (f"{FIT} {STUDY} --set n_components=many", "n_components='many'; expected a whole number"),
    (f"{FIT} {STUDY} --set lengths=3", "cannot be set by a value. Pass --lengths"),
    (f"{FIT} {STUDY} --set callback=print --method gate", "cannot be set by a value"),
    (f"{FIT} {STUDY} --set random_state=abc", "--set random_state='abc'; expected a whole number"),
    (
        f"{FIT} {STUDY} --set rank=3",
        "it has invariance_weight, memory, n_components, rand",
    ),
    (f"{COMPARE} {STUDY} --trait reading --set n_components=0", "--set n_components=0; expected"),
    (f"{FIT} {STUDY} --invariance-weight half", "--invariance-weight half; expected"),
    (f"{FIT} {STUDY} --invariance-weight 1.5", "--invariance-weight 1.5; expected"),
    (f"{FIT} {STUDY} --invariance-weight 1 --method sog", "no parameter 'invariance_weight'; it"),
    (f"{FIT} {STUDY} --seed -1", "seed"),
    (f"{FIT} {STUDY} --wings", "--wings"),
    (f"{FIT} {ONE}", "1 subject has"),
    (f"{FIT} {TWO}", "at least"),
    (f"{FIT} {TWO} --method edgewise", "at least"),
    (f"fit {STUDY} --confound rms_mm --out {{r}}/taken", "exists already"),
    (f"fit {STUDY} --confound rms_mm --out {{r}}/taken --overwrite", "holds other things"),
    (f"fit {STUDY} --confound rms_mm --out {{r}}/file/new", "cannot be"),
    (f"predict {{r}}/model --out {{r}}/new.tsv {STUDY}", "fitted without traits"),
    (f"transform {{r}}/reader {STUDY} --out {{r}}/new.csv", "written as .tsv"),
    (f"transform {{r}}/reader {STUDY} --out {{r}}/taken.tsv", "exists already"),
    (f"transform {{r}}/reader {STUDY} --out {{r}}/file/new.tsv", "cannot be"),
    (f"adjust {{r}}/reader {STUDY} --out {{r}}/taken", "exists already"),
    (f"adjust {{r}}/reader {STUDY} --out {{r}}/taken --overwrite", "holds other things"),
    (f"adjust {{r}}/reader {STUDY} --out {{r}}/file/new", "cannot be"),
    (f"{APPLIED['adjust']} {STUDY} --reference far", "not a number"),
    (f"{APPLIED['adjust']} {STUDY} --reference fd_mm=1", "fitted with rms_mm"),
    (f"{APPLIED['adjust']} {STUDY} --reference 1 --reference 2", "2 value(s)"),
    (f"{APPLIED['adjust']} {STUDY} --reference nan", "finite"),
    (f"{APPLIED['adjust']} {STUDY} --draws 3", "takes no --draws"),
    (f"{APPLIED['adjust']} {STUDY} --coupling thinning", "takes no --coupling"),
    (f"{APPLIED['adjust']} {STUDY} --format excel", "excel"),
    ("certify {r}/none --motion {r}/study/motion.tsv --confound rms_mm", "no such file"),
    (f"{CERTIFY} --motion {{r}}/none.tsv", "no such file"),
    (CERTIFY, "--motion"),
    (f"{CERTIFY} --motion {{r}}/study/motion.tsv --against {{r}}/none", "no such file"),
    (f"{CERTIFY} --motion {{r}}/study/motion.tsv --against {{r}}/one/connectomes", "'01'"),
    (f"{CERTIFY} --motion {{r}}/study/motion.tsv --confound speed", "no column 'speed'"),
    (f"{CERTIFY} --motion {{r}}/study/motion.tsv --group site", "--traits"),
    (f"{CERTIFY} --motion {{r}}/study/motion.tsv {TRAITS} --group clan", "no column 'clan'"),
    (f"{CERTIFY} --motion {{r}}/study/motion.tsv {TRAITS} --nuisance unknown", "no value for any"),
    (f"{CERTIFY} --motion {{r}}/study/motion.tsv {TRAITS} --group site", "1 groups"),
    (f"{CERTIFY} --motion {{r}}/study/motion.tsv --level 2", "level"),
    (f"{CERTIFY} --motion {{r}}/study/motion.tsv --out {{r}}/taken.tsv", "exists already"),
    (f"{CERTIFY} --motion {{r}}/study/motion.tsv --out {{r}}/taken", "written as .tsv"),
    ("certify {r}/text.tsv --motion {r}/study/motion.tsv --confound rms_mm", "holds text"),
    ("certify {r}/constant.tsv --motion {r}/study/motion.tsv --confound rms_mm", "2 subjects"),
    ("certify {r}/one/connectomes --motion {r}/one/motion.tsv --confound rms_mm", "1 subject has"),
    ("certify {r}/two/connectomes --motion {r}/two/motion.tsv --confound rms_mm", "too few"),
    (f"{COMPARE} {STUDY}", "--trait"),
    (f"{COMPARE} {STUDY} --trait unknown", "no value for any of the 32 subjects"),
    (f"{COMPARE} {STUDY} --trait site", "holds text"),
    (f"{COMPARE} {STUDY} --trait wisdom", "no column 'wisdom'"),
    (f"{COMPARE} {STUDY} --trait reading --method magic", "no method 'magic'"),
    (f"{COMPARE} {STUDY} --trait reading --set wings=2", "has a parameter 'wings'; edgewise has"),
    (f"{COMPARE} {STUDY} --trait reading --set edgewise.wings=2", "no parameter 'wings'; it has"),
    (f"{COMPARE} {STUDY} --trait reading --set sog.tol=2", "'sog' is not among edgewise"),
    (
        f"{COMPARE} {STUDY} --trait reading --method inv-fa --set invariance_weight=auto",
        "Give a number",
    ),
    (f"{COMPARE} {STUDY} --trait reading --keep reading", "both predicted and kept"),
    (f"{COMPARE} {STUDY} --trait reading --keep site", "'site' does not differ"),
    (f"{COMPARE} {STUDY} --trait reading --folds 1", "folds"),
    (f"{COMPARE} {STUDY} --trait reading --folds 99", "--folds 99 with 32"),
    (f"{COMPARE} {STUDY} --trait reading --jobs 0", "jobs"),
    (f"{COMPARE} {STUDY} --trait reading --truth {{r}}/none", "no such file"),
    (f"{COMPARE} {STUDY} --trait reading --truth {{r}}/larger/connectomes", "7 regions"),
    (f"{COMPARE.replace('study', 'one')} {ONE} --trait reading", "1 subject has"),
    (f"{COMPARE.replace('study', 'two')} {TWO} --trait reading", "known of 2 subjects"),
    (f"{COMPARE.replace('{r}/new', '{r}/taken')} {STUDY} --trait reading", "exists already"),
    (f"{COMPARE.replace('{r}/new', '{r}/file/new')} {STUDY} --trait reading", "cannot be"),
    ("sample {r}/study --out {r}/new", "not a saved stillome model"),
    ("sample {r}/model --out {r}/taken", "exists already"),
    ("sample {r}/model --out {r}/new --subjects 0", "greater than or equal to 1"),
    ("report {r}/none", "run.json"),
    ("report {r}/study", "run.json"),
    ("report", "RUN"),
]
for _verb, _start in APPLIED.items():
    _out = _start.split("--out")[1]
    MISTAKES += [
        (f"{_start} --motion {{r}}/study/motion.tsv", "--connectomes"),
        (f"{_start} --connectomes {{r}}/none", "no such file"),
        (f"{_start} --connectomes {{r}}/study/connectomes --motion {{r}}/none", "no such file"),
        (f"{_start} --connectomes {{r}}/study/connectomes", "needs the confounds"),
        (f"{_start} --connectomes {{r}}/study/connectomes --motion {{r}}/fd.tsv", "'rms_mm'"),
        (f"{_start} {STUDY.replace('study/c', 'other/c')}", "no region 'f'"),
        (f"{_start} {STUDY.replace('study/c', 'larger/c')}", "7 regions; the model"),
        (f"{_start} {STUDY} --wings", "--wings"),
        (f"{_verb} {{r}}/none --out {_out} {STUDY}", "not a saved stillome model"),
        (f"{_verb} {{r}}/study --out {_out} {STUDY}", "not a saved stillome model"),
        (f"{_verb} {{r}}/file --out {_out} {STUDY}", "not a saved stillome model"),
        (f"{_verb} {{r}}/damaged --out {_out} {STUDY}", "damaged"),
    ]


@pytest.mark.parametrize(("command", "says"), MISTAKES, ids=[str(i) for i in range(len(MISTAKES))])
def test_a_mistake_is_one_sentence(command, says, places, capsys):
    capsys.readouterr()
    before = sorted(str(path) for path in places.rglob("*"))
    assert main([word.format(r=places) for word in command.split()]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert says in err
    assert err.count("\n") == 1
    assert "Traceback" not in err
    assert sorted(str(path) for path in places.rglob("*")) == before


@pytest.mark.parametrize("verb", list(APPLIED))
@pytest.mark.parametrize("study", ["one", "two"])
def test_one_subject_is_enough_for_a_model(verb, study, places, tmp_path):
    subjects = [
        f"--connectomes={places}/{study}/connectomes",
        f"--motion={places}/{study}/motion.tsv",
    ]
    out = tmp_path / ("new" if verb == "adjust" else "new.tsv")
    assert main([verb, f"{places}/reader", *subjects, f"--out={out}", "--quiet"]) == 0
    assert out.exists()


def test_an_earlier_result_is_replaced_when_allowed(places, tmp_path, capsys):
    subjects = [f"--connectomes={places}/study/connectomes", f"--motion={places}/study/motion.tsv"]
    for verb, out in (("transform", tmp_path / "z.tsv"), ("adjust", tmp_path / "adjusted")):
        arguments = [verb, f"{places}/reader", *subjects, f"--out={out}", "--quiet"]
        assert main(arguments) == 0
        assert main(arguments) == 2
        assert main([*arguments, "--overwrite"]) == 0
        assert capsys.readouterr().out == f"{out}\n{out}\n"


def test_a_folder_nobody_may_write_to_is_named(places, capsys):
    out = Path("/proc/nowhere/new")
    assert main(["simulate", "--subjects", "2", "--out", str(out)]) == 2
    err = capsys.readouterr().err
    assert "cannot be written" in err and err.count("\n") == 1
