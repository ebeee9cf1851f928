"""A simulated study in files: read as it was drawn, whatever the format."""

import json
import shlex
from pathlib import Path

import pytest
import typer
from numpy.testing import assert_allclose, assert_array_equal

from stillome import read_cohort, simulate_cohort
from stillome.cli import main
from stillome.cli.app import app
from stillome.cli.simulate import RegimeName
from stillome.io import read_connectomes
from stillome.simulate import NUISANCES, REGIMES, simulate_scans


@pytest.mark.parametrize("form", ["mrtrix", "relmat", "npz", "hdf5", "mat"])
def test_a_simulated_study_is_read_as_it_was_drawn(form, tmp_path, capsys):
    out = tmp_path / "study"
    assert main(["simulate", "--subjects", "6", "--out", str(out), "--format", form]) == 0
    simulated = simulate_cohort(6, "thinning", random_state=0)
    labels = out / "regions.tsv" if form == "mrtrix" else None
    read = read_cohort(
        out / "connectomes",
        motion=out / "motion.tsv",
        traits=out / "participants.tsv",
        lengths=out / "lengths.csv",
        labels=labels,
    )
    drawn = simulated.cohort
    assert list(read.subject_ids) == [i.removeprefix("sub-") for i in drawn.subject_ids]
    assert_array_equal(read.connectomes, drawn.connectomes)
    assert_array_equal(read.motion.to_numpy(), drawn.motion[list(read.motion)].to_numpy())
    assert_array_equal(read.traits.to_numpy(), drawn.traits.to_numpy())
    assert_array_equal(read.regions["name"], drawn.regions["name"])
    assert_allclose(read.lengths, drawn.lengths)
    truth = read_connectomes(out / "truth").connectomes
    assert_array_equal(truth, simulated.motion_free)
    assert json.loads((out / "motion.json").read_text())["Seed"] == 0


def test_both_families_are_written_and_explained(tmp_path, capsys):
    head_motion = [name for name, nuisance in NUISANCES.items() if nuisance.column == "rms_mm"]
    assert not set(REGIMES) & set(NUISANCES)
    assert list(RegimeName) == [*REGIMES, *head_motion]
    words = ["simulate", "--subjects", "4", "--regime", "lost-volumes", "--seed", "3"]
    assert main([*words, "--out", str(tmp_path / "study")]) == 0
    assert NUISANCES["lost-volumes"].meaning in capsys.readouterr().out
    drawn = simulate_scans(4, "lost-volumes", random_state=3)
    read = read_cohort(tmp_path / "study" / "connectomes", motion=tmp_path / "study" / "motion.tsv")
    assert_array_equal(read.connectomes, drawn.cohort.connectomes)
    assert_array_equal(read.motion["rms_mm"], drawn.cohort.motion["rms_mm"])


def test_the_command_that_simulate_prints_has_files_and_options_that_exist(tmp_path, capsys):
    assert main(["simulate", "--subjects", "3", "--out", str(tmp_path / "a study")]) == 0
    words = shlex.split(capsys.readouterr().out.splitlines()[-1])
    assert words[:2] == ["stillome", "run"]
    options = {name for p in typer.main.get_command(app).commands["run"].params for name in p.opts}
    assert set(words[2::2]) <= options
    files = dict(zip(words[2::2], words[3::2], strict=True))
    wanted = ("connectomes", "motion", "traits", "labels", "lengths", "truth")
    assert all(Path(files[f"--{name}"]).exists() for name in wanted)
    assert not Path(files["--out"]).exists()


def test_the_same_seed_gives_the_same_bytes(tmp_path):
    for name, seed in (("a", "1"), ("b", "1"), ("c", "2")):
        out = str(tmp_path / name)
        assert main(["simulate", "--subjects", "3", "--seed", seed, "--out", out, "--quiet"]) == 0
    files = [p.relative_to(tmp_path / "a") for p in (tmp_path / "a").rglob("*") if p.is_file()]
    assert len(files) > 8
    for file in files:
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()
    motion = Path("motion.tsv")
    assert (tmp_path / "a" / motion).read_bytes() != (tmp_path / "c" / motion).read_bytes()
