"""Which studies there are, and what is said where a package they need is missing."""

import sys
from importlib.util import find_spec

import pytest

from stillome.cli import main
from stillome.exceptions import InputError, MissingExtraError
from stillome.studies.catalogue import STUDIES, check_installed, chosen_studies, load_study


@pytest.fixture
def no_torch(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)


@pytest.mark.parametrize("name", STUDIES)
def test_every_study_can_be_run_and_has_a_file_of_its_own(name):
    run = load_study(name)
    assert run.__module__ == f"stillome.studies.{STUDIES[name].module}"
    assert run.__name__ == "run"
    assert find_spec(run.__module__)


def test_a_study_that_is_not_there_is_named_with_those_that_are():
    with pytest.raises(InputError, match="'section5'; choose among section4, motion_effects"):
        chosen_studies("section5")


@pytest.mark.parametrize("name", ["section4", "all"])
def test_without_torch_one_sentence_comes_before_any_work(name, no_torch, tmp_path, capsys):
    assert main(["reproduce", name, "--quick", "--out", str(tmp_path / "results")]) == 2
    said = capsys.readouterr().err
    assert said.startswith("The study section4 needs torch, which is not installed.")
    assert "pip install 'stillome[vae]'" in said
    assert said.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_studies_that_fit_no_network_need_no_torch(no_torch, tmp_path):
    check_installed(["outliers", "motion_effects"])
    words = ["reproduce", "outliers", "--quick", "--quiet", "--out", str(tmp_path)]
    assert main(words) == 0
    assert (tmp_path / "outliers" / "claims.tsv").stat().st_size


def test_the_study_of_traits_needs_combat_too(monkeypatch):
    monkeypatch.setitem(sys.modules, "combatlearn", None)
    check_installed(["section4"])
    with pytest.raises(MissingExtraError, match=r"stillome\[combat\]"):
        check_installed(["traits"])
