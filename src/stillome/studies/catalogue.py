"""The studies that `stillome reproduce` knows, and what each needs to be installed.

Importing this file imports no study: a name that does not exist, or a package that is missing, is
said before anything heavy is loaded.
"""

from collections.abc import Iterable
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from stillome.exceptions import InputError, require_extra

if TYPE_CHECKING:
    from stillome.studies.study import (
        Study,
    )

EVERYTHING = "all"
_EXTRAS = {"torch": "vae", "combatlearn": "combat"}


class Entry(NamedTuple):
    """A module of `stillome.studies`, and the optional packages that its methods need."""

    module: str
    packages: tuple[str, ...] = ("torch",)


STUDIES = {
    "section4": Entry("section4"),
    "motion_effects": Entry("section2", packages=()),
    "motion_adjustment": Entry("motion_adjustment"),
    "traits": Entry("traits", packages=("torch", "combatlearn")),
    "outliers": Entry("outliers", packages=()),
    "breakdown": Entry("breakdown"),
    "synthetic_release": Entry("synthetic_release"),
}


def chosen_studies(name: str) -> tuple[str, ...]:
    """Return the studies meant by one name, or by ``all``.

    Raises
    ------
    InputError
        If there is no such study.

    Examples
    --------
    >>> chosen_studies("traits")
    ('traits',)
    >>> len(chosen_studies("all"))
    7
    """
    if name == EVERYTHING:
        return tuple(STUDIES)
    if name not in STUDIES:
        known = ", ".join(STUDIES)
        raise InputError(f"There is no study {name!r}; choose among {known}, or {EVERYTHING}.")
    return (name,)


def check_installed(names: Iterable[str]) -> None:
    """Check that the optional packages of these studies are installed.

    Raises
    ------
    MissingExtraError
        With the command that installs the first one that is missing.
    """
    for name in names:
        for package in STUDIES[name].packages:
            require_extra(package, _EXTRAS[package], f"The study {name}")


def load_study(name: str) -> "Study":
    """Import a study, and return the function that runs it."""
    study: Study = import_module(f"stillome.studies.{STUDIES[name].module}").run
    return study
