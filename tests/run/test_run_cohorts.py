"""Runs on cohorts that are not as one would wish."""

import json
import sys
from dataclasses import replace
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest

from small_study import write_study
from stillome.cohort.confound_choice import choose_confounds
from stillome.evaluate.words import number
from stillome.exceptions import ConfoundsError, FileError, InputError, StillomeWarning
from stillome.methods.inv_fa.inv_fa import InvFA
from stillome.methods.linear.edgewise import EdgewiseRegression
from stillome.methods.registry import METHODS
from stillome.pipeline import run_pipeline, steps_of
from stillome.run import RunFolder
from stillome.run.cohort_checks import check_cohort
from stillome.run.inputs import read_inputs, write_inputs
from stillome.run.judging import judge_run, keeping_told
from stillome.run.parallel import Workers
from stillome.run.steps import predicting
from stillome.run.steps.cross_fitting import cross_fit, divisions
from stillome.run.steps.fitting import method_of_run
from stillome.run.steps.kept_parts import place_of_part, remove_parts


def stop_before(name):
    def step(begun):
        if begun == name:
            raise KeyboardInterrupt

    return step


def test_unknown_motion_is_inferred_flagged_and_not_probed(tmp_path):
    settings = write_study(tmp_path / "study", 40, trait=(), traits=(), baselines=())
    motion = pd.read_csv(settings.motion[0], sep="\t")[["participant_id", "rms_mm"]]
    motion.loc[:2, "rms_mm"] = np.nan
    motion.to_csv(settings.motion[0], sep="\t", na_rep="n/a", index=False)
    with pytest.warns(StillomeWarning, match=r"rms_mm of 3 subjects .* e\.g\. of '000': .* ± "):
        out = run_pipeline(settings, tmp_path / "out", report=False)
    inferred = pd.read_csv(out / "inferred_motion.tsv", sep="\t", dtype={"participant_id": str})
    assert inferred["participant_id"].tolist() == ["000", "001", "002"]
    assert set(inferred["column"]) == {"rms_mm"}
    assert (inferred["sd"] > 0).all()
    subjects = pd.read_csv(out / "subjects.tsv", sep="\t", keep_default_na=False)
    assert (subjects["flags"].str.contains("motion inferred")).sum() == 3
    certificates = pd.read_csv(out / "certificates.tsv", sep="\t")
    assert set(certificates["n_subjects"]) == {37}
    assert set(certificates["use"]) == {"cohort"}  # too few to be cross-fitted
    notes = " ".join(json.loads((out / "certificates.json").read_text())["notes"])
    assert "motion of 3 subjects is unknown" in notes
    assert "37 subjects are too few" in notes
    assert not (out / "comparison").exists() and not (out / "predictions.tsv").exists()


def test_families_stay_together_and_covariates_are_kept(tmp_path):
    chosen = {"trait": ("reading",), "keep": ("age", "sex"), "group": "family", "baselines": ()}
    settings = write_study(tmp_path / "study", 64, **chosen)
    with pytest.raises(KeyboardInterrupt):
        run_pipeline(settings, tmp_path / "out", step=stop_before("Certifying"))
    model = json.loads((tmp_path / "out" / "model" / "model.json").read_text())
    assert list(model["inputs"]["keeping"]["numbers"]) == ["age"]
    assert model["inputs"]["keeping"]["levels"] == {"sex": ["f", "m"]}
    inputs = read_inputs(settings)
    assert list(inputs.cohort.traits) == ["reading", "age", "sex", "family"]


class Keeping(EdgewiseRegression):
    """A baseline that notes what it is asked to keep."""

    asked: ClassVar = []

    def fit(self, X, y=None, *, confounds=None, covariates_to_keep=None, groups=None):
        self.asked.append(covariates_to_keep)
        return super().fit(X, y, confounds=confounds)


def test_what_is_to_be_kept_reaches_every_fit(tmp_path, monkeypatch):
    ours, asked = [], {}
    fit = InvFA.fit

    def noting(self, X, y=None, *, confounds=None, covariates_to_keep=None, groups=None):
        ours.append(covariates_to_keep)
        return fit(self, X, y, confounds=confounds, covariates_to_keep=covariates_to_keep)

    def stop(*args, **options):
        asked.update(options)
        raise KeyboardInterrupt

    monkeypatch.setattr(InvFA, "fit", noting)
    monkeypatch.setattr(Keeping, "asked", [])
    monkeypatch.setitem(METHODS._places, "edgewise", (Keeping.__module__, "Keeping"))
    monkeypatch.setitem(sys.modules, Keeping.__module__, sys.modules[__name__])
    monkeypatch.setattr(predicting, "compare_methods", stop)
    settings = write_study(tmp_path / "study", 64, trait=("reading",), keep=("age",))
    with pytest.raises(KeyboardInterrupt):
        run_pipeline(settings, tmp_path / "out")
    folder = RunFolder(tmp_path / "out")
    (within,) = divisions(folder)
    everybody = folder.cohort.traits[["age"]].to_numpy()
    thirds = [everybody[within != part] for part in range(3)]
    # To see what keeping costs, the method is also fitted without.
    for found, expected in (
        (ours, [everybody, *thirds, None, None, None]),
        (Keeping.asked, [everybody, *thirds]),
    ):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            assert one is other is None or np.array_equal(one, other)
    assert asked["keep"] == ["age"]
    with_, without = (
        one.worst_r2 for one in (folder.leakage_by_keeping[True], folder.leakage_by_keeping[False])
    )
    (said,) = keeping_told(folder)
    assert said.startswith("What keeping age costs: in subjects the model has not seen")
    assert f"is {number(with_)}" in said and f"with and {number(without)}" in said
    assert said in judge_run(folder).notes


def test_the_weight_is_chosen_once_and_every_fit_has_it(tmp_path):
    settings = write_study(
        tmp_path / "study",
        80,
        trait=(),
        traits=(),
        baselines=(),
        parameters={"invariance_weight": "auto"},
    )
    with pytest.raises(KeyboardInterrupt):
        run_pipeline(settings, tmp_path / "out", step=stop_before("Adjusting"))
    folder = RunFolder(tmp_path / "out")
    assert len(folder.frontier) == 5
    weight = folder.model.get_params()["invariance_weight"]
    assert weight in set(folder.frontier["weight"])
    assert method_of_run(folder, "inv-fa").get_params()["invariance_weight"] == weight


def read_run(place, n, **settings):
    """A run that has been read and nothing more."""
    inputs = read_inputs(write_study(place / f"study-{n}", n, **settings))
    write_inputs(inputs, place / f"out-{n}")
    return RunFolder(place / f"out-{n}")


@pytest.mark.parametrize("n", [60, 61, 100])
def test_everybody_is_in_one_part_of_every_division(tmp_path, n):
    first, second = divisions(read_run(tmp_path, n, trait=(), traits=(), repeats=2))
    for within in (first, second):
        assert np.ptp(np.bincount(within, minlength=3)) <= 1
    assert (first != second).any()


def test_families_stay_in_one_part(tmp_path):
    folder = read_run(tmp_path, 64, trait=(), group="family")
    (within,) = divisions(folder)
    assert (within[0::2] == within[1::2]).all()  # two of each family, one after the other


@pytest.mark.filterwarnings("ignore:reference=0 lies")
def test_a_subject_is_adjusted_by_a_model_that_has_not_seen_it(tmp_path):
    folder = read_run(tmp_path, 60, trait=(), traits=(), method="edgewise")
    (within,) = divisions(folder)
    (found,) = cross_fit(folder, Workers(), ["edgewise"], [within])["edgewise"]
    X, motion = folder.cohort.edges, folder.confounds
    for part in range(3):
        model = EdgewiseRegression().fit(X[within != part], confounds=motion[within != part])
        test = within == part
        assert np.array_equal(found.adjusted[test], model.adjust(X[test], confounds=motion[test]))
        latents = model.transform(X[test], confounds=motion[test])
        assert np.array_equal(found.latents[test, : latents.shape[1]], latents)


@pytest.mark.filterwarnings("ignore:reference=0 lies")
def test_parts_of_other_workers_are_kept_where_one_fails(tmp_path):
    folder = read_run(tmp_path, 60, trait=(), traits=(), method="edgewise")
    asked = (["edgewise"], divisions(folder))
    (expected,) = cross_fit(folder, Workers(), *asked)["edgewise"]
    remove_parts(folder)
    place = place_of_part(folder, "edgewise-1-0")
    place.mkdir(parents=True)
    (place / "part-2").write_text("not a folder, so that nothing can be written")
    with pytest.raises(FileError, match="part-2"):
        cross_fit(folder, Workers(2), *asked)
    before = {path: path.stat().st_ino for path in place.rglob("latents.npy")}
    assert before
    (place / "part-2").unlink()
    (found,) = cross_fit(folder, Workers(2), *asked)["edgewise"]
    assert {path: path.stat().st_ino for path in before} == before  # not written again
    assert np.array_equal(found.adjusted, expected.adjusted)
    assert np.array_equal(found.latents, expected.latents)


@pytest.mark.filterwarnings("ignore:reference=0 lies")
@pytest.mark.parametrize("name", ["adjusted.npy", "latents.npy"])
def test_a_part_that_was_cut_short_is_made_anew(tmp_path, name):
    folder = read_run(tmp_path, 60, trait=(), traits=(), method="edgewise")
    asked = (folder, Workers(), ["edgewise"], divisions(folder))
    (expected,) = cross_fit(*asked)["edgewise"]
    place = place_of_part(folder, "edgewise-1-0")
    before = {path: path.stat().st_ino for path in place.rglob("*.npy")}
    cut = place / "part-1" / name
    cut.write_bytes(cut.read_bytes()[:-8])
    (found,) = cross_fit(*asked)["edgewise"]
    assert np.array_equal(found.adjusted, expected.adjusted)
    assert np.array_equal(found.latents, expected.latents)
    made = {path for path, inode in before.items() if path.stat().st_ino != inode}
    assert made == set((place / "part-1").iterdir())


def test_where_parts_would_be_too_small_it_is_said(tmp_path):
    assert "59 subjects are too few" in divisions(read_run(tmp_path, 59, trait=(), traits=()))
    assert divisions(read_run(tmp_path, 62, trait=(), traits=(), repeats=0)) == "repeats=0"
    settings = write_study(tmp_path / "study", 64, trait=(), group="family")
    traits = pd.read_csv(settings.traits[0], sep="\t", dtype=str)
    for n_groups, says in ((14, "14 groups of subjects are too few"), (4, "4 groups cannot be")):
        traits["family"] = [f"F{i % n_groups}" for i in range(64)]
        traits.to_csv(settings.traits[0], sep="\t", index=False)
        if n_groups < 5:
            with pytest.raises(InputError, match=says):
                read_inputs(settings)
        else:
            write_inputs(read_inputs(settings), tmp_path / "out")
            assert says in divisions(RunFolder(tmp_path / "out"))


def test_the_first_usual_measure_of_motion_is_chosen_and_said():
    motion = pd.DataFrame({"fd_mm": [0.1, 0.2], "translation_mm": [1.0, 2.0], "n": [1, 2]})
    with pytest.warns(StillomeWarning, match="measured by fd_mm; translation_mm could"):
        assert choose_confounds(motion) == ("fd_mm",)
    assert choose_confounds(motion[["fd_mm"]]) == ("fd_mm",)
    pair = pd.DataFrame({"translation_mm": [1.0, 2.0], "rotation_rad": [0.0, 0.1]})
    assert choose_confounds(pair) == ("translation_mm", "rotation_rad")
    assert choose_confounds(motion, ["n"]) == ("n",)
    with pytest.raises(ConfoundsError, match="no column 'rms'; it has fd_mm"):
        choose_confounds(motion, ["rms"])
    with pytest.raises(ConfoundsError, match="confounds="):
        choose_confounds(motion[["n"]])


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"trait": ("empty",)}, "'empty' holds no value"),
        ({"trait": ("same",)}, "'same' is 1 for everybody"),
        ({"trait": ("sex",)}, "'sex' holds text"),
        ({"trait": ("reading",)}, "'reading' is known of 24 subjects, too few to predict it"),
        ({"reference": (0.1, 0.2), "trait": ()}, "2 value(s) for 1 confounds"),
        (
            {"confounds": ("rms_mm", "rotation_rad"), "reference": (0.1,), "trait": ()},
            "Give one each",
        ),
    ],
)
def test_a_cohort_of_which_nothing_can_be_learned_is_refused(tmp_path, settings, says):
    with pytest.raises(InputError) as refused:
        read_inputs(write_study(tmp_path / "study", 24, **settings))
    assert says in str(refused.value)


def test_a_group_or_a_covariate_must_be_known_for_everybody(tmp_path):
    settings = write_study(tmp_path / "study", 24, trait=(), keep=("age",), group="family")
    cohort = read_inputs(settings).cohort
    for name in ("age", "family"):
        cohort.traits.loc[cohort.subject_ids[3], name] = None
        with pytest.raises(InputError, match=f"{name}.*missing"):
            check_cohort(cohort, settings)
        cohort = read_inputs(settings).cohort


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"method": "pca-regression"}, "The method 'pca-regression' holds all subjects"),
        ({"baselines": ("raw", "edgewise")}, "The baseline 'edgewise' holds all subjects"),
        ({"baselines": ()}, "Predicting traits from connectomes as scanned holds all subjects"),
    ],
)
def test_what_does_not_fit_into_memory_is_told_before_any_work(
    tmp_path, monkeypatch, settings, says
):
    monkeypatch.setattr("stillome.run.cohort_checks.free_bytes", lambda: 1e3)
    with pytest.raises(InputError) as refused:
        read_inputs(write_study(tmp_path / "study", 24, **settings))
    assert says in str(refused.value)
    without = {"baselines": (), "trait": (), "traits": (), "parameters": {"memory": 1e9}}
    assert read_inputs(write_study(tmp_path / "small", 24, **without)).cohort.n_subjects == 24


def test_who_is_left_out_is_said_and_who_was_not_asked_for_is_not(tmp_path):
    settings = write_study(tmp_path / "study", 32)
    motion = pd.read_csv(settings.motion[0], sep="\t", dtype=str)
    motion.iloc[2:].to_csv(settings.motion[0], sep="\t", index=False)
    with pytest.warns(StillomeWarning, match=r"2 subjects were left out \(2 with no motion\)"):
        inputs = read_inputs(settings)
    assert list(inputs.dropped["participant_id"]) == ["000", "001"]
    assert inputs.cohort.n_subjects == 30
    chosen = replace(settings, subjects=tuple(f"{i:03d}" for i in range(2, 32)))
    assert len(read_inputs(chosen).dropped) == 0


def test_without_traits_nothing_is_predicted(tmp_path):
    settings = write_study(tmp_path / "study", 24, trait=(), traits=())
    names = [step.name for step in steps_of(settings)]
    assert "Predicting traits" not in names and names[-1] == "Writing the report"
