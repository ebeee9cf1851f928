"""Traits, breakdown, synthetic release, and the page of all claims."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from stillome.exceptions import FileError, FitError
from stillome.methods import make_method
from stillome.methods.graph_vae.gate import GATE
from stillome.methods.registry import METHODS
from stillome.simulate import simulate_cohort
from stillome.studies import (
    adjustment_claims,
    applied,
    breakdown,
    claims,
    converged_networks,
    study,
    synthetic_release,
    traits,
)
from stillome.studies.network_training import held_out_loss

VERDICTS = set(claims.VERDICTS)


class Tiny(study.Options):
    """Half of a quick run: enough to see that everything is there."""

    def size(self, full, quick):
        assert quick <= full
        return max(1, quick // 2)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("results")


def write(folder, module, name):
    options = Tiny(quick=True, seed=3)
    outcome = module.run(options)
    # Figures take longest to write; `stillome reproduce all --quick` writes them in CI.
    tables = replace(outcome, figures={})
    study.write_outcome(folder / name, name, lambda _: tables, options, command=f"run {name}")
    return outcome


@pytest.fixture(scope="module")
def broken(folder):
    return write(folder, breakdown, "breakdown")


@pytest.fixture(scope="module")
def released(folder):
    return write(folder, synthetic_release, "synthetic_release")


@pytest.fixture(scope="module")
def predicted(folder):
    return write(folder, traits, "traits")


def test_a_factor_of_all_weights_is_undone_at_every_level(broken):
    table = broken.numbers["levels"].set_index(["method", "c"])
    assert (table.xs(0.0, level="c")["identified z"].dropna() <= 1).all()
    inv_fa = table.loc[study.INV_FA + ", levels as categories"]
    assert inv_fa.loc[0.0, "identified z"] == inv_fa.loc[0.0, "identified A*"] == 1
    assert inv_fa.loc[0.9, "identified z"] >= 0.95
    assert (inv_fa["KL ratio"] < 0.5).all()
    assert (inv_fa["fidelity A*"] > 0.9).all()
    assert np.isnan(table.loc[("raw", 0.9), "identified z"])


def test_ties_are_no_identification():
    same = breakdown.rate("z", np.ones((4, 4)), seed=0)
    own = breakdown.rate("z", 1 - np.eye(4), seed=0)
    assert (same["z"], own["z"]) == (0.0, 1.0)


def test_every_distance_matrix_is_drawn_and_its_blocks_are_told(broken):
    drawn = [title for title in broken.figures if title.startswith("distances")]
    blocks = broken.numbers["kl_blocks"]
    assert len(drawn) == blocks["method"].nunique() == 4
    assert len(blocks) == 4 * 6


def test_the_real_half_is_the_best_that_can_be_drawn(released):
    table = released.numbers["measures"]
    means = table.groupby("method")["edge_variances_r2"].mean()
    assert means.idxmax() == "training half"
    assert means[study.INV_FA] > means[study.AS_PUBLISHED]
    assert table.loc[table["method"] == study.GATE, "motion_slopes_r"].isna().all()
    assert table["nearest_auc"].dropna().between(0, 1).all()


def test_nobody_is_on_both_sides(released):
    given = synthetic_release.stand_in("HCP", 30, 0)
    learn, judge = synthetic_release.halves(given, 0)
    both = np.concatenate([learn.edges, judge.edges])
    assert len(np.unique(both, axis=0)) == given.cohort.n_subjects
    assert abs(np.corrcoef(learn.motion[:, 0], learn.traits[:, 0])[0, 1]) < 1e-8


def test_all_methods_predict_all_traits(predicted):
    for part in ("head", "residual"):
        summary = predicted.numbers[f"{part}_summary"]
        assert summary["method"].nunique() == len(METHODS)
        assert summary["trait"].nunique() == 5
        assert (summary["status"] == "ok").all()
        p = predicted.numbers[f"{part}_separation"][["p_value", "p_fdr", "p_value_all"]]
        assert ((p > 0) & (p <= 1)).all(axis=None)


def test_claims_are_complete(broken, released, predicted):
    for outcome, expected in ((broken, 3), (released, 6), (predicted, 14)):
        assert len(outcome.claims) == expected
        for claim in outcome.claims:
            assert claim.verdict in VERDICTS
            texts = claim.as_row().values()
            assert all(text and "nan" not in text.lower() and "np." not in text for text in texts)


def test_results_of_a_folder_become_one_page(folder, broken, released, predicted, tmp_path):
    page = claims.page_of_folders([folder])
    assert "- Command: `run NAME`\n" in page
    assert "seed: 3" in page
    assert "- Not run: section4, motion_effects, motion_adjustment, outliers\n" in page
    assert "stillome" in page.split("## ")[0]
    rows = [line for line in page.splitlines() if line.startswith("|")]
    assert len(rows) == 3 + 6 + 14 + 2 * 3 + 5  # and the counts
    assert sorted({line.replace("\\|", "").count("|") for line in rows}) == [7, 8]
    manifest = json.loads((folder / "traits" / study.MANIFEST).read_text())
    for name, seed in (("traits", 3), ("breakdown", 4)):
        (tmp_path / name).mkdir()
        pd.read_csv(folder / name / "claims.tsv", sep="\t").to_csv(
            tmp_path / name / "claims.tsv", sep="\t", index=False
        )
        told = json.dumps(manifest | {"Seed": seed})
        (tmp_path / name / study.MANIFEST).write_text(told)
    with pytest.raises(FileError, match="different"):
        claims.page_of_folders([tmp_path])


def test_bars_in_claims_do_not_break_the_table(broken):
    odd = replace(broken.claims[0], why="a | b\nc")
    manifest = study.manifest_of(study.Options(), command="x")
    page = claims.claims_page({"breakdown": [odd], "outliers": []}, manifest)
    assert "a \\| b c\n" in page
    assert "outliers" not in page
    assert "quick run" not in page


def claim(verdict, **more):
    shown = {"as_published": "0.1", "gate": "0.2", "inv_fa": "0.3"} | more
    return study.Claim("Text.", "Section 1", "how", **shown, verdict=verdict, why="Because.")


def test_what_was_put_into_a_simulation_is_not_counted_as_holding():
    some = [
        claim(study.HOLDS),
        claim(study.UNTESTABLE, about=study.DATA),
        claim(study.HOLDS, about=study.OF_GATE),
    ]
    page = claims.claims_page({"outliers": some}, study.manifest_of(study.Options(), command="x"))
    assert "| the paper's model | 1 | 0 | 0 | 0 | 0 | 1 |" in page
    assert "| GATE | 1 | 0 | 0 | 0 | 0 | 1 |" in page
    assert "| the data | 0 | 0 | 0 | 1 | 0 | 1 |" in page
    assert "learning rate 2e-05" in page and "5e-06" in page and "one term exchanged" in page


def test_an_interval_decides_and_not_the_point():
    """0.72 [0.55, 0.89] does not hold where 0.77 [0.70, 0.83] fails."""
    names = [applied.OBSERVED, study.AS_PUBLISHED, study.GATE, study.INV_FA]
    table = pd.DataFrame({"method": names, "difference_c": [1.0, 0.72, 1.0, 0.3]})
    table["difference_c_low"] = table["difference_c"] - 0.17
    table["difference_c_high"] = table["difference_c"] + 0.17
    judged = adjustment_claims._difference(table, "c", "Figure 4", "", known=False)
    assert judged.verdict == study.ONLY_INV_FA
    table["difference_c_high"] = table["difference_c"] + 0.02
    judged = adjustment_claims._difference(table, "c", "Figure 4", "", known=False)
    assert judged.verdict == study.HOLDS


def test_each_block_of_distances_has_its_own_scale():
    distances = np.array([[0.0, 2.0, 50.0], [2.0, 0.0, 100.0], [50.0, 100.0, 0.0]])
    drawn = breakdown.normalised_blocks(distances, np.array([0.0, 0.0, 0.9]))
    assert drawn.tolist() == [[0, 1, 0.5], [1, 0, 1], [0.5, 1, 0]]


def test_networks_are_trained_as_published_and_to_convergence():
    full, quick = (study.methods(study.Options(quick=q)) for q in (False, True))
    assert list(full) == [
        *(study.AS_PUBLISHED, study.GATE, study.CONVERGED, study.GATE_CONVERGED, study.INV_FA)
    ]
    assert list(quick) == [study.AS_PUBLISHED, study.GATE, study.INV_FA]
    told = full[study.AS_PUBLISHED].get_params()
    assert (told["learning_rate"], told["max_epochs"], told["patience"]) == (2e-5, 200, None)
    of_simulations = study.methods(study.Options(), simulation=True)
    assert of_simulations[study.GATE].get_params()["learning_rate"] == 5e-6
    assert set(full[study.CONVERGED].choices) == {"learning_rate", "invariance_weight"}
    assert set(full[study.GATE_CONVERGED].choices) == {"learning_rate"}


@pytest.mark.filterwarnings("ignore:The latent has collapsed")
def test_the_training_that_is_best_for_held_out_subjects_is_gone_through_with(monkeypatch):
    monkeypatch.setattr(converged_networks, "COMPARED_EPOCHS", 2)
    X = np.random.default_rng(0).poisson(20.0, (40, 15))
    given = {"n_components": 2, "patience": 5, "max_epochs": 6}
    model = converged_networks.ConvergedGATE(**given, learning_rate=7.0)
    found = clone(model).fit(X)
    rates = model.choices["learning_rate"]
    short = [GATE(**given | {"max_epochs": 2}, learning_rate=rate).fit(X) for rate in rates]
    best = rates[int(np.argmin([held_out_loss(one) for one in short]))]
    assert found.chosen_ == {"learning_rate": best}
    whole = GATE(**given, learning_rate=best).fit(X)
    pd.testing.assert_frame_equal(found.history_, whole.history_)
    assert found.get_params() == model.get_params()


@pytest.mark.filterwarnings("ignore:The latent has collapsed")
def test_trainings_that_diverge_are_not_chosen(monkeypatch):
    monkeypatch.setattr(converged_networks.ConvergedGATE, "choices", {"learning_rate": (1e6, 1e-3)})
    X = np.random.default_rng(0).poisson(20.0, (40, 15))
    model = converged_networks.ConvergedGATE(n_components=2, max_epochs=3)
    assert model.fit(X).chosen_ == {"learning_rate": 1e-3}
    watched = GATE.fit

    def later(self, *args, **given):
        if self.max_epochs > 3 and self.learning_rate == 1e-3:
            raise FitError("diverged later")
        return watched(self, *args, **given)

    monkeypatch.setattr(GATE, "fit", later)
    monkeypatch.setattr(converged_networks, "COMPARED_EPOCHS", 3)
    monkeypatch.setattr(
        converged_networks.ConvergedGATE, "choices", {"learning_rate": (1e-3, 1e-4)}
    )
    assert clone(model).set_params(max_epochs=4).fit(X).chosen_ == {"learning_rate": 1e-4}
    monkeypatch.setattr(converged_networks.ConvergedGATE, "choices", {"learning_rate": (1e6,)})
    with pytest.raises(FitError, match="diverged"):
        model.fit(X)


def test_unseen_people_are_measured_in_full_runs():
    simulated = simulate_cohort(80, random_state=0)
    model = make_method("inv-fa", n_components=3)
    given = (simulated.X[:, :45], simulated.confounds, simulated.X_free[:, :45])
    full, quick = (
        applied.apply_method(model, *given, study.Options(quick=q)) for q in (False, True)
    )
    assert set(full.unseen) == {"leakage_z", "leakage_adjusted", "fidelity", "identified"}
    assert not quick.unseen
    groups = {"rms_mm": simulated.cohort.motion_groups("rms_mm")}
    table = applied.measures(
        {study.INV_FA: full}, *given[:2], groups, given[2], study.Options(quick=True)
    )
    assert "; unseen people " in applied.shown(table, study.INV_FA, "fidelity")


def test_an_empty_folder_has_no_page(tmp_path):
    with pytest.raises(FileError, match="no results"):
        claims.page_of_folders([tmp_path])
