"""The tests with other versions: `nox` runs all sessions, `nox -s oldest` one, `nox -l` lists them.

What stands after ``--`` goes to pytest: ``nox -s tests-3.12 -- tests/io`` runs a part.
"""

import re
import tomllib
from pathlib import Path

import nox

nox.options.default_venv_backend = "venv"
nox.options.error_on_missing_interpreters = False
PYTHONS = ("3.11", "3.12", "3.13")


def run_tests(session: nox.Session, *more: str) -> None:
    session.run("pytest", "-n", "2", "--dist", "worksteal", *more, *session.posargs)


def oldest_pins() -> list[str]:
    """Return the lower bound of every package that stillome or one of its extras needs, as a pin.

    Tools of the tests and of the documentation are not among them: users do not need those.
    """
    project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    needs = [*project["dependencies"]]
    needs += [
        need
        for name, group in extras.items()
        if name not in ("all", "dev", "docs")
        for need in group
    ]
    return [re.sub(r"\[\w+\]|\s", "", need).replace(">=", "==") for need in needs]


@nox.session(python=PYTHONS)
def tests(session: nox.Session) -> None:
    """Run the tests with the pinned versions, and every Python."""
    session.install("-e", ".[all,dev]", "-c", "constraints.txt")
    run_tests(session)


@nox.session(python=PYTHONS[0])
def oldest(session: nox.Session) -> None:
    """Run the tests with the oldest packages that pyproject.toml allows, and the oldest Python."""
    pins = Path(session.create_tmp(), "oldest.txt")
    pins.write_text("\n".join(oldest_pins()) + "\n", encoding="utf-8")
    session.install("-e", ".[all,dev]", "-c", str(pins))
    # Old packages call what newer ones of their own dependencies advise against.
    run_tests(session, "-W", "ignore::DeprecationWarning")


@nox.session(python=PYTHONS[-1])
def newest(session: nox.Session) -> None:
    """Run the tests with the newest packages and the newest Python."""
    session.install("-e", ".[all,dev]")
    run_tests(session)
