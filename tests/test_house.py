"""The rules of the house are enforced, not only described."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

HOUSE = Path(__file__).parents[1]
BIN = Path(sys.executable).parent


def run(*command, cwd=HOUSE, **environment):
    return subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def small_house(tmp_path_factory):
    """A house with the real rules and the real room names, but nothing in the rooms."""
    house = tmp_path_factory.mktemp("house")
    shutil.copy(HOUSE / "pyproject.toml", house)
    package = house / "src" / "stillome"
    for source in (HOUSE / "src" / "stillome").rglob("*.py"):
        copy = package / source.relative_to(HOUSE / "src" / "stillome")
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.touch()
    return house


def lint_imports(house):
    return run(
        BIN / "lint-imports", "--no-cache", cwd=house, PYTHONPATH=str(house / "src"), COLUMNS="200"
    )


def test_the_empty_house_keeps_the_rules(small_house):
    result = lint_imports(small_house)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize(
    ("room", "line", "broken"),
    [
        ("counts/tails.py", "import stillome.cohort.cohort", "Each room"),
        ("cohort/edges.py", "from stillome.evaluate import motion_effects", "Each room"),
        ("evaluate/motion_effects.py", "import stillome.plot.style", "Each room"),
        ("persistence.py", "import stillome.cohort.validation", "Each room"),
        ("attic.py", "", "Each room"),
        ("evaluate/motion_effects.py", "import torch.nn", "torch lives"),
        ("cli/demo.py", "def late():\n    import torch", "torch lives"),
        ("cohort/edges.py", "import matplotlib.pyplot", "Drawing lives"),
        ("evaluate/motion_effects.py", "import tqdm", "Only the command line"),
    ],
)
def test_a_broken_rule_is_caught(small_house, room, line, broken):
    path = small_house / "src" / "stillome" / room
    existed = path.exists()
    path.write_text(line + "\n")
    try:
        result = lint_imports(small_house)
    finally:
        path.write_text("") if existed else path.unlink()
    assert result.returncode == 1, result.stdout + result.stderr
    assert re.search(rf"{broken}.* BROKEN", result.stdout)


def test_print_outside_the_command_line_is_caught():
    code = 'print("a word")\n'
    for place, expected in (("cohort/edges.py", 1), ("cli/demo.py", 0)):
        result = subprocess.run(
            [BIN / "ruff", "check", "--select", "T20", "--stdin-filename", f"src/stillome/{place}"],
            input=code,
            cwd=HOUSE,
            capture_output=True,
            text=True,
            check=False,
        )
        assert result.returncode == expected, result.stdout + result.stderr


def test_the_readme_commands_are_targets_of_the_makefile():
    targets = set(re.findall(r"^([a-z]+):", (HOUSE / "Makefile").read_text(), flags=re.M))
    told = set(re.findall(r"\bmake ([a-z]+)", (HOUSE / "README.md").read_text()))
    assert {"demo", "test"} <= told <= targets


def test_the_verbs_of_the_readme_exist():
    told = set(re.findall(r"^(?:\$ )?stillome ([a-z]+)", (HOUSE / "README.md").read_text(), re.M))
    answer = run(BIN / "stillome", "--help").stdout
    assert told
    assert all(re.search(rf"^\s+{verb}\b", answer, flags=re.M) for verb in told)


def test_the_python_examples_of_the_readme_run(tmp_path):
    blocks = re.findall(r"```python\n(.*?)```", (HOUSE / "README.md").read_text(), flags=re.S)
    assert blocks
    result = run(sys.executable, "-W", "error", "-c", "\n".join(blocks), cwd=tmp_path)
    assert result.returncode == 0, result.stderr


def test_continuous_integration_runs_the_command_of_the_readme():
    script = HOUSE / ".ci" / "run"
    assert os.access(script, os.X_OK)
    lines = script.read_text().splitlines()
    assert "make test" in lines and "set -euo pipefail" in lines


def test_everything_the_package_needs_is_pinned():
    lines = (HOUSE / "constraints.txt").read_text().split()
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+", line) for line in lines)
    pinned = {line.split("==")[0].lower().replace("_", "-") for line in lines}
    project = tomllib.loads((HOUSE / "pyproject.toml").read_text())["project"]
    groups = [project["dependencies"], *project["optional-dependencies"].values()]
    names = {re.match(r"[\w-]+", need)[0].lower() for group in groups for need in group}
    assert names <= pinned


def test_the_package_says_it_is_typed_and_how_to_cite_it():
    assert (HOUSE / "src" / "stillome" / "py.typed").exists()
    citation = (HOUSE / "CITATION.cff").read_text()
    assert "Motion-Invariant Variational Auto-Encoding of Brain Structural Connectomes" in citation
