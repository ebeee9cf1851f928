"""The steps alone, through files: each does what the library does, and a model outlives its fit."""

import json

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from stillome import InvFA, leakage_certificate, read_cohort
from stillome.cli import main
from stillome.cohort.cohort import Cohort
from stillome.evaluate import compare_methods
from stillome.evaluate.leakage.power import smallest_detected_in_latents
from stillome.evaluate.verdict_power import power_told
from stillome.io import read_connectomes, read_motion, read_table
from stillome.io.write_cohort import write_cohort
from stillome.methods.fitted import load_fitted

# Notes of the command line go to standard error, which is where they are looked for.
pytestmark = pytest.mark.filterwarnings("default::stillome.exceptions.StillomeWarning")

N_TRAIN = 40


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """A simulated study in files, with the ids of those a model is fitted to and of the others."""
    folder = tmp_path_factory.mktemp("steps") / "study"
    assert main(["simulate", "--subjects", "64", "--out", str(folder), "--quiet"]) == 0
    ids = [file.name.split("_")[0] for file in sorted((folder / "connectomes").iterdir())]
    (folder / "train.txt").write_text("\n".join(ids[:N_TRAIN]))
    (folder / "test.txt").write_text("\n".join(ids[N_TRAIN:]))
    return folder


@pytest.fixture(scope="module")
def cohort(study):
    return read_cohort(
        study / "connectomes",
        motion=study / "motion.tsv",
        traits=study / "participants.tsv",
        labels=study / "regions.tsv",
        lengths=study / "lengths.csv",
    )


@pytest.fixture(scope="module")
def model(study):
    """A folder with a model of the first forty subjects."""
    arguments = ["fit", *of(study, "train"), *named(study), "--lengths", f"{study}/lengths.csv"]
    arguments += ["--traits", f"{study}/participants.tsv", "--trait", "trait_1"]
    arguments += ["--trait", "trait_2", "--set", "n_components=8", "--out", f"{study}/model"]
    assert main([*arguments, "--quiet"]) == 0
    return study / "model"


@pytest.fixture(scope="module")
def same(cohort):
    """The same model by the library, and the subjects it never saw."""
    train, test = cohort.select(np.arange(N_TRAIN)), cohort.select(np.arange(N_TRAIN, 64))
    fitted = InvFA(n_components=8, lengths=cohort.lengths, random_state=0).fit(
        train.connectomes,
        train.traits[["trait_1", "trait_2"]],
        confounds=train.motion[["rms_mm"]],
    )
    return fitted, test


def of(study, part):
    """The options that name subjects of the study."""
    subjects = ["--subjects", f"{study}/{part}.txt"]
    return ["--connectomes", f"{study}/connectomes", "--motion", f"{study}/motion.tsv", *subjects]


def named(study):
    return ["--labels", f"{study}/regions.tsv", "--confound", "rms_mm"]


def rows(path):
    return read_table(path).to_numpy()


def test_a_model_says_what_it_was_fitted_to(model, study, cohort):
    fitted = load_fitted(model)
    assert fitted.confounds == ("rms_mm",)
    assert fitted.traits == ("trait_1", "trait_2")
    assert fitted.regions == tuple(cohort.regions["name"])
    assert fitted.measure == "count"
    assert sorted(p.name for p in model.iterdir()) == ["arrays.safetensors", "model.json"]


def test_unseen_subjects_are_transformed_as_by_the_library(model, study, same, tmp_path):
    fitted, test = same
    out = tmp_path / "latents.tsv"
    assert main(["transform", str(model), *of(study, "test"), "--out", str(out)]) == 0
    expected = fitted.transform(test.connectomes, confounds=test.motion[["rms_mm"]])
    assert_array_equal(rows(out), expected)
    assert list(read_table(out).index) == list(test.subject_ids)
    sidecar = json.loads((tmp_path / "latents.json").read_text())
    assert str(study / "motion.tsv") in sidecar["Inputs"]
    assert sidecar["z_1"] == {"Units": "n/a"}


def test_motion_that_nobody_measured_is_inferred(model, study, same, tmp_path):
    fitted, test = same
    out = tmp_path / "latents.tsv"
    subjects = ["--connectomes", f"{study}/connectomes", "--subjects", f"{study}/test.txt"]
    assert main(["transform", str(model), *subjects, "--out", str(out)]) == 0
    assert_array_equal(rows(out), fitted.transform(test.connectomes))


def test_unseen_subjects_are_predicted_as_by_the_library(model, study, same, tmp_path):
    fitted, test = same
    out = tmp_path / "predictions.tsv"
    assert main(["predict", str(model), *of(study, "test"), "--out", str(out)]) == 0
    expected = fitted.predict(test.connectomes, confounds=test.motion[["rms_mm"]])
    assert_array_equal(rows(out), expected)
    assert list(read_table(out).columns) == ["trait_1", "trait_2"]


@pytest.mark.parametrize("form", ["same", "relmat"])
def test_unseen_subjects_are_adjusted_as_by_the_library(form, model, study, same, tmp_path):
    fitted, test = same
    out = tmp_path / "adjusted"
    arguments = ["adjust", str(model), *of(study, "test"), "--format", form, "--out", str(out)]
    assert main([*arguments, "--reference", "rms_mm=0.1"]) == 0
    expected = fitted.adjust(test.connectomes, confounds=test.motion[["rms_mm"]], reference=0.1)
    read = read_connectomes(out)
    assert list(read.subject_ids) == list(test.subject_ids)
    assert_array_equal(read.connectomes, expected)
    assert (out / "sub-0041_connectome.csv").exists() == (form == "same")


def test_draws_and_bounds_get_a_folder_each(model, study, same, tmp_path):
    fitted, test = same
    out = tmp_path / "adjusted"
    arguments = ["adjust", str(model), *of(study, "test"), "--out", str(out), "--draws", "2"]
    coupled = ["--coupling", "quantile"]
    assert main([*arguments, "--interval", "0.8", "--seed", "3", *coupled]) == 0
    expected = fitted.adjust(
        test.connectomes,
        confounds=test.motion[["rms_mm"]],
        n_draws=2,
        interval=0.8,
        coupling="quantile",
        random_state=3,
    )
    folders = {p.name for p in out.iterdir() if p.is_dir()}
    assert folders == {"draw-1", "draw-2", "lower", "upper"}
    assert_array_equal(read_connectomes(out / "draw-2").connectomes, expected.connectomes[1])
    assert_array_equal(read_connectomes(out / "upper").connectomes, expected.upper)


@pytest.fixture(scope="module")
def shuffled(cohort, tmp_path_factory):
    """The unseen subjects as another tool would write them: regions in another order."""
    order = np.random.default_rng(0).permutation(cohort.n_regions)
    test = cohort.select(np.arange(N_TRAIN, 64))
    other = Cohort(
        test.subject_ids,
        test.connectomes[:, order][:, :, order],
        motion=test.motion,
        regions=cohort.regions.iloc[order],
    )
    return write_cohort(tmp_path_factory.mktemp("other") / "site", other, form="relmat"), order


def test_regions_in_another_order_are_found_by_name(shuffled, model, same, tmp_path):
    files, order = shuffled
    fitted, test = same
    subjects = ["--connectomes", str(files.connectomes), "--motion", str(files.motion)]
    assert main(["transform", str(model), *subjects, "--out", f"{tmp_path}/z.tsv"]) == 0
    expected = fitted.transform(test.connectomes, confounds=test.motion[["rms_mm"]])
    assert_array_equal(rows(tmp_path / "z.tsv"), expected)
    assert main(["adjust", str(model), *subjects, "--out", f"{tmp_path}/adjusted"]) == 0
    adjusted = fitted.adjust(test.connectomes, confounds=test.motion[["rms_mm"]])
    read = read_connectomes(tmp_path / "adjusted")
    assert_array_equal(read.connectomes, adjusted[:, order][:, :, order])


def test_certify_says_what_the_certificate_says(study, cohort, tmp_path, capsys):
    moved = cohort.motion[["rms_mm"]]
    leaking = moved.assign(other=np.arange(64.0))
    leaking.rename(columns={"rms_mm": "z_1"}).to_csv(tmp_path / "latents.tsv", sep="\t")
    arguments = ["certify", f"{tmp_path}/latents.tsv", "--motion", f"{study}/motion.tsv"]
    arguments += ["--confound", "rms_mm", "--permutations", "99"]
    assert main([*arguments, "--out", f"{tmp_path}/certificate.tsv", "--quiet"]) == 0
    expected = leakage_certificate(leaking, moved, n_permutations=99)
    power = smallest_detected_in_latents(
        [leaking], moved, level=0.05 / len(expected.table), n_permutations=99
    )
    said = f"{expected.sentence('latents.tsv')}. {power_told(None, power)}\n"
    assert capsys.readouterr().out == said
    found = pd.read_csv(tmp_path / "certificate.tsv", sep="\t")
    assert_allclose(found["r2"], expected.table["r2"], rtol=1e-12)
    assert not found["passed"].all()
    assert "Sentence" in json.loads((tmp_path / "certificate.json").read_text())
    assert main([*arguments, "--quiet", "--strict"]) == 3


def test_features_without_motion_pass_beside_raw_connectomes_that_do_not(
    study, cohort, tmp_path, capsys
):
    noise = np.random.default_rng(0).normal(size=(64, 3))
    clean = pd.DataFrame(noise, cohort.motion.index, columns=["a", "b", "c"])
    clean.to_csv(tmp_path / "clean.tsv", sep="\t")
    arguments = ["certify", f"{tmp_path}/clean.tsv", "--motion", f"{study}/motion.tsv"]
    arguments += ["--against", f"{study}/connectomes", "--strict", "--permutations", "120"]
    assert main([*arguments, "--confound", "rms_mm"]) == 0
    out = capsys.readouterr().out
    assert "No probe reads motion from clean.tsv" in out
    raw, power = out.split("raw connectomes: R² ")[1].split(". ", 1)
    assert float(raw) > 0.3 and "if z holds at least" in power


def test_compare_writes_what_compare_methods_found(study, cohort, tmp_path, capsys):
    out = tmp_path / "comparison"
    arguments = ["compare", *of(study, "train"), "--traits", f"{study}/participants.tsv"]
    arguments += ["--trait", "trait_2", "--method", "edgewise", "--method", "sog"]
    arguments += ["--confound", "rms_mm", "--components", "4", "--folds", "2", "--jobs", "1"]
    arguments += ["--no-leakage"]
    assert main([*arguments, "--out", str(out)]) == 0
    assert "edgewise" in capsys.readouterr().out
    expected = compare_methods(
        cohort.select(np.arange(N_TRAIN)),
        ["edgewise", "sog"],
        ["trait_2"],
        ["rms_mm"],
        cv=2,
        n_components=4,
        probe=False,
    )
    found = pd.read_csv(out / "folds.tsv", sep="\t")
    assert_allclose(found["r"], expected.folds["r"], rtol=1e-12)
    summary = pd.read_csv(out / "summary.tsv", sep="\t")
    assert list(summary["method"]) == ["edgewise", "sog"]
    assert (out / "tests.tsv").exists()
    assert (out / "trait_prediction.pdf").read_bytes().startswith(b"%PDF")
    assert json.loads((out / "comparison.json").read_text())["Settings"]["folds"] == 2


def test_a_synthetic_study_is_what_the_model_draws(model, same, tmp_path):
    out = tmp_path / "synthetic"
    assert main(["sample", str(model), "--subjects", "5", "--seed", "4", "--out", str(out)]) == 0
    drawn = same[0].sample(5, random_state=4)
    read = read_cohort(
        out / "connectomes", motion=out / "motion.tsv", traits=out / "participants.tsv"
    )
    assert_array_equal(read.connectomes, drawn.connectomes)
    assert_array_equal(read.motion.to_numpy(), drawn.confounds)
    assert_array_equal(read.traits[["trait_1", "trait_2"]].to_numpy(), drawn.traits)
    assert not (out / "truth").exists()


@pytest.mark.parametrize("method", ["edgewise", "sog", "combat", "pca-regression", "gate"])
def test_every_method_lives_on_in_a_folder(method, study, tmp_path):
    arguments = ["fit", *of(study, "train"), "--confound", "rms_mm", "--method", method]
    arguments += ["--set", "n_components=3", "--out", f"{tmp_path}/model", "--quiet"]
    arguments += ["--set", "max_epochs=1"] if method == "gate" else []
    assert main(arguments) == 0
    for verb, out in (("transform", "z.tsv"), ("adjust", "adjusted")):
        place = tmp_path / out
        again = [verb, f"{tmp_path}/model", *of(study, "test"), "--out", str(place), "--quiet"]
        assert main(again) == 0
    assert rows(tmp_path / "z.tsv").shape == (24, 3)
    assert read_connectomes(tmp_path / "adjusted", measure="count").n_subjects == 24


def test_what_is_kept_is_kept(study, cohort, tmp_path):
    arguments = ["fit", *of(study, "train"), *named(study), "--keep", "trait_3"]
    arguments += ["--traits", f"{study}/participants.tsv", "--set", "n_components=3"]
    assert main([*arguments, "--out", f"{tmp_path}/model", "--quiet"]) == 0
    fitted = load_fitted(tmp_path / "model")
    assert (fitted.kept, fitted.traits) == (("trait_3",), ())
    train = cohort.select(np.arange(N_TRAIN))
    expected = InvFA(n_components=3).fit(
        train.connectomes,
        confounds=train.motion[["rms_mm"]],
        covariates_to_keep=train.traits[["trait_3"]],
    )
    motion = read_motion(study / "motion.tsv").loc[list(train.subject_ids)]
    found = fitted.model.transform(train.connectomes, confounds=motion[["rms_mm"]])
    again = expected.transform(train.connectomes, confounds=motion[["rms_mm"]])
    assert_array_equal(found, again)
