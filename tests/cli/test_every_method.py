"""Every method of the registry in every verb, on a cohort of forty."""

import inspect
import json

import numpy as np
import pandas as pd
import pytest

from method_kinds import LIKE_EDGEWISE, ONE_OF_A_KIND
from small_study import write_derivatives, write_study
from stillome.cli import compare, main
from stillome.exceptions import MissingExtraError
from stillome.io import read_connectomes, read_table
from stillome.methods import METHODS, make_method
from stillome.methods.fitted import load_fitted
from stillome.methods.linear.combat import ComBat
from stillome.methods.linear.linear_method import ComponentMethod
from stillome.run.method_parameters import settable

# How good a tiny fit is does not matter here.
pytestmark = pytest.mark.filterwarnings("default::stillome.exceptions.StillomeWarning")

N = 40


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """The options that name the files of a study."""
    settings = write_study(tmp_path_factory.mktemp("methods") / "study", N)
    return {
        "subjects": [f"--connectomes={settings.connectomes[0]}", f"--motion={settings.motion[0]}"],
        "traits": [f"--traits={settings.traits[0]}", "--trait=reading"],
        "motion": settings.motion[0],
    }


def small(method):
    """The options that make a fit small, and what they set."""
    wanted = {"n_components": 3, "max_epochs": 2}
    known = {n: v for n, v in wanted.items() if n in make_method(method).get_params()}
    return [f"--method={method}", *(f"--set={name}={value}" for name, value in known.items())]


@pytest.mark.parametrize("method", METHODS)
def test_the_steps_alone(method, study, tmp_path):
    def do(verb, *words, out):
        assert main([verb, *map(str, words), f"--out={tmp_path / out}", "--quiet"]) == 0, verb
        return tmp_path / out

    subjects, confound = study["subjects"], "--confound=rms_mm"
    model = do("fit", *subjects, *study["traits"], confound, *small(method), out="model")
    fitted = load_fitted(model)
    assert fitted.traits == ("reading",)
    assert fitted.model.get_params()["n_components"] == 3
    latents = do("transform", model, *subjects, out="latents.tsv")
    assert read_table(latents).shape == (N, 3)
    adjusted = do("adjust", model, *subjects, "--reference=rms_mm=0.3", out="adjusted")
    counts = np.asarray(read_connectomes(adjusted, measure="count").connectomes)
    assert counts.shape == (N, 12, 12) and np.isfinite(counts).all() and (counts >= 0).all()
    predictions = do("predict", model, *subjects, out="predictions.tsv")
    assert list(read_table(predictions).columns) == ["reading"]
    synthetic = do("sample", model, "--subjects=7", out="synthetic")
    assert read_connectomes(synthetic / "connectomes", measure="count").n_subjects == 7
    probed = ["--motion", study["motion"], confound, "--permutations=19"]
    assert len(pd.read_csv(do("certify", latents, *probed, out="found.tsv"), sep="\t")) > 2


@pytest.mark.parametrize("method", LIKE_EDGEWISE)
def test_other_methods_do_every_verb_as_edgewise_does(method):
    """So that a run or a BIDS App of one of them is a run of any."""
    for verb in ("fit", "transform", "adjust", "predict", "sample", "save", "load"):
        inherited = inspect.getattr_static(METHODS[method], verb)
        assert inherited is inspect.getattr_static(ComponentMethod, verb)


@pytest.mark.parametrize("method", ONE_OF_A_KIND)
def test_a_run_of_a_bids_app(method, tmp_path):
    """`bids group` is `run`, on what it finds in a folder."""
    connectomes, eddy = write_derivatives(tmp_path)
    out = tmp_path / "out"
    words = ["bids", str(connectomes), str(out)]
    more = [f"--motion={eddy}", "--quiet"]
    group = ["--trait=reading", "--baseline=none", "--n-procs=1", "--no-report", *small(method)]
    assert main([*words, "group", *more, *group]) == 0
    told = json.loads((out / "run.json").read_text())
    assert told["settings"]["parameters"]["n_components"] == 3
    assert "--set n_components=3" in told["command"]
    summary = pd.read_csv(out / "comparison" / "summary.tsv", sep="\t")
    assert list(summary["method"]) == list(dict.fromkeys([method, "raw"]))
    assert set(summary["status"]) == {"ok"}
    assert read_table(out / "latents.tsv").shape == (30, 3)
    assert main([*words, "participant", *more, "--participant-label=sub-003"]) == 0
    ours = np.asarray(read_connectomes(out / "sub-003").connectomes)
    of_group = read_connectomes(out / "adjusted", subjects=["003"])
    assert np.allclose(ours, of_group.connectomes, rtol=1e-6, atol=1e-6)


def test_all_methods_in_one_comparison(study, tmp_path):
    words = ["compare", *study["subjects"], *study["traits"], "--confound=rms_mm"]
    words += ["--set=n_components=3", "--set=max_epochs=2", "--set=combat.n_batches=2"]
    words += ["--folds=2", "--jobs=1", "--no-leakage", "--quiet", f"--out={tmp_path}/out"]
    assert main(words) == 0
    summary = pd.read_csv(tmp_path / "out" / "summary.tsv", sep="\t").set_index("method")
    assert list(summary.index) == list(METHODS)
    assert set(summary["status"]) == {"ok"}
    told = json.loads((tmp_path / "out" / "comparison.json").read_text())["Settings"]
    assert told["confounds"] == ["rms_mm"] and "combat.n_batches=2" in told["set"]


@pytest.mark.parametrize("method", METHODS)
def test_what_is_kept_reaches_the_fit(method, study, tmp_path):
    words = ["fit", *study["subjects"], *study["traits"], "--keep=age", *small(method)]
    assert main([*words, "--confound=rms_mm", f"--out={tmp_path}/model", "--quiet"]) == 0
    assert load_fitted(tmp_path / "model").kept == ("age",)


def test_what_is_kept_reaches_a_comparison(study, tmp_path):
    words = ["compare", *study["subjects"], *study["traits"], "--confound=rms_mm", "--keep=age"]
    words += ["--method=edgewise", "--folds=2", "--jobs=1", "--no-leakage", "--quiet"]
    assert main([*words, f"--out={tmp_path}/out"]) == 0
    told = json.loads((tmp_path / "out" / "comparison.json").read_text())["Settings"]
    assert told["keep"] == ["age"]


@pytest.mark.parametrize("method", METHODS)
def test_a_value_that_a_method_cannot_use_is_refused_before_files_are_read(method, capsys):
    """Files are not there, so that reading them would be another sentence."""
    words = ["fit", "--connectomes=none", "--motion=none", f"--method={method}", "--out=never"]
    free = {"checkpoint_dir", "conditional"}  # a place, and whatever is true or false
    for name in set(make_method(method).get_params()) - free:
        assert main([*words, f"--set={name}=banana"]) == 2
        said = capsys.readouterr().err
        assert "banana" in said or "cannot be set by a value" in said, (name, said)
        assert said.count("\n") == 1
    assert main([*words, "--set=wings=2"]) == 2
    said = capsys.readouterr().err
    names = settable(make_method(method))
    assert said.endswith(f"it has {', '.join(names)}.\n")
    assert not {"callback", "lengths"} & set(names)


def test_fit_chooses_the_weight_where_it_is_asked_to(tmp_path):
    settings = write_study(tmp_path / "study", 80)
    words = ["fit", f"--connectomes={settings.connectomes[0]}", f"--motion={settings.motion[0]}"]
    words += [f"--traits={settings.traits[0]}", "--group=family", "--confound=rms_mm"]
    words += ["--invariance-weight=auto", "--set=n_components=3", "--quiet"]
    assert main([*words, f"--out={tmp_path}/model"]) == 0
    weight = load_fitted(tmp_path / "model").model.get_params()["invariance_weight"]
    assert isinstance(weight, float) and 0 <= weight <= 1


def test_compare_takes_the_methods_that_are_installed(monkeypatch, capsys):
    def missing(self):
        raise MissingExtraError("combat needs combatlearn, which is not installed.")

    monkeypatch.setattr(ComBat, "check_parameters", missing)
    methods = compare.methods_of(None, None, 4, 0)
    assert set(methods) == set(METHODS) - {"combat", "covbat", "combat-gam"}
    assert "combat is left out" in capsys.readouterr().err
    with pytest.raises(MissingExtraError):
        compare.methods_of(["combat"], None, 4, 0)
