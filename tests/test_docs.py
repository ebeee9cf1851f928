"""Every command in README and docs runs, on small cohorts; what is told is there."""

import contextlib
import doctest
import re
import shlex
import sys
from dataclasses import replace
from functools import partial
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


def test_links_and_pictures_are_there():
    for page in (HOUSE / "README.md", HOUSE / "CHANGELOG.md", *(HOUSE / "docs").glob("*.md")):
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
            if not target.startswith("http"):
                assert (page.parent / target).exists(), (page.name, target)
    assert (HOUSE / "docs" / "report.png").stat().st_size <= 400_000
