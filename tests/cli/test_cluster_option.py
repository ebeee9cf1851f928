"""`--cluster`: the bytes of the same command without it, and one sentence where there is none."""

import tempfile

import pytest
from dask.distributed import LocalCluster

from stillome.cli import main
from stillome.cli.app import VERBS
from stillome.cluster.engine import active_client
from stillome.io.write_cohort import write_cohort
from stillome.simulate import simulate_cohort


@pytest.fixture
def study(tmp_path, monkeypatch):
    write_cohort(tmp_path / "study", simulate_cohort(30, random_state=0).cohort)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return ["--connectomes", "study/connectomes", "--motion", "study/motion.tsv"]


def content(folder):
    return {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.filterwarnings("default::stillome.exceptions.StillomeWarning")
def test_a_command_on_a_cluster_writes_the_same_bytes(study, tmp_path, capsys):
    fit = ["fit", *study, "--confound", "rms_mm", "--set", "n_components=2", "--set", "memory=8e6"]
    adjust = ["adjust", "here", *study]
    assert main([*fit, "--out", "here"]) == 0
    assert main([*adjust, "--out", "adjusted here"]) == 0
    with LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0"
    ) as cluster:
        there = ["--cluster", cluster.scheduler_address]
        assert main([*fit, "--out", "there", *there]) == 0
        assert main([*adjust, "--out", "adjusted there", *there]) == 0
    assert active_client() is None
    assert content(tmp_path / "here") == content(tmp_path / "there")
    assert content(tmp_path / "adjusted here") == content(tmp_path / "adjusted there")


def test_a_cluster_that_is_not_there_is_one_sentence(study, tmp_path, capsys):
    code = main(["fit", *study, "--out", "model", "--cluster", "nobody://here"])
    said = capsys.readouterr().err.strip()
    assert code == 2
    assert said.startswith("--cluster nobody://here: no Dask scheduler answers there.")
    assert "\n" not in said
    assert not (tmp_path / "model").exists()


def test_verbs_that_compute_long_have_the_option():
    having = {verb.__name__ for verb in VERBS if "cluster" in verb.__annotations__}
    assert having == {"run", "fit", "transform", "adjust", "predict", "compare", "reproduce"}
