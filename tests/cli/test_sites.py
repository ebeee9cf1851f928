"""Scanner sites on the command line: removed with motion, found again in new subjects."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from moving_people import MovingPeople
from small_study import small_cohort, write_derivatives
from stillome import read_cohort
from stillome.cli import main
from stillome.cohort.confound_coding import ConfoundCoding
from stillome.cohort.edges import edges_to_matrices
from stillome.exceptions import StillomeWarning
from stillome.io import read_connectomes, read_table
from stillome.io.write_cohort import write_cohort
from stillome.methods import make_method
from stillome.methods.fitted import FittedModel, load_fitted, save_fitted
from stillome.pipeline import run_pipeline
from stillome.report.methods_text import methods_paragraph
from stillome.report.sections import data_facts, provenance
from stillome.run import RunFolder
from stillome.run.judging import judge_run
from stillome.run.settings import RunSettings

pytestmark = pytest.mark.filterwarnings("default::stillome.exceptions.StillomeWarning")

N, N_NEW = 60, 12


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A study of two sites, some new subjects of one of them, and one of a third site."""
    folder = tmp_path_factory.mktemp("sites")
    people, cohort = MovingPeople(N), small_cohort(N)
    site = np.where(people.site == 1, "Aachen", "Bonn").astype(object)
    site[0], site[1] = "Bonn", "Bonn"  # the most frequent, so that it is the reference
    traits = cohort.traits[["reading", "memory", "sex"]].assign(site=site)
    traits["code"] = np.arange(N) % 4
    traits.loc[traits.index[4], "site"] = None
    both = replace(cohort, connectomes=edges_to_matrices(people.X_sites), traits=traits)
    write_cohort(folder / "study", both)
    new = both.select(np.flatnonzero(site == "Aachen")[::-1][:N_NEW])
    write_cohort(folder / "new", new)
    write_cohort(folder / "third", replace(new, traits=new.traits.assign(site="Celle")))
    return folder


def study(place, name="study"):
    folder = place / name
    return ["--connectomes", f"{folder}/connectomes", "--motion", f"{folder}/motion.tsv"]


def traits(place, name="study"):
    return ["--traits", f"{place}/{name}/participants.tsv"]


def fit_words(place, out):
    words = ["fit", *study(place), *traits(place), "--confound", "site", "--confound", "rms_mm"]
    return [*words, "--trait", "reading", "--set", "n_components=4", "--out", str(out), "--quiet"]


@pytest.fixture(scope="module")
def model(place):
    assert main(fit_words(place, place / "model")) == 0
    return place / "model"


@pytest.fixture(scope="module")
def cohorts(place):
    def read(name):
        folder = place / name
        tables = {"motion": folder / "motion.tsv", "traits": folder / "participants.tsv"}
        return read_cohort(folder / "connectomes", **tables)

    return read("study"), read("new")


def test_the_model_knows_the_sites(model):
    coding = load_fitted(model).coding
    assert coding.names == ("rms_mm", "site=Aachen")
    assert coding.levels == {"site": ("Bonn", "Aachen")}


def test_new_subjects_of_one_site_are_adjusted_to_the_reference_site(
    model, place, cohorts, tmp_path
):
    fitted, (_, new) = load_fitted(model), cohorts
    words = ["adjust", str(model), *study(place, "new"), *traits(place, "new"), "--quiet"]
    confounds = np.column_stack([new.motion["rms_mm"], np.ones(N_NEW)])
    for more, reference in (
        ([], [0, 0]),
        (["--reference", "site=Aachen"], [0, 1]),
        (["--reference", "site=Bonn", "--reference", "rms_mm=0.2"], [0.2, 0]),
        (["--reference", "0.2"], [0.2, 0]),  # a number is for motion, as in a run
    ):
        assert main([*words, *more, "--out", f"{tmp_path}/adjusted", "--overwrite"]) == 0
        read = read_connectomes(tmp_path / "adjusted")
        expected = fitted.model.adjust(new.connectomes, confounds=confounds, reference=reference)
        assert list(read.subject_ids) == list(new.subject_ids)
        assert_array_equal(read.connectomes, expected)
    # Aachen's scanner finds half as many fibres again.
    at_home = fitted.model.adjust(new.connectomes, confounds=confounds, reference=[0, 1])
    away = fitted.model.adjust(new.connectomes, confounds=confounds, reference=[0, 0])
    assert 1.2 < at_home.sum() / away.sum() < 1.8


@pytest.mark.parametrize("verb", ["transform", "predict"])
def test_the_other_verbs_find_the_site_too(verb, model, place, cohorts, tmp_path):
    everybody, _ = cohorts
    words = [verb, str(model), *study(place), *traits(place), "--quiet"]
    assert main([*words, "--out", f"{tmp_path}/out.tsv"]) == 0
    fitted = load_fitted(model)
    confounds = fitted.confounds_of(everybody.motion, everybody.traits)
    assert np.isnan(confounds[:, 1]).sum() == 1  # whose site nobody wrote down
    expected = getattr(fitted.model, verb)(everybody.connectomes, confounds=confounds)
    assert_array_equal(
        read_table(tmp_path / "out.tsv").to_numpy().reshape(expected.shape), expected
    )


def test_nothing_known_is_inferred(model, place, tmp_path):
    words = ["transform", str(model), "--connectomes", f"{place}/new/connectomes", "--quiet"]
    assert main([*words, "--out", f"{tmp_path}/out.tsv"]) == 0
    assert len(read_table(tmp_path / "out.tsv")) == N_NEW


def test_a_site_that_was_never_seen_is_unknown_until_the_model_learns_it(
    model, place, cohorts, tmp_path, capsys
):
    of_third = [*study(place, "third"), *traits(place, "third")]
    words = ["adjust", *of_third, "--quiet", "--overwrite", "--out", f"{tmp_path}/adjusted"]
    assert main([words[0], str(model), *words[1:]]) == 0
    told = capsys.readouterr().err
    assert "site 'Celle' of 12 subjects is not among those fitted to (Bonn, Aachen)" in told
    assert "treated as unknown" in told
    adapt = ["adapt", str(model), *study(place, "third"), "--site", "Celle"]
    assert main([*adapt, "--out", f"{tmp_path}/wiser"]) == 0
    assert "site Celle learned from 12 subjects" in capsys.readouterr().out
    wiser = load_fitted(tmp_path / "wiser")
    assert wiser.coding.names == ("rms_mm", "site=Aachen", "site=Celle")
    assert main([words[0], f"{tmp_path}/wiser", *words[1:]]) == 0
    assert "Celle" not in capsys.readouterr().err
    _, new = cohorts
    adjusted = read_connectomes(tmp_path / "adjusted").connectomes
    # These are people of Aachen, whose scanner finds half as many fibres again.
    free = new.connectomes.sum() * np.exp(0.8 * new.motion["rms_mm"].mean()) / np.exp(0.4)
    assert 0.75 < adjusted.sum() / free < 1.33


def test_drawn_subjects_have_sites(model, tmp_path):
    words = ["sample", str(model), "--subjects", "40", "--out", f"{tmp_path}/drawn", "--quiet"]
    assert main(words) == 0
    drawn = read_table(tmp_path / "drawn" / "participants.tsv")
    assert set(drawn["site"]) == {"Aachen", "Bonn"}
    assert list(read_table(tmp_path / "drawn" / "motion.tsv").columns) == ["rms_mm"]


MISTAKES = [
    (["adapt", "{model}", "{new}", "--site", "Bonn"], "site 'Bonn' is among those fitted to"),
    (["adapt", "{model}", "{new}", "--site", "C", "--subjects=059"], "at least 10 are needed"),
    (["adjust", "{model}", "{new}"], "'site' is in no table. Name the table with --traits"),
    (["transform", "{model}", "{new}"], "'site' is in no table"),
    (["adjust", "{model}", "{new}", "{traits}", "--reference", "site=Celle"], "among Bonn, Aachen"),
    (["adjust", "{model}", "{new}", "{traits}", "--reference=1", "--reference=2"], "2 value(s)"),
    (["adjust", "{model}", "{new}", "--reference=1", "--reference=site=Bonn"], "numbers only"),
    (["fit", "{study}", "--confound", "site"], "no column 'site'"),
    (["fit", "{study}", "{traits}", "--confound", "colour"], "nor traits has a column 'colour'"),
    (["fit", "{study}", "{traits}", "--confound", "sex", "--keep", "sex"], "removed and kept"),
    (["compare", "{study}", "{traits}", "--trait=reading", "--confound=reading"], "and predicted"),
    (["run", "{study}", "{traits}", "--confound", "site", "--group", "site"], "and held together"),
    (["run", "{study}", "{traits}", "--confound=site", "--reference=site=Celle"], "Bonn, Aachen"),
    (["run", "{study}", "{traits}", "--confound=site", "--reference=age=9"], "with rms_mm, site"),
]


@pytest.mark.parametrize(("words", "says"), MISTAKES)
def test_mistakes_are_one_sentence(words, says, model, place, tmp_path, capsys):
    named = {
        "{model}": [str(model)],
        "{study}": study(place),
        "{new}": study(place, "new"),
        "{traits}": traits(place),
        "{third}": traits(place, "third"),
    }
    given = [part for word in words for part in named.get(word, [word])]
    out = tmp_path / ("out.tsv" if words[0] == "transform" else "out")
    assert main([*given, "--out", str(out)]) == 2
    assert says in capsys.readouterr().err
    assert not out.exists()


WITHOUT_SITE = "'site' of subject '004' is missing. Fill it in, "


@pytest.mark.parametrize(
    "words",
    [
        ["fit", "--method=sog"],
        ["run", "--method=combat", "--baseline=none", "--no-report"],
        ["compare", "--method=edgewise"],
    ],
)
def test_who_has_no_site_is_named(words, place, tmp_path, capsys):
    given = [*words, *study(place), *traits(place), "--trait=reading"]
    assert main([*given, "--confound=rms_mm", "--confound=site", "--out", f"{tmp_path}/out"]) == 2
    *_, said = capsys.readouterr().err.splitlines()
    assert said.startswith(WITHOUT_SITE)
    assert ("or fit inv-fa" in said) == (words[0] != "compare")  # which refuses in any case


@pytest.mark.parametrize("verb", ["adjust", "transform", "predict"])
def test_who_has_no_site_is_named_among_new_subjects(verb, place, cohorts, tmp_path, capsys):
    known = cohorts[0].select(np.arange(5, N))
    coding = ConfoundCoding.fit(known.motion[["rms_mm"]], known.traits[["site"]])
    model = make_method("edgewise", n_components=2)
    confounds = coding.encode(known.motion, known.traits)
    model.fit(known.connectomes, known.traits["reading"], confounds=confounds)
    save_fitted(FittedModel(model, coding, traits=("reading",)), tmp_path / "model")
    out = ["--out", f"{tmp_path}/out.tsv"]
    assert main([verb, f"{tmp_path}/model", *study(place), *traits(place), *out]) == 2
    *_, said = capsys.readouterr().err.splitlines()
    assert said.startswith(WITHOUT_SITE)


def test_numbers_that_may_be_names_are_asked_about(place, tmp_path, capsys):
    words = ["fit", *study(place), *traits(place), "--confound", "code", "--trait", "reading"]
    assert main([*words, "--method", "edgewise", "--out", f"{tmp_path}/model"]) == 0
    assert "'code' is removed as a number" in capsys.readouterr().err
    assert load_fitted(tmp_path / "model").coding.numbers == {"code": 1.5}


def test_probes_look_for_sites(place, tmp_path, capsys):
    words = ["certify", f"{place}/study/connectomes", "--motion", f"{place}/study/motion.tsv"]
    words += [*traits(place), "--confound", "site", "--permutations", "200"]
    assert main([*words, "--out", f"{tmp_path}/found.tsv", "--quiet"]) == 0
    assert "probes read motion or site from connectomes" in capsys.readouterr().out
    assert pd.read_csv(tmp_path / "found.tsv", sep="\t")["auc"].max() > 0.6
    assert main(words) == 0
    printed = capsys.readouterr().out
    assert "AUC" in printed
    assert "graph measures, ridge" in printed


def test_methods_are_compared_without_sites(place, tmp_path):
    words = ["compare", *study(place, "study"), *traits(place), "--trait", "reading"]
    words += ["--confound", "sex", "--method", "edgewise", "--components", "3", "--folds", "2"]
    assert main([*words, "--jobs", "1", "--no-leakage", "--out", f"{tmp_path}/out", "--quiet"]) == 0
    header = json.loads((tmp_path / "out" / "comparison.json").read_text())
    assert header["Settings"]["confounds"] == ["rms_mm", "sex"]
    assert (tmp_path / "out" / "summary.tsv").read_text().count("\tok") == 1


def test_the_bids_app_finds_the_column_in_participants_tsv(tmp_path, capsys):
    connectomes, eddy = write_derivatives(tmp_path)
    words = ["bids", str(connectomes), f"{tmp_path}/out"]
    more = ["--motion", str(eddy), "--reference=sex=m", "--quiet"]
    fit = ["--confound=sex", "--method=edgewise", "--baseline=none", "--no-report", "--n-procs=1"]
    assert main([*words, "group", *more, *fit]) == 0
    assert load_fitted(tmp_path / "out" / "model").confounds == ("rms_mm", "sex=m")
    one = ["participant", "--participant-label", "003", *more]
    assert main([*words, *one]) == 0
    ours, groups = (
        np.genfromtxt(next((tmp_path / "out" / folder).rglob("sub-003*relmat*.tsv")), skip_header=1)
        for folder in ("sub-003", "adjusted")
    )
    # A product of one row may be rounded differently from the same row of a product of many.
    assert_allclose(ours, groups, rtol=1e-12)
    (connectomes / "participants.tsv").unlink()
    assert main([*words, *one, "--overwrite"]) == 2
    assert "no participants.tsv" in capsys.readouterr().err


def test_a_run_is_adjusted_to_what_is_named(place, tmp_path):
    words = ["run", *study(place), *traits(place), "--confound=rms_mm", "--confound=sex"]
    words += ["--method=edgewise", "--baseline=none", "--no-report", "--quiet", "--jobs=1"]
    words += ["--reference=rms_mm=0.2", "--reference=sex=m", "--out", f"{tmp_path}/out"]
    words += [f"--subject={i:03}" for i in range(32)]
    assert main(words) == 0
    work = RunFolder(tmp_path / "out")
    assert work.coding.levels == {"sex": ("f", "m")}
    asked = {"confounds": work.confounds, "reference": [0.2, 1]}
    assert_array_equal(work.adjusted, work.model.adjust(work.cohort.connectomes, **asked))
    assert data_facts(work)["Removed"] == "rms (mm) and sex (adjusted to m)"
    assert provenance(work, with_subjects=False)["facts"]["Reference motion"] == "0.2"
    assert "(reference: 0.2)" in methods_paragraph(work)
    assert "--reference rms_mm=0.2 --reference sex=m" in work.header["command"]
    assert main([*words, "--resume"]) == 0


def test_a_run_with_sites_speaks_of_them_and_shows_motion_only(place, tmp_path):
    settings = RunSettings(
        connectomes=(f"{place}/study/connectomes",),
        motion=(f"{place}/study/motion.tsv",),
        traits=(f"{place}/study/participants.tsv",),
        confounds=("site",),
        baselines=(),
        repeats=1,
    )
    with pytest.warns(StillomeWarning, match="Motion is measured by rms_mm"):
        out = run_pipeline(settings, tmp_path / "out", report=False)
    work = RunFolder(out)
    assert (work.settings.confounds, work.settings.other_confounds) == (("rms_mm",), ("site",))
    assert work.motion.shape == (N, 1) and work.confounds.shape == (N, 2)
    run_pipeline(settings, out, resume=True, report=False)  # the same settings, in other words
    assert list(work.subjects.filter(like="site")) == []
    assert work.measure == "rms_mm"
    assert data_facts(work)["Removed"] == "rms (mm) and site (adjusted to Bonn)"
    assert data_facts(work)["Traits"] == "none"
    assert "effect of site (adjusted to Bonn)" in methods_paragraph(work)
    questions = [check.question for check in judge_run(work).checks]
    assert "Did motion or site affect the connectomes as scanned?" in questions
    adjusted = next((out / "adjusted").rglob("*_relmat.json")).read_text()
    assert "at rms_mm = 0, site = Bonn" in adjusted
    assert load_fitted(out / "model").coding == work.coding
