"""The studies run, say what they found, and read HCP and ABCD as these studies write them."""

import json
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest

from real_folders import N_SUBJECTS, write_abcd, write_hcp
from stillome.cli import main
from stillome.exceptions import StillomeError
from stillome.simulate import simulate_communities
from stillome.studies import (
    applied,
    outliers,
    real_data,
    section2,
    section4,
    study,
    study_cohort,
)
from stillome.studies.intervals import bootstrap, jackknife


@dataclass(frozen=True)
class Tiny(study.Options):
    """As quick, and smaller still."""

    def size(self, full, quick):
        return min(quick, 40)


@pytest.fixture(scope="module")
def hcp(tmp_path_factory):
    return write_hcp(tmp_path_factory.mktemp("hcp"))


def read_study(folder):
    manifest = json.loads((folder / "manifest.json").read_text())
    for name in manifest["Figures"]:
        assert (folder / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert (folder / f"{name}.pdf").read_bytes().startswith(b"%PDF")
    tables = {name: pd.read_csv(folder / f"{name}.tsv", sep="\t") for name in manifest["Numbers"]}
    assert all(len(table) for table in tables.values())
    return manifest, tables, pd.read_csv(folder / "claims.tsv", sep="\t")


def test_a_study_writes_figures_numbers_claims_and_how_it_was_made(tmp_path, capsys):
    words = ["reproduce", "outliers", "--quick", "--seed", "3", "--out", str(tmp_path)]
    assert main(words) == 0
    assert study.UNTESTABLE in capsys.readouterr().out
    manifest, tables, claims = read_study(tmp_path / "outliers")
    assert manifest["Command"] == "stillome reproduce outliers --quick --seed 3"
    assert (manifest["Seed"], manifest["Quick"], manifest["Data"]) == (3, True, None)
    assert {"stillome", "numpy", "torch"} <= set(manifest["Versions"])
    people = tables["figureA1_simulated_hcp_subjects"]
    pairs = tables["figureA1_simulated_hcp"].set_index(["measure", "with"])["r"]
    expected = np.corrcoef(people["rms_mm"], people["n_outlier_slices"])[0, 1]
    assert pairs["rms_mm", "n_outlier_slices"] == pytest.approx(expected)
    assert list(claims["verdict"]) == [study.UNTESTABLE]
    assert manifest["Commit"] is None or len(manifest["Commit"].split()[0]) == 12
    assert main(words) == 2
    assert "exists already" in capsys.readouterr().err
    assert main([*words, "--overwrite", "--quiet"]) == 0
    assert capsys.readouterr().out.strip() == str(tmp_path)


def test_the_same_seed_gives_the_same_numbers():
    first, again, other = (outliers.run(study.Options(seed, quick=True)) for seed in (0, 0, 1))
    for name, table in first.numbers.items():
        pd.testing.assert_frame_equal(table, again.numbers[name], check_exact=True)
        assert not table.equals(other.numbers[name])


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["section5"], "There is no study 'section5'; choose among section4, motion_effects"),
        (["outliers", "--data", "nowhere"], "nowhere: no such folder"),
        ([], "Missing argument"),
    ],
)
def test_a_mistake_is_answered_by_one_sentence(words, sentence, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["reproduce", *words]) == 2
    said = capsys.readouterr().err
    assert sentence in said
    assert said.count("\n") == 1
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_abcd_shows_what_motion_does(tmp_path):
    write_abcd(tmp_path / "abcd", 5)
    outcome = section2.run(study.Options(quick=True, data=tmp_path / "abcd"))
    measured = outcome.numbers["measures"].set_index("measure")
    assert measured.loc["fd_mm", "fibres_lost"] > 0.3
    assert list(measured.index) == ["fd_mm"]  # means of ABCD's tables are no misalignment
    assert [claim.verdict for claim in outcome.claims] == ["holds", *[study.NO_VERDICT] * 3]
    assert "figure2_abcd_difference" in outcome.figures


def test_real_data_are_named_in_the_manifest(hcp, tmp_path):
    words = ["reproduce", "outliers", "--quick", "--quiet", "--data", str(hcp)]
    assert main([*words, "--out", str(tmp_path)]) == 0
    manifest, tables, _ = read_study(tmp_path / "outliers")
    assert manifest["Data"] == str(hcp)
    assert str(hcp / "unrestricted_someone.csv") in manifest["Inputs"]
    assert len(tables["figureA1_hcp_subjects"]) == N_SUBJECTS
    assert manifest["Dropped"]["no connectome"] == ["999999"]


def test_hcp_is_read_by_its_own_names(hcp):
    read = real_data.load_cohort(hcp)
    assert (read.name, read.head_motion, read.quantile) == ("HCP", "rms_mm", 0.1)
    assert read.cohort.n_subjects == N_SUBJECTS
    assert list(read.cohort.traits)[:2] == ["picture vocabulary", "pattern completion"]
    assert "oral reading" in read.cohort.traits
    assert read.residual == ("translation_mm", "rotation_rad")
    assert read.cohort.motion["n_outlier_slices"].between(1, 4).all()


@pytest.mark.parametrize("release", [4, 5, 6])
def test_abcd_is_read_by_the_names_of_every_release(release, tmp_path):
    moved = write_abcd(tmp_path, release)
    read = real_data.load_cohort(tmp_path)
    assert (read.name, read.head_motion, read.quantile) == ("ABCD", "fd_mm", 0.05)
    np.testing.assert_allclose(np.sort(read.cohort.motion["fd_mm"]), np.sort(moved))
    assert list(read.cohort.traits) == list(study_cohort.TRAITS["ABCD"][0])


@pytest.mark.parametrize(
    ("lost", "sentence"),
    [("connectomes", "no connectomes"), ("motion.csv", "neither eddy's logs nor a table of ABCD")],
)
def test_what_real_data_lack_is_named(lost, sentence, tmp_path):
    write_abcd(tmp_path, 5)
    (tmp_path / lost).rename(tmp_path / "elsewhere.bak")
    if lost == "connectomes":
        (tmp_path / "elsewhere.bak").rename(tmp_path.parent / f"{tmp_path.name}-elsewhere")
    with pytest.raises(StillomeError, match=sentence):
        real_data.load_cohort(tmp_path)


def test_a_trait_that_is_in_no_table_is_named(tmp_path):
    write_abcd(tmp_path, 5)
    table = pd.read_csv(tmp_path / "traits.csv")
    table.drop(columns="nihtbx_cryst_agecorrected").to_csv(tmp_path / "traits.csv", index=False)
    with pytest.raises(StillomeError, match="'nihtbx_cryst_agecorrected' of the paper's traits"):
        real_data.load_cohort(tmp_path)


def test_section_4_judges_the_person_and_not_only_the_picture():
    outcome = section4.run(Tiny(quick=True))
    measured = outcome.numbers["measures"].set_index("method")
    assert measured.loc[applied.TRUTH, "fidelity"] == 1
    assert measured.loc[study.INV_FA, "fidelity"] > 0.5 > measured.loc[study.GATE, "fidelity"]
    assert not measured.loc[study.AS_PUBLISHED, "leakage_z_passes"]
    assert [claim.section[:9] for claim in outcome.claims] == ["Section 4"] * 4
    assert outcome.claims[3].verdict == "holds only for inv-FA"


def test_the_same_network_for_everybody_is_not_praised():
    simulated = simulate_communities(60)
    X, groups = simulated.X, simulated.cohort.motion_groups("c", quantile=0.2)
    average = np.repeat(X.mean(axis=0)[None], len(X), axis=0)
    collapsed = applied.Applied(np.zeros((60, 3)), average, 0.0, 0, 1)
    options = study.Options(quick=True)
    found = applied.measures(
        {study.INV_FA: collapsed}, X, simulated.confounds, {"c": groups}, simulated.X_free, options
    )
    row = found.set_index("method").loc[study.INV_FA]
    assert row["difference_c"] == pytest.approx(0, abs=1e-12)
    assert row["fidelity"] <= 0
    assert not row["leakage_z_passes"]
    assert applied.shown(found, study.INV_FA, "leakage_z") == "empty: the same for everybody"


def test_the_jackknife_of_a_mean_is_its_standard_error():
    values = np.random.default_rng(0).normal(size=400)
    value, (low, high) = jackknife(lambda kept: values[kept].mean(), 400, 0, blocks=400)
    assert value == pytest.approx(values.mean())
    error = values.std(ddof=1) / np.sqrt(400)
    assert (high - low) / 2 == pytest.approx(1.96 * error, rel=1e-6)
    bounds = bootstrap(lambda rows: values[rows].mean(), 400, 0)
    assert np.subtract(*bounds[::-1]) / 2 == pytest.approx(1.96 * error, rel=0.2)


def test_shares_of_corrections_add_up():
    rng = np.random.default_rng(0)
    X = rng.poisson(50, (20, 15))
    groups = real_data.stand_in("HCP", 20, 0).cohort.motion_groups("rms_mm")
    table = applied.correction_table(X, X + rng.normal(0, 30, X.shape), groups)
    assert table[["share_small_motion", "share_large_motion"]].sum().tolist() == pytest.approx(
        [1, 1]
    )
