"""The names of `stillome` itself: all there, and none loaded before it is asked for."""

import subprocess
import sys

import pytest

import stillome

SLOW = ("numpy", "pandas", "scipy", "sklearn", "torch", "matplotlib", "h5py", "nibabel", "jinja2")


def loaded_after(code):
    """Return which of the slow libraries a fresh Python has loaded after some code."""
    code += f"\nimport sys\nprint(*(set(sys.modules) & set({SLOW})))"
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    return set(answer.stdout.splitlines()[-1].split())


@pytest.mark.parametrize("name", [*stillome.__all__, "InvVAE"])
def test_every_public_name_is_found_and_is_itself(name):
    value = getattr(stillome, name)
    assert getattr(value, "__name__", name) == name
    assert name in dir(stillome)


def test_star_import_gives_the_public_names():
    names = {}
    exec("from stillome import *", names)
    assert set(stillome.__all__) <= set(names)


NO_TORCH = """
import sys
class NoTorch:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "torch":
            raise ModuleNotFoundError("No module named 'torch'", name="torch")
sys.meta_path.insert(0, NoTorch())
"""


def test_star_import_needs_no_torch():
    assert "torch" not in loaded_after(f"{NO_TORCH}\nfrom stillome import *\nInvFA, METHODS")


def test_a_name_that_is_not_there_is_an_ordinary_mistake():
    with pytest.raises(AttributeError, match="no attribute 'Kohort'"):
        stillome.Kohort  # noqa: B018
    with pytest.raises(ImportError):
        exec("from stillome import Kohort")


def test_the_help_waits_for_no_library():
    code = (
        "from stillome.cli import main\n"
        "from stillome.cli.app import VERBS\n"
        "main(['--help'])\n"
        "for verb in VERBS: main([verb.__name__, '--help'])"
    )
    assert loaded_after(code) == set()
    assert "numpy" in loaded_after("from stillome import Cohort")


def test_the_default_method_loads_only_what_it_needs():
    code = "from stillome import InvFA, METHODS\nlist(METHODS)"
    assert loaded_after(code) == {"numpy", "pandas", "scipy", "sklearn"}
