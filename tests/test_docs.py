"""Every command in README and docs runs, on small cohorts; what is told is there."""

import contextlib
import doctest
import importlib.util
import re
import shlex
import sys
import tomllib
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from pathlib import Path

import pytest

from small_study import write_derivatives
from stillome.cli import main
from stillome.cli.app import VERBS
from stillome.io.write_cohort import write_cohort
from stillome.report import figures, writing
from stillome.simulate import simulate_cohort

HOUSE = Path(__file__).parents[1]
PAGES = ("README.md", "docs/cli.md")
ELSEWHERE = {"make", "pip"}  # tests/test_house.py knows the targets; CI installs


def commands(page):
    """Return the commands of a page, lines that go on joined, comments left out."""
    blocks = re.findall(r"```sh\n(.*?)```", (HOUSE / page).read_text(encoding="utf-8"), flags=re.S)
    lines = "\n".join(blocks).replace("\\\n", " ").splitlines()
    return [words for line in lines if (words := shlex.split(line, comments=True))]


def made_small(words):
    """Let a command have fewer subjects and one worker, and change nothing else."""
    if words[0] == "simulate":
        words = [*words, "--subjects", "32"]
    workers = {"run": "--jobs", "compare": "--jobs", "bids": "--n-procs"}
    return [*words, workers[words[0]], "1"] if words[0] in workers else words


def keep_few_regions(study):
    """Put twelve of the 68 regions in place of what was simulated; all else is as it was."""
    simulated, few = simulate_cohort(32, "thinning", random_state=0), slice(None, None, 6)
    cohort = simulated.cohort
    small = replace(
        cohort,
        connectomes=cohort.connectomes[:, few, few],
        regions=cohort.regions.iloc[few],
        lengths=cohort.lengths[few, few],
    )
    write_cohort(study, small, motion_free=simulated.motion_free[:, few, few], overwrite=True)


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with the files that the pages speak of."""
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    # All figures together are drawn in the tests of the report.
    few = partial(figures.draw_figures, plans=figures.PLANS[:1])
    monkeypatch.setattr(writing, "draw_figures", few)
    connectomes, _ = write_derivatives(tmp_path / "derivatives")
    (connectomes / "participants.tsv").rename(tmp_path / "participants.tsv")
    return tmp_path


@pytest.mark.filterwarnings("default::stillome.exceptions.StillomeWarning")
@pytest.mark.parametrize("page", PAGES)
def test_every_command_of_the_page_runs(page, place, capsys):
    told = [words for words in commands(page) if words[0] not in ELSEWHERE]
    assert told and all(words[0] == "stillome" for words in told)
    with contextlib.chdir(place):
        for _, *words in told:
            code = main(made_small(words))
            if words[0] == "simulate":
                keep_few_regions(Path(words[words.index("--out") + 1]))
            said = capsys.readouterr()
            assert code == 0, (words, said.err)
            assert said.out.strip(), words
            if words[0] == "run":
                report = Path(words[words.index("--out") + 1]) / "report.html"
                assert str(report) in said.out and report.is_file()


def test_the_page_of_the_command_line_has_every_verb():
    text = (HOUSE / "docs" / "cli.md").read_text(encoding="utf-8")
    verbs = {verb.__name__ for verb in VERBS}
    shown = {words[1] for words in commands("docs/cli.md")}
    assert shown <= verbs
    assert verbs - shown == {"demo", "reproduce"}  # which only take long; both have their tests
    assert all(f"`{verb}`" in text for verb in verbs)


def test_the_example_of_the_page_of_the_model_runs():
    page = HOUSE / "docs" / "model.md"
    result = doctest.testfile(str(page), module_relative=False, encoding="utf-8")
    assert result.attempted >= 5
    assert result.failed == 0


def loaded(path):
    """Return a module of the tree that is no part of the package."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_public_name_has_an_example():
    names = loaded(HOUSE / ".ci" / "public_names.py")
    assert len(list(names.public_names())) > 90
    assert names.without_example() == []


def test_a_public_name_without_an_example_is_found():
    names = loaded(HOUSE / ".ci" / "public_names.py")

    def silent():
        """Do nothing."""

    shown = names.PublicName("stillome.simulate", "stillome.simulate", "REGIMES", {})
    hidden = shown._replace(name="SECRETS")
    assert not names.PublicName("stillome", "stillome", "silent", silent).has_example
    assert shown.has_example and not hidden.has_example


def test_parts_that_the_code_writes_are_complete():
    from_code = loaded(HOUSE / "docs" / "_ext" / "from_code.py")
    asked = {
        part
        for page in (HOUSE / "docs").glob("*.md")
        for part in re.findall(r"<!-- from the code: ([a-z ]+) -->", page.read_text("utf-8"))
    }
    assert asked == set(from_code.PARTS)
    verbs = from_code.verbs()
    assert re.findall(r"^## (\w+)$", verbs, flags=re.M) == [verb.__name__ for verb in VERBS]
    assert all(f"`{option}`" in verbs for option in ("--connectomes", "--group", "--draws"))
    assert all(f"`{name}`" in from_code.motion_names() for name in ("mean_fd", "qc_mot_rel"))
    assert all(name in from_code.formats() for name in ("QSIRecon", "DSI Studio", "zarr stack"))
    assert f"version = {{{version('stillome')}}}" in from_code.citation()


def test_there_are_eight_tutorials_and_the_guide_shows_their_pictures():
    scripts = sorted(path.stem for path in (HOUSE / "examples").glob("*.py"))
    assert [name[:2] for name in scripts] == [f"{i}_" for i in range(1, 9)]
    guide = (HOUSE / "docs" / "guide.md").read_text(encoding="utf-8")
    shown = re.findall(r"images/sphx_glr_(\w+)_\d+\.png", guide)
    assert shown and set(shown) <= set(scripts)


def test_the_oldest_versions_are_those_of_the_lower_bounds():
    noxfile = loaded(HOUSE / "noxfile.py")
    project = tomllib.loads((HOUSE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    with contextlib.chdir(HOUSE):
        pins = dict(pin.split("==") for pin in noxfile.oldest_pins())
    needed = {re.match(r"[\w-]+", need)[0] for need in project["dependencies"]}
    assert needed | {"torch", "zarr", "dask", "combatlearn"} == set(pins)
    assert project["requires-python"] == f">={noxfile.PYTHONS[0]}"


def test_links_and_pictures_are_there():
    roots = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "RELEASING.md")
    for page in (*(HOUSE / name for name in roots), *(HOUSE / "docs").glob("*.md")):
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
            if not target.startswith("http"):
                assert (page.parent / target).exists(), (page.name, target)
    assert (HOUSE / "docs" / "report.png").stat().st_size <= 400_000
