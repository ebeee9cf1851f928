"""Traits, breakdown, synthetic release, and the page of all claims."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from stillome.exceptions import FileError
from stillome.methods.registry import METHODS
from stillome.studies import breakdown, claims, study, synthetic_release, traits

VERDICTS = {study.HOLDS, study.ONLY_INV_FA, study.FAILS}


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


def test_fidelity_falls_with_motion(broken):
    table = broken.numbers["levels"].set_index(["method", "c"])
    assert (table.xs(0.0, level="c")["identified z"].dropna() <= 1).all()
    inv_fa = table.loc[study.INV_FA + ", levels as categories"]
    assert inv_fa.loc[0.0, "identified z"] == inv_fa.loc[0.0, "identified A*"] == 1
    assert inv_fa.loc[0.9, "identified z"] >= 0.95
    assert inv_fa.loc[0.9999, "fidelity A*"] < inv_fa.loc[0.5, "fidelity A*"] < 1
    assert inv_fa.loc[0.5, "KL ratio"] < 0.5 < inv_fa.loc[0.9999, "KL ratio"]
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
    for outcome, expected in ((broken, 3), (released, 6), (predicted, 8)):
        assert len(outcome.claims) == expected
        for claim in outcome.claims:
            assert claim.verdict in VERDICTS
            texts = vars(claim).values()
            assert all(text and "nan" not in text and "np." not in text for text in texts)


def test_results_of_a_folder_become_one_page(folder, broken, released, predicted, tmp_path):
    page = claims.page_of_folder(folder)
    assert "`run traits; run breakdown; run synthetic_release`" in page
    assert "seed: 3" in page
    assert "stillome" in page.split("## ")[0]
    rows = [line for line in page.splitlines() if line.startswith("|")]
    assert len(rows) == 3 + 6 + 8 + 2 * 3
    assert len({line.replace("\\|", "").count("|") for line in rows}) == 1
    manifest = json.loads((folder / "traits" / study.MANIFEST).read_text())
    for name, seed in (("traits", 3), ("breakdown", 4)):
        (tmp_path / name).mkdir()
        pd.read_csv(folder / name / "claims.tsv", sep="\t").to_csv(
            tmp_path / name / "claims.tsv", sep="\t", index=False
        )
        told = json.dumps(manifest | {"Seed": seed})
        (tmp_path / name / study.MANIFEST).write_text(told)
    with pytest.raises(FileError, match="different"):
        claims.page_of_folder(tmp_path)


def test_bars_in_claims_do_not_break_the_table(broken):
    odd = replace(broken.claims[0], why="a | b\nc")
    manifest = study.manifest_of(study.Options(), command="x")
    page = claims.claims_page({"breakdown": [odd], "outliers": []}, manifest)
    assert "a \\| b c |" in page
    assert "outliers" not in page
    assert "quick run" not in page


def test_an_empty_folder_has_no_page(tmp_path):
    with pytest.raises(FileError, match="no results"):
        claims.page_of_folder(tmp_path)
