"""The rules of the house are enforced, not only described."""

import ast
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from importlib.metadata import version
from pathlib import Path

import pytest

HOUSE = Path(__file__).parents[1]
PACKAGE = HOUSE / "src" / "stillome"
LONGEST_FILE, USUAL_FILE, USUAL_SHARE = 350, 300, 0.95  # lines, lines, share of the files
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
        ("counts/workers.py", "import distributed", "Dask lives"),
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


def test_a_file_name_means_one_thing_in_the_house():
    names = Counter(path.name for path in PACKAGE.rglob("*.py") if path.name != "__init__.py")
    assert [name for name, times in names.items() if times > 1] == []


def test_files_are_short():
    lines = {path: len(path.read_text().splitlines()) for path in PACKAGE.rglob("*.py")}
    assert {str(path): n for path, n in lines.items() if n > LONGEST_FILE} == {}
    assert sum(n < USUAL_FILE for n in lines.values()) >= USUAL_SHARE * len(lines)


def options_in_messages(code):
    """Return the options of the command line that the errors and warnings of some code name."""
    found = []
    for node in ast.walk(ast.parse(code)):
        is_warning = isinstance(node, ast.Call) and ast.unparse(node.func).endswith("warn")
        if is_warning or isinstance(node, ast.Raise):
            texts = (part.value for part in ast.walk(node) if isinstance(part, ast.Constant))
            texts = (text for text in texts if isinstance(text, str))
            found += [
                option for text in texts for option in re.findall(r"(?<!\S)--[a-z][-\w]*", text)
            ]
    return found


def test_options_in_messages_are_found():
    broken = 'raise InputError(f"{path}: no column {name!r}; " "choose with --confound.")'
    assert options_in_messages(broken) == ["--confound"]
    assert options_in_messages('warnings.warn("Use --jobs 1.", stacklevel=2)') == ["--jobs"]
    assert options_in_messages('words = ["--jobs"]; raise InputError("Give jobs=1 -- or 2.")') == []


def test_messages_of_the_library_speak_of_parameters_and_not_of_options():
    library = [path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py")]
    found = {
        str(path): options
        for path in library
        if path.parts[0] != "cli" and (options := options_in_messages((PACKAGE / path).read_text()))
    }
    assert found == {}


def test_the_readme_commands_are_targets_of_the_makefile():
    targets = set(re.findall(r"^([a-z]+):", (HOUSE / "Makefile").read_text(), flags=re.M))
    told = set(re.findall(r"\bmake ([a-z]+)", (HOUSE / "README.md").read_text()))
    assert {"demo", "test", "docs"} <= told <= targets


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
    assert {"make test", "make smoke", "  make docs", "set -euo pipefail"} <= set(lines)
    assert os.access(HOUSE / ".ci" / "smoke", os.X_OK)


def test_everything_the_package_needs_is_pinned():
    lines = (HOUSE / "constraints.txt").read_text().splitlines()
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+( ; .+)?", line) for line in lines)
    pinned = {line.split("==")[0].lower().replace("_", "-") for line in lines}
    project = tomllib.loads((HOUSE / "pyproject.toml").read_text())["project"]
    groups = [project["dependencies"], *project["optional-dependencies"].values()]
    names = {re.match(r"[\w-]+", need)[0].lower() for group in groups for need in group}
    assert names - {"stillome"} <= pinned


def test_a_bare_install_brings_nothing_that_only_some_methods_need():
    project = tomllib.loads((HOUSE / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    needed = {re.match(r"[\w-]+", need)[0] for need in project["dependencies"]}
    assert not needed & {"torch", "nilearn", "pycirclize", "combatlearn", "dask", "zarr"}
    assert extras["vae"][0].startswith("torch")
    told = set(re.findall(r"stillome\[(\w+)\]", (HOUSE / "docs" / "install.md").read_text()))
    assert told == set(extras) - {"dev", "docs"}
    assert extras["all"] == [
        f"stillome[{','.join(name for name in extras if name not in ('all', 'dev', 'docs'))}]"
    ]


def test_the_version_is_the_same_everywhere():
    told = tomllib.loads((HOUSE / "pyproject.toml").read_text())["project"]["version"]
    citation = (HOUSE / "CITATION.cff").read_text()
    assert re.findall(r"^version: (.+)$", citation, flags=re.M) == [told]
    changes = re.findall(r"^## \[(.+?)\]", (HOUSE / "CHANGELOG.md").read_text(), flags=re.M)
    assert changes[0] in ("Unreleased", told)
    assert all(release == told for release in changes[1:2])
    assert version("stillome") == told


def test_the_picture_of_the_rooms_is_current():
    layers = tomllib.loads((HOUSE / "pyproject.toml").read_text())["tool"]["importlinter"]
    picture = re.sub(r"<[^>]+>", " ", (HOUSE / "docs" / "data-flow.svg").read_text())
    drawn = re.search(r"Imports only point down:(.*)", picture, flags=re.S)[1]
    rows = [row.split() for row in drawn.replace("|", " ").split("›")]
    assert rows == [layer.replace("|", " ").split() for layer in layers["contracts"][0]["layers"]]


def test_the_package_says_it_is_typed_and_how_to_cite_it():
    assert (HOUSE / "src" / "stillome" / "py.typed").exists()
    citation = (HOUSE / "CITATION.cff").read_text()
    assert "Motion-Invariant Variational Auto-Encoding of Brain Structural Connectomes" in citation
