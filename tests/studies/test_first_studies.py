"""The studies run, say what they found, and read HCP and ABCD as these studies write them."""

import json
import shutil
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest

from stillome.cli import main
from stillome.exceptions import StillomeError
from stillome.simulate import simulate_communities
from stillome.studies import (
    applied,
    motion_adjustment,
    outliers,
    real_data,
    section2,
    section4,
    study,
)

N_SUBJECTS, N_REGIONS = 44, 6


@dataclass(frozen=True)
class Tiny(study.Options):
    """As quick, and smaller still."""

    def size(self, full, quick):
        return min(quick, 40)


def counts_of(moved, seed=0):
    """Counts of as many people as moved, who lost fibres by it."""
    rng = np.random.default_rng(seed)
    person = np.exp(rng.normal(4, 0.6, (len(moved), N_REGIONS, N_REGIONS)))
    counts = np.triu(rng.poisson(person * np.exp(-moved)[:, None, None]), k=1)
    return counts + counts.transpose(0, 2, 1)


def write_connectomes(folder, ids, counts):
    (folder / "connectomes").mkdir(parents=True)
    for subject, matrix in zip(ids, counts, strict=True):
        path = folder / "connectomes" / f"sub-{subject}_connectome.csv"
        np.savetxt(path, matrix, fmt="%d", delimiter=",")


@pytest.fixture(scope="module")
def hcp(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hcp")
    rng = np.random.default_rng(1)
    ids = [str(100307 + i) for i in range(N_SUBJECTS)]
    moved = rng.gamma(3, 0.2, N_SUBJECTS)
    write_connectomes(folder, ids, counts_of(moved))
    for subject, mm in zip(ids, moved, strict=True):
        logs = folder / subject / "T1w" / "Diffusion" / "eddylogs"
        logs.mkdir(parents=True)
        stem = str(logs / "eddy_unwarped_images")
        np.savetxt(f"{stem}.eddy_movement_rms", [[0, 0], [mm, mm], [2 * mm, mm]])
        drift = np.outer(np.arange(3), [mm, 0, 0, 0.01 * rng.random(), 0, 0])
        np.savetxt(f"{stem}.eddy_parameters", np.hstack([drift, np.zeros((3, 10))]))
        lines = ["One row per scan, one column per slice"] + ["0 1 0"] * int(rng.integers(1, 5))
        with open(f"{stem}.eddy_outlier_map", "w") as file:  # noqa: PTH123
            file.write("\n".join(lines) + "\n")
    columns = [*real_data.TRAITS["HCP"][0].values(), "ReadEng_AgeAdj", "Gender"]
    table = pd.DataFrame(rng.normal(100, 15, (N_SUBJECTS, len(columns))), columns=columns)
    table["Gender"] = "F"
    table.insert(0, "Subject", ids)
    table.to_csv(folder / "unrestricted_someone.csv", index=False)
    return folder


def write_abcd(folder, release):
    rng = np.random.default_rng(2)
    ids = [f"NDAR_INV{i:08d}" for i in range(N_SUBJECTS)]
    moved = rng.gamma(3, 0.2, N_SUBJECTS)
    write_connectomes(folder, [i.replace("_", "") for i in ids], counts_of(moved))
    traits = list(real_data.TRAITS["ABCD"][release == 6].values())
    stem = {4: "dmri_dti_mean", 5: "dmri_mean"}.get(release)
    motion = [f"{stem}{what}" for what in ("motion", "trans", "rot")]
    subject, event, baseline, later = "src_subject_id", "eventname", *real_data.BASELINES[:1], "y2"
    if release == 6:
        motion = [f"mr_y_qc__mot__dmri__{what}_mean" for what in ("mot", "trans", "rot")]
        subject, event, baseline, later = "participant_id", "session_id", "ses-00A", "ses-02A"
        ids = [f"sub-{i.removeprefix('NDAR_INV')}" for i in ids]
        for path in (folder / "connectomes").iterdir():
            path.rename(path.with_name(path.name.replace("NDARINV", "")))
    values = np.column_stack([moved, 0.5 * moved, 0.3 * rng.random(N_SUBJECTS)])
    tables = {
        "motion": pd.DataFrame(values, columns=motion),
        "traits": pd.DataFrame(rng.normal(100, 15, (N_SUBJECTS, 5)), columns=traits),
    }
    for name, table in tables.items():
        table.insert(0, event, baseline)
        table.insert(0, subject, ids)
        both = pd.concat([table, table.assign(**{event: later})])
        if release == 4:
            says = {c: f"Description of {c}" for c in both.columns}
            pd.concat([pd.DataFrame([says]), both]).to_csv(
                folder / f"abcd_{name}01.txt", sep="\t", index=False
            )
        else:
            both.to_csv(folder / f"{name}.csv", index=False)
    return moved


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
    assert "does not hold here" in capsys.readouterr().out
    manifest, tables, claims = read_study(tmp_path / "outliers")
    assert manifest["Command"] == "stillome reproduce outliers --quick --seed 3"
    assert (manifest["Seed"], manifest["Quick"], manifest["Data"]) == (3, True, None)
    assert {"stillome", "numpy", "torch"} <= set(manifest["Versions"])
    people = tables["figureA1_simulated_hcp_subjects"]
    pairs = tables["figureA1_simulated_hcp"].set_index(["measure", "with"])["r"]
    expected = np.corrcoef(people["rms_mm"], people["n_outlier_slices"])[0, 1]
    assert pairs["rms_mm", "n_outlier_slices"] == pytest.approx(expected)
    assert list(claims["verdict"]) == ["does not hold here"]
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


def test_hcp_is_adjusted_for_head_motion(hcp, tmp_path):
    folder = tmp_path / "hcp"
    shutil.copytree(hcp, folder, ignore=shutil.ignore_patterns("*.eddy_parameters"))
    outcome = motion_adjustment.run(study.Options(quick=True, data=folder))
    assert any("not trained to convergence" in note for note in outcome.notes)
    assert len(outcome.inputs) == 2
    measured = outcome.numbers["figure4_hcp_measures"].set_index("method")
    assert list(measured.index) == [applied.OBSERVED, study.AS_PUBLISHED, study.GATE, study.INV_FA]
    assert measured.loc[applied.OBSERVED, ["difference_rms_mm", "fidelity"]].tolist() == [1, 1]
    assert set(outcome.figures) < set(outcome.numbers)
    assert {"figure4_hcp_components_rms_mm", "figure5_hcp_circle_inv_fa"} <= set(outcome.figures)
    assert outcome.claims[-1].claim == "The adjusted connectome is still that person's connectome."


def test_abcd_shows_what_motion_does(tmp_path):
    write_abcd(tmp_path / "abcd", 5)
    outcome = section2.run(study.Options(quick=True, data=tmp_path / "abcd"))
    measured = outcome.numbers["measures"].set_index("measure")
    assert measured.loc["fd_mm", "fibres_lost"] > 0.3
    assert measured.loc["rotation_rad", "fibres_lost_low"] < 0
    assert outcome.claims[0].verdict == "holds"
    assert {"figure2_abcd_difference", "figureA2_abcd_difference", "figureA3_abcd"} <= set(
        outcome.figures
    )


def test_real_data_are_named_in_the_manifest(hcp, tmp_path):
    words = ["reproduce", "outliers", "--quick", "--quiet", "--data", str(hcp)]
    assert main([*words, "--out", str(tmp_path)]) == 0
    manifest, tables, _ = read_study(tmp_path / "outliers")
    assert manifest["Data"] == str(hcp)
    assert str(hcp / "unrestricted_someone.csv") in manifest["Inputs"]
    assert len(tables["figureA1_hcp_subjects"]) == N_SUBJECTS


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
    assert list(read.cohort.traits) == list(real_data.TRAITS["ABCD"][0])


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
    value, (low, high) = study.jackknife(lambda kept: values[kept].mean(), 400, 0, blocks=400)
    assert value == pytest.approx(values.mean())
    error = values.std(ddof=1) / np.sqrt(400)
    assert (high - low) / 2 == pytest.approx(1.96 * error, rel=1e-6)
    bounds = study.bootstrap(lambda rows: values[rows].mean(), 400, 0)
    assert np.subtract(*bounds[::-1]) / 2 == pytest.approx(1.96 * error, rel=0.2)


def test_shares_of_corrections_add_up():
    rng = np.random.default_rng(0)
    X = rng.poisson(50, (20, 15))
    groups = real_data.stand_in("HCP", 20, 0).cohort.motion_groups("rms_mm")
    table = applied.correction_table(X, X + rng.normal(0, 30, X.shape), groups)
    assert table[["share_small_motion", "share_large_motion"]].sum().tolist() == pytest.approx(
        [1, 1]
    )
