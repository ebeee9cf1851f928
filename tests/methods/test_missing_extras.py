"""What a user is told who has not installed what a method needs."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from stillome.methods.graph_vae.gate import GATE

# In a Python of its own: torch is loaded already here, and cannot be unloaded.
WITHOUT_TORCH = """
from importlib.machinery import PathFinder
find = PathFinder.find_spec
PathFinder.find_spec = lambda name, *rest: None if name == "torch" else find(name, *rest)
from stillome.exceptions import MissingExtraError, StillomeError
try:
    {code}
except ImportError as error:
    assert isinstance(error, MissingExtraError) and isinstance(error, StillomeError)
    print(error)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    model = GATE(2, hidden=(4,), n_dimensions=2, n_neighbors=2, max_epochs=1)
    with pytest.warns(UserWarning, match="collapsed"):
        model.fit(np.random.default_rng(0).poisson(5.0, (20, 6)))
    return model.save(tmp_path_factory.mktemp("kept") / "model")


def said_by(code: str) -> str:
    command = [sys.executable, "-c", WITHOUT_TORCH.format(code=code)]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
    return answer.stdout.strip()


@pytest.mark.parametrize(
    "code",
    [
        "from stillome import METHODS; METHODS['gate']",
        "from stillome.methods import make_method; make_method('inv-vae')",
        "from stillome import InvVAE",
        "from stillome.methods.storage import load_model; load_model({folder!r})",
    ],
)
def test_a_network_without_torch_is_one_sentence(code: str, folder: Path) -> None:
    said = said_by(code.replace("{folder!r}", repr(str(folder))))
    assert said == (
        "The network of inv-vae and gate needs torch, which is not installed. "
        "Install it with: pip install 'stillome[vae]' (see docs/install.md)"
    )


def test_the_default_method_needs_no_torch() -> None:
    code = "from stillome import InvFA, METHODS; assert len(METHODS) == 13; InvFA()"
    assert said_by(code) == ""
