"""Comparison and prediction: same folds, no leaks, failures told."""

from dataclasses import replace
from typing import ClassVar

import joblib
import numpy as np
import pandas as pd
import pytest
from dask.distributed import Client, LocalCluster
from numpy.testing import assert_allclose

from stillome.cohort.cohort import Cohort
from stillome.cohort.edges import edges_to_matrices, matrices_to_edges
from stillome.evaluate.compare.comparison import compare_methods
from stillome.evaluate.compare.comparison_tables import summarise
from stillome.evaluate.prediction.statistics import pearson_r
from stillome.evaluate.prediction.trait_prediction import predict_trait, residualised_traits
from stillome.exceptions import ConfoundsError, FileError, FitError, InputError, StillomeWarning
from stillome.methods.linear.edgewise import EdgewiseRegression
from stillome.methods.linear.pca_regression import PCARegression
from stillome.methods.linear.sog import SOG
from stillome.methods.registry import METHODS, make_method
from stillome.simulate import simulate_cohort

LINEAR = ("combat", "sog", "pca-regression", "edgewise")
QUICK = {"gate": {"max_epochs": 3, "learning_rate": 1e-2}, "inv-vae": {"max_epochs": 3}}


def few_regions(simulated, n_regions=12):
    """Keep some regions only: the same people, tested in a fraction of the time."""
    cohort, chosen = simulated.cohort, slice(None, None, 68 // n_regions + 1)
    small = Cohort(
        cohort.subject_ids,
        cohort.connectomes[:, chosen, chosen],
        motion=cohort.motion,
        traits=cohort.traits,
    )
    return small, simulated.motion_free[:, chosen, chosen]


@pytest.fixture(scope="module")
def study():
    return few_regions(simulate_cohort(160, n_traits=2, random_state=1))


@pytest.fixture(scope="module")
def cohort(study):
    return study[0]


def with_traits(cohort, **traits):
    return Cohort(
        cohort.subject_ids, cohort.connectomes, motion=cohort.motion, traits=pd.DataFrame(traits)
    )


class Fragile(EdgewiseRegression):
    """Fails where a certain subject is in the training part."""

    def fit(self, X, y=None, **given):
        if (np.asarray(X)[:, 0] == 77777).any():
            raise FitError("Fragile: subject 0 is too much. Leave it out.")
        return super().fit(X, y, **given)


class Recorded(EdgewiseRegression):
    """Remembers what its fits were given."""

    fits: ClassVar[list] = []

    def fit(self, X, y=None, **given):
        Recorded.fits.append(given)
        return super().fit(X, y, **given)


def test_one_row_per_method_trait_and_fold(cohort):
    result = compare_methods(
        cohort, LINEAR, confounds="rms_mm", cv=4, repeats=2, n_components=6, probe=False
    )
    assert len(result.folds) == 4 * 2 * 4 * 2
    assert not result.folds.duplicated(["method", "trait", "repeat", "fold"]).any()
    summary = result.summary.set_index(["method", "trait"])
    assert list(summary.index) == [(m, t) for m in LINEAR for t in ("trait_1", "trait_2")]
    assert (summary["status"] == "ok").all()
    assert summary[["leakage_z", "leakage_adjusted", "fidelity"]].isna().all(axis=None)
    by_hand = result.folds.groupby(["method", "trait"])["r"]
    for column in ("mean", "min", "max"):
        assert_allclose(summary[f"r_{column}"], by_hand.agg(column).loc[summary.index])
    assert_allclose(summary["r_sd"], by_hand.std().loc[summary.index])


def test_leakage_stands_beside_the_correlation(cohort):
    methods = {"pca-regression": PCARegression(6), "edgewise": EdgewiseRegression(6)}
    result = compare_methods(cohort, methods, "trait_1", "rms_mm", cv=2)
    found = result.summary.set_index("method")
    # The components of raw connectomes hold motion, those of residuals do not.
    assert found.loc["pca-regression", "leakage_z"] > 0.2 > found.loc["edgewise", "leakage_z"]
    assert np.isfinite(found["leakage_adjusted"]).all()


@pytest.mark.filterwarnings("ignore:Motion is measured by")
def test_fidelity_is_measured_where_the_truth_is_known(study):
    cohort, motion_free = study
    methods = {"sog": SOG(6), "edgewise": EdgewiseRegression(6)}
    found = [
        compare_methods(
            cohort, methods, "trait_1", "rms_mm", motion_free=truth, probe=False
        ).summary.set_index("method")["fidelity"]
        for truth in (motion_free, matrices_to_edges(motion_free))
    ]
    assert_allclose(found[0], found[1])
    # What is adjusted edge by edge is nearer to the truth than six components of it.
    assert 1 > found[0]["edgewise"] > found[0]["sog"]
    with pytest.raises(InputError, match="motion_free"):
        compare_methods(cohort, methods, motion_free=motion_free[:5])


def test_tests_are_nadeau_bengio_with_holm(cohort):
    methods = {
        "gate": PCARegression(3),  # the name is what makes it the baseline
        "sog": SOG(6),
        "edgewise": EdgewiseRegression(6),
    }
    result = compare_methods(cohort, methods, "trait_1", "rms_mm", probe=False, repeats=2)
    baseline = result.tests[result.tests["kind"] == "baseline"].set_index("method")
    assert set(baseline.index) == {"sog", "edgewise"}
    r = result.folds.pivot(index=["repeat", "fold"], columns="method", values="r")
    difference = r["sog"] - r["gate"]
    expected = difference.mean() / np.sqrt((1 / 10 + 0.25) * difference.var(ddof=1))
    assert_allclose(baseline.loc["sog", "t"], expected)
    assert baseline.loc["sog", "df"] == 9
    assert (baseline["p_holm"] >= baseline["p_value"]).all()
    best = result.summary.set_index("method")["r_mean"].idxmax()
    against_best = result.tests[result.tests["kind"] == "best"]
    assert set(against_best["against"]) == {best}
    assert (against_best["difference"] <= 0).all()


def test_a_folder_without_room_is_no_failure_of_a_method(cohort, tmp_path, monkeypatch):
    """It would be written as a result, and a run that is continued would not try again."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "gone"))
    methods = {"inv-fa": make_method("inv-fa").set_params(memory=1)}
    with pytest.raises(FileError, match="gone"):
        compare_methods(cohort, methods, "trait_1", "rms_mm", cv=2, probe=False)


def test_a_failing_method_is_reported_and_the_others_go_on(cohort):
    counts = cohort.edges.copy()
    counts[0, 0] = 77777
    broken = Cohort(
        cohort.subject_ids,
        edges_to_matrices(counts),
        motion=cohort.motion,
        traits=cohort.traits,
    )
    methods = {"fragile": Fragile(3), "edgewise": EdgewiseRegression(3)}
    result = compare_methods(broken, methods, "trait_1", "rms_mm", probe=False)
    summary = result.summary.set_index("method")
    assert summary.loc["fragile", "status"] == "failed"
    assert "subject 0 is too much" in summary.loc["fragile", "reason"]
    assert np.isnan(summary.loc["fragile", "r_mean"])
    assert summary.loc["edgewise", "status"] == "ok"
    assert (result.folds["error"] != "").sum() == 4
    assert len(result.tests) == 0


def test_warnings_become_notes_in_the_table(cohort):
    methods = {"hasty": SOG(4, tol=0, max_iter=2), "sog": SOG(4)}
    result = compare_methods(cohort, methods, "trait_1", "rms_mm", cv=2, probe=False)
    notes = result.summary.set_index("method")["note"]
    assert "still changed after 2 sweeps" in notes["hasty"]
    assert notes["sog"] == ""
    assert (result.summary["status"] == "ok").all()


def test_names_and_values_mean_the_same(cohort):
    families = np.array([f"family-{i // 2}" for i in range(160)], dtype=object)
    named = with_traits(cohort, trait_1=cohort.traits["trait_1"].to_numpy(), family=families)
    by_name = compare_methods(
        named, ["edgewise"], confounds=["rms_mm", "rotation_rad"], groups="family", probe=False
    )
    by_value = compare_methods(
        cohort,
        ["edgewise"],
        "trait_1",
        cohort.motion[["rms_mm", "rotation_rad"]].to_numpy(),
        groups=families,
        probe=False,
    )
    assert set(by_name.summary["trait"]) == {"trait_1"}
    assert_allclose(by_name.folds["r"], by_value.folds["r"])


def test_permuted_traits_are_not_predicted(cohort):
    """Mean r over 10 permutations through the whole pipeline, every method."""
    rng = np.random.default_rng(0)
    shuffled = with_traits(
        cohort, **{f"t{i}": rng.permutation(cohort.traits["trait_1"]) for i in range(8)}
    )
    methods = {name: make_method(name, n_components=4, **QUICK.get(name, {})) for name in METHODS}
    result = compare_methods(
        shuffled, methods, confounds="rms_mm", cv=2, probe=False, permutations=10
    )
    means = result.null.groupby("method")["r_mean"].mean()
    assert len(result.null) == len(methods) * 8 * 10
    assert (means.abs() <= 0.03).all(), means.to_dict()


def test_permutation_p_values_tell_signal_from_none(cohort):
    rng = np.random.default_rng(3)
    strength = np.log1p(cohort.edges).sum(axis=1)
    both = with_traits(
        cohort, real=strength + rng.standard_normal(160), noise=rng.standard_normal(160)
    )
    result = compare_methods(
        both, ["edgewise"], confounds="rms_mm", n_components=8, probe=False, permutations=19
    )
    summary = result.summary.set_index("trait")
    assert summary.loc["real", "p_permutation"] == 1 / 20
    assert summary.loc["noise", "p_permutation"] > 1 / 20
    assert summary.loc["real", "r_mean"] > 0.3


@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_a_trait_that_is_motion_is_not_predicted(cohort, noise):
    motion = cohort.motion["rms_mm"].to_numpy()
    rng = np.random.default_rng(5)
    traits = {f"t{i}": motion + noise * motion.std() * rng.standard_normal(160) for i in range(6)}
    methods = {name: make_method(name, n_components=8, **QUICK.get(name, {})) for name in METHODS}
    result = compare_methods(
        with_traits(cohort, **traits), methods, confounds="rms_mm", probe=False
    )
    means = result.summary.groupby("method")["r_mean"].mean()
    # No better than chance; a method that takes motion out may even predict the wrong way round.
    assert (means < 0.1).all(), means.to_dict()
    assert (means[list(LINEAR)].abs() < 0.1).all(), means.to_dict()


def test_residuals_are_learned_from_training_subjects_only():
    rng = np.random.default_rng(0)
    motion, train = rng.standard_normal((40, 1)), np.arange(30)
    traits = 2 * motion + rng.standard_normal((40, 1))
    residuals = residualised_traits(traits, motion, train)
    slope, level = np.polyfit(motion[:30, 0], traits[:30, 0], 1)
    assert_allclose(residuals[:, 0], traits[:, 0] - slope * motion[:, 0] - level, atol=1e-10)
    changed = traits.copy()
    changed[30:] += 100
    assert_allclose(residualised_traits(changed, motion, train)[:30], residuals[:30])


def test_missing_traits_are_left_out_trait_by_trait(cohort):
    traits = cohort.traits.copy()
    traits.loc[traits.index[:40], "trait_2"] = np.nan
    gaps = with_traits(cohort, **{name: traits[name].to_numpy() for name in traits})
    whole, partial = (
        compare_methods(c, ["sog"], confounds="rms_mm", n_components=6, probe=False).folds
        for c in (cohort, gaps)
    )
    first = whole["trait"] == "trait_1"
    assert_allclose(whole.loc[first, "r"], partial.loc[first, "r"])
    assert partial.loc[~first, "n_test"].sum() == 120
    assert partial["r"].notna().all()


@pytest.fixture
def ageing(cohort):
    """The same cohort with an age that goes with motion, and a trait that is age alone."""
    motion = cohort.motion["rms_mm"].to_numpy()
    age = motion + np.random.default_rng(0).normal(0, motion.std(), len(motion))
    Recorded.fits = []
    return with_traits(cohort, age=age, slowness=age)


def test_what_is_kept_reaches_every_fit(ageing):
    given = {"keep": "age", "confounds": "rms_mm", "cv": 3}
    grid = {"recorded": {"n_components": [2, 4]}}
    compare_methods(ageing, {"recorded": Recorded()}, "slowness", choices=grid, **given)
    assert len(Recorded.fits) == 9  # two to choose, one with the choice, in each of three folds
    predict_trait(ageing, "slowness", Recorded(), choices=grid["recorded"], **given)
    assert len(Recorded.fits) == 18
    age = dict(zip(ageing.motion["rms_mm"], ageing.traits["age"], strict=True))
    for fit in Recorded.fits:
        expected = [age[motion] for motion in fit["confounds"].ravel()]
        assert_allclose(fit["covariates_to_keep"].ravel(), expected)
    compare_methods(ageing, {"recorded": Recorded()}, "slowness", confounds="rms_mm", cv=3)
    assert all(fit["covariates_to_keep"] is None for fit in Recorded.fits[18:])


def test_what_is_kept_stays_in_the_trait_and_is_no_leakage(ageing):
    motion, age = (t.to_numpy()[:, None] for t in (ageing.motion["rms_mm"], ageing.traits["age"]))
    everybody = np.arange(len(age))
    kept = residualised_traits(age, motion, everybody, age)
    assert_allclose(kept - kept.mean(), age - age.mean())
    assert residualised_traits(age, motion, everybody).var() < 0.7 * age.var()
    both = [
        compare_methods(
            ageing, ["edgewise"], "slowness", "rms_mm", keep=keep, cv=3, n_components=8
        ).summary["leakage_z"][0]
        for keep in (age, ["age"], None)
    ]
    assert both[0] == both[1] != both[2]


def test_what_cannot_be_kept_is_named(ageing):
    gap = with_traits(ageing, age=np.append(np.nan, ageing.traits["age"][1:]), site="A")
    for keep, says in (
        ("ages", "no column 'ages'"),
        ("age", f"'age' is missing for 1 subjects, e.g. {ageing.subject_ids[0]!r}"),
        ("site", "column to keep 'site' does not differ"),
        ([1.0, 2.0], "keep: 2 rows"),
    ):
        with pytest.raises(InputError, match=says):
            compare_methods(gap, ["edgewise"], "age", "rms_mm", keep=keep, probe=False)


def test_groups_never_straddle_folds(cohort):
    families = np.arange(160) // 3
    table = predict_trait(cohort, "trait_1", EdgewiseRegression(4), "rms_mm", groups=families)
    folds_of = table.assign(family=families[cohort.motion.index.get_indexer(table.index)])
    assert (folds_of.groupby("family")["fold"].nunique() == 1).all()
    assert table["fold"].nunique() == 5


def test_predict_trait_is_out_of_fold_and_agrees_with_the_comparison(cohort):
    table = predict_trait(cohort, "trait_1", SOG(6), "rms_mm", repeats=2, random_state=4)
    assert sorted(table.index[table["repeat"] == 1]) == sorted(cohort.subject_ids)
    r = [
        pearson_r(part["residual"].to_numpy(), part["predicted"].to_numpy())
        for _, part in table.groupby(["repeat", "fold"])
    ]
    result = compare_methods(
        cohort, {"sog": SOG(6)}, "trait_1", "rms_mm", repeats=2, random_state=4, probe=False
    )
    assert_allclose(r, result.folds["r"])
    someone = table.index[0]
    assert (table.loc[someone, "observed"] == cohort.traits.loc[someone, "trait_1"]).all()


def test_the_comparison_keeps_what_it_predicted(cohort):
    methods = {"sog": SOG(n_components=6), "fragile": Fragile()}
    broken = replace(cohort, connectomes=cohort.connectomes.copy())
    broken.connectomes[0, 0, 1] = broken.connectomes[0, 1, 0] = 77777
    result = compare_methods(broken, methods, ["trait_2", "trait_1"], "rms_mm", probe=False)
    kept = result.predictions
    # The one fold that tests subject 0 is the one in which Fragile can be fitted.
    assert kept["method"].value_counts().to_dict() == {"sog": 2 * 160, "fragile": 2 * 32}
    own = kept[(kept["method"] == "sog") & (kept["trait"] == "trait_1")]
    alone = predict_trait(broken, "trait_1", methods["sog"], "rms_mm")
    pd.testing.assert_frame_equal(own[alone.columns], alone)


def test_choices_are_made_inside_the_training_part(cohort):
    strength = np.log1p(cohort.edges).sum(axis=1)
    signal = with_traits(cohort, t=strength)
    result = compare_methods(
        signal,
        {"edgewise": EdgewiseRegression(), "fixed": EdgewiseRegression(12)},
        confounds="rms_mm",
        choices={"edgewise": {"n_components": [1, 12]}},
        probe=False,
    )
    chosen = result.folds[result.folds["method"] == "edgewise"]
    assert chosen["chosen"].isin(["n_components=1", "n_components=12"]).all()
    twelve = chosen["chosen"] == "n_components=12"
    assert twelve.any()
    fixed = result.folds[result.folds["method"] == "fixed"]["r"].to_numpy()
    assert_allclose(chosen["r"].to_numpy()[twelve], fixed[twelve])


def test_results_do_not_depend_on_how_many_run_at_a_time(cohort):
    seen = []
    arguments = {"confounds": "rms_mm", "cv": 3, "n_components": 4, "probe": False}
    one = compare_methods(cohort, LINEAR, progress=lambda *at: seen.append(at), **arguments)
    two = compare_methods(cohort, LINEAR, n_jobs=2, **arguments)
    pd.testing.assert_frame_equal(
        one.folds.drop(columns="seconds"), two.folds.drop(columns="seconds")
    )
    assert seen == [(i, 12) for i in range(1, 13)]


def test_a_dask_cluster_carries_the_comparison(cohort):
    arguments = {"confounds": "rms_mm", "cv": 2, "n_components": 4, "probe": False}
    here = compare_methods(cohort, ["sog", "edgewise"], **arguments)
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster),
        joblib.parallel_config("dask"),
    ):
        there = compare_methods(cohort, ["sog", "edgewise"], **arguments)
    pd.testing.assert_frame_equal(
        here.folds.drop(columns="seconds"), there.folds.drop(columns="seconds")
    )


@pytest.mark.filterwarnings("ignore:Motion is measured by")
def test_choices_need_two_groups_in_every_training_part(cohort):
    sites = np.arange(cohort.n_subjects) % 2
    with pytest.raises(InputError, match="holds a single group"):
        predict_trait(
            cohort, "trait_1", "edgewise", choices={"n_components": [3, 5]}, cv=2, groups=sites
        )


def test_failed_permutations_do_not_speak_for_a_method():
    folds = pd.DataFrame({"method": "m", "trait": "t", "r": [0.1, 0.2], "error": "", "note": ""})
    folds[["leakage_z", "leakage_adjusted", "fidelity", "seconds"]] = 0.0
    folds[["repeat", "n_test", "n_train"]] = [0, 10, 40]
    null = pd.DataFrame({"method": "m", "trait": "t", "r_mean": [0.0, 0.3, np.nan, np.nan]})
    assert summarise(folds, null, ["m"], ["t"])["p_permutation"].item() == 2 / 3


def test_without_a_name_the_first_usual_measure_of_motion_is_removed(cohort):
    arguments = {"methods": {"edgewise": EdgewiseRegression(6)}, "traits": "trait_1", "cv": 2}
    with pytest.warns(StillomeWarning, match="Motion is measured by rms_mm; translation_mm"):
        found = compare_methods(cohort, **arguments)
    named = compare_methods(cohort, **arguments, confounds="rms_mm")
    everything = compare_methods(cohort, **arguments, confounds=list(cohort.motion))
    assert_allclose(found.folds["r"], named.folds["r"])
    assert (found.folds["r"] != everything.folds["r"]).all()


@pytest.mark.filterwarnings("ignore:Motion is measured by")
def test_what_cannot_be_compared_is_named(cohort):
    with pytest.raises(InputError, match="no column 'iq'"):
        compare_methods(cohort, ["sog"], "iq")
    with pytest.raises(InputError, match="no method 'sogg'"):
        compare_methods(cohort, ["sogg"])
    with pytest.raises(InputError, match="'sog' is a str, not a method"):
        compare_methods(cohort, {"sog": "sog"})
    with pytest.raises(InputError, match="has a column 'fd'"):
        compare_methods(cohort, ["sog"], confounds="fd")
    with pytest.raises(ConfoundsError, match="3 rows for 160 subjects"):
        compare_methods(cohort, ["sog"], confounds=np.arange(3.0))
    with pytest.raises(InputError, match="cv=1"):
        compare_methods(cohort, ["sog"], cv=1)
    with pytest.raises(InputError, match="no parameter 'n_parts'"):
        compare_methods(cohort, ["sog"], choices={"sog": {"n_parts": [3]}})
    with pytest.raises(InputError, match="'gate' is not among the methods"):
        compare_methods(cohort, ["sog"], choices={"gate": {"n_components": [3]}})
    with pytest.raises(InputError, match="choices: 5"):
        compare_methods(cohort, ["sog"], choices=5)
    with pytest.raises(InputError, match="choices: 5"):
        predict_trait(cohort, "trait_1", "sog", choices=5)
    with pytest.raises(InputError, match="n_jobs='all'"):
        compare_methods(cohort, ["sog"], n_jobs="all")
    with pytest.raises(InputError, match="permutations=-1"):
        compare_methods(cohort, ["sog"], permutations=-1)
    with pytest.raises(InputError, match="expected the names of columns"):
        compare_methods(cohort, ["sog"], traits=[1, 2])
    with pytest.raises(InputError, match="methods: 3"):
        compare_methods(cohort, 3)
    with pytest.raises(InputError, match="repeats='two'"):
        compare_methods(cohort, ["sog"], repeats="two")
    with pytest.raises(InputError, match="a dict; expected a name or a method"):
        predict_trait(cohort, "trait_1", {})
    with pytest.raises(InputError, match="groups"):
        compare_methods(cohort, ["sog"], groups=["a", "b"])
    with pytest.raises(InputError, match="expected a stillome Cohort"):
        compare_methods(cohort.connectomes, ["sog"])
