"""What a run is asked to do: everything that its results depend on, in one record."""

import os
import shlex
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from keyword import iskeyword
from typing import Any

import numpy as np

from stillome.cohort.confound_choice import check_apart
from stillome.cohort.reference import GivenReference
from stillome.exceptions import FileError, InputError
from stillome.methods.registry import METHODS, RAW
from stillome.run.study_files import StudyFiles

# Field of the settings → option of the command line, where they are not called the same.
_OPTIONS = {
    "confounds": "confound",
    "other_confounds": "confound",
    "baselines": "baseline",
    "form": "format",
    "subjects": "subject",
    "parameters": "set",
    "with_subjects": "with-subjects",
}
NO_BASELINE = "none"


@dataclass(frozen=True, kw_only=True)
class RunSettings(StudyFiles):
    """What a run is asked to do: which files to read, and what to do with them.

    The number of workers is no part of it, since results do not depend on it.

    Parameters
    ----------
    connectomes, motion, traits, labels, lengths, atlas, measure, symmetrize, session, subjects
        As for `StudyFiles`.
    trait : tuple of str
        Columns of `traits` to predict.
    confounds : tuple of str
        Columns of motion to remove; by default the first measure of `CONFOUND_ORDER` that is
        there, under a name in `MOTION_NAMES`. Names that motion does not have are looked for in
        `traits`.
    keep : tuple of str
        Covariates to keep: columns of `traits`, numbers or text (age, sex), whose effect on
        connectomes must stay although it is correlated with motion.
    group : str, optional
        Column of `traits` with families or sites, which are never divided.
    method : str
        A name in `METHODS`.
    parameters : mapping of str to number, text, bool, None or tuples of these
        Parameters of the method; by default its own.
    baselines : tuple of str
        Methods to compare it with, besides the raw connectomes.
    repeats : int
        How often the subjects are divided anew for cross-fitting, by which leakage in subjects the
        model has not seen is measured; 0 measures nothing about them.
    reference : tuple of float, or mapping of str to float or str
        The motion to adjust to, one value for each measure in its unit; 0 stands for all. Or
        values by the name of the confound: ``{"rms_mm": 0.1, "site": "B"}``.
    seed : int
    form : {"relmat", "same"}
        How adjusted connectomes are written.
    truth : tuple of str
        Motion-free connectomes of the same subjects, of a simulation.
    other_confounds : tuple of str
        Columns of `traits` (site, scanner) to remove with motion. Reading the files moves those
        among `confounds` that motion does not have to here.
    with_subjects : bool
        Whether the report shows single subjects: their ids, their rows and some connectomes.

    Raises
    ------
    InputError
        If settings contradict each other, or one of them cannot be used.

    Examples
    --------
    >>> settings = RunSettings(connectomes=("counts",), motion=("motion.tsv",))
    >>> print(command_line(settings, "out"))
    stillome run --connectomes counts --motion motion.tsv --out out
    """

    trait: tuple[str, ...] = ()
    confounds: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    group: str | None = None
    method: str = "inv-fa"
    parameters: Mapping[str, Any] = field(default_factory=dict)
    baselines: tuple[str, ...] = ("edgewise",)
    repeats: int = 2
    reference: GivenReference = (0.0,)
    seed: int = 0
    form: str = "relmat"
    truth: tuple[str, ...] = ()
    other_confounds: tuple[str, ...] = ()
    with_subjects: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in (self.method, *self.baselines):
            if name not in METHODS:
                raise InputError(f"There is no method {name!r}; choose among {', '.join(METHODS)}.")
        # Raw connectomes are compared with in every run.
        others = tuple(name for name in self.baselines if name not in (self.method, RAW))
        object.__setattr__(self, "baselines", others)
        plain = {str(name): plain_value(v, str(name)) for name, v in self.parameters.items()}
        object.__setattr__(self, "parameters", plain)
        self._check_columns()
        self._check_numbers()

    def _check_columns(self) -> None:
        if not self.connectomes or not self.motion:
            raise InputError("A run needs connectomes and motion; name the files of both.")
        columns = bool(self.trait or self.keep or self.group or self.other_confounds)
        if columns and not self.traits:
            raise InputError(
                "A trait, a column to keep or a group was named, but no table of subjects. "
                "Give it with traits=..."
            )
        if self.traits and not columns and not self.confounds:
            raise InputError(
                f"{self.traits[0]}: no column of it was chosen. Name what to predict with trait=..."
            )
        removed = (*self.confounds, *self.other_confounds)
        check_apart(removed, trait=self.trait, keep=self.keep, group=self.group)

    def _check_numbers(self) -> None:
        for name in ("seed", "repeats"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                raise InputError(f"{name}={value!r}; expected a whole number of at least 0.")
        object.__setattr__(self, "reference", _plain_reference(self.reference))
        if self.form not in ("relmat", "same"):
            raise InputError(f"form={self.form!r}; expected 'relmat' or 'same'.")


def _plain_reference(given: GivenReference) -> tuple[float, ...] | dict[str, float | str]:
    if isinstance(given, Mapping):
        return dict(given)
    try:
        numbers = tuple(float(one) for one in given)
    except (TypeError, ValueError) as error:
        raise InputError(f"reference: {given!r}; expected numbers, or values by name.") from error
    if not numbers or not np.isfinite(numbers).all():
        said = ", ".join(map(str, numbers)) or "nothing"
        raise InputError(f"reference: {said}; expected finite numbers.")
    return numbers


def plain_value(value: Any, name: str) -> Any:
    """Return a parameter that JSON can hold, lists as tuples.

    Raises
    ------
    InputError
        If it is anything else.

    Examples
    --------
    >>> plain_value([64, [32, "a"]], "hidden")
    (64, (32, 'a'))
    """
    if isinstance(value, list | tuple):
        return tuple(plain_value(one, name) for one in value)
    if value is None or isinstance(value, str | bool | int | float):
        return value
    raise InputError(
        f"{name}={value!r} is a {type(value).__name__}; expected a number, text, True, False, "
        "None, or a list of these."
    )


def to_json(settings: RunSettings) -> dict[str, Any]:
    """Return settings as plain values, lists instead of tuples."""
    return {name: _listed(value) for name, value in asdict(settings).items()}


def from_json(content: dict[str, Any]) -> RunSettings:
    """Read back what `to_json` gave.

    Raises
    ------
    FileError
        If it was changed by hand, or another version wrote it.

    Examples
    --------
    >>> settings = RunSettings(connectomes=("counts",), motion=("motion.tsv",))
    >>> from_json(to_json(settings)) == settings
    True
    """
    try:
        return RunSettings(**content)
    except (TypeError, ValueError, AttributeError) as error:  # an InputError is a ValueError
        raise FileError(f"run.json: its settings cannot be read ({error}).") from error


def check_same(asked: RunSettings, earlier: RunSettings, place: str) -> None:
    """Refuse to continue a run with other settings than it was begun with.

    Raises
    ------
    InputError
    """
    removed, others = (*asked.confounds, *asked.other_confounds), earlier.other_confounds
    if set(others) <= set(removed):
        named = tuple(name for name in removed if name not in others)
        asked = replace(asked, confounds=named or earlier.confounds, other_confounds=others)
    for one in fields(RunSettings):
        now, before = getattr(asked, one.name), getattr(earlier, one.name)
        if now != before:
            name = "confounds" if one.name == "other_confounds" else one.name
            raise InputError(
                f"{place} was begun with {name}={_shown(before)}, not {_shown(now)}. "
                "Continue with the same settings, or run into a new folder."
            )


def command_line(settings: RunSettings, out: str | os.PathLike[str]) -> str:
    """Return the command that asks for this run; what is left to its default is left out.

    Examples
    --------
    >>> settings = RunSettings(connectomes=("c",), motion=("m.tsv",), parameters={"hidden": 9})
    >>> print(command_line(settings, "out"))
    stillome run --connectomes c --motion m.tsv --set hidden=9 --out out
    """
    words = ["stillome", "run"]
    nothing = RunSettings(connectomes=("c",), motion=("m",))
    for one in fields(RunSettings):
        value = getattr(settings, one.name)
        if value == getattr(nothing, one.name) and one.name not in ("connectomes", "motion"):
            continue
        if one.name == "baselines" and not value:
            value = (NO_BASELINE,)
        if one.name == "parameters":
            value = {name: _quoted(given) for name, given in value.items()}
        option = "--" + _OPTIONS.get(one.name, one.name)
        if value is True:
            words.append(option)
            continue
        for word in _words(value):
            words += [option, word]
    return shlex.join([*words, "--out", os.fspath(out)])


def _words(value: Any) -> list[str]:
    """Return what stands after the option, once for each time that it is repeated."""
    if isinstance(value, Mapping):
        return [f"{name}={_word(one)}" for name, one in value.items()]
    return [_word(one) for one in (value if isinstance(value, tuple) else (value,))]


def _word(value: Any) -> str:
    return repr(value).removesuffix(".0") if isinstance(value, float) else str(value)


def _quoted(value: Any) -> Any:
    """Quote text that would be read back as something else: '5', 'None'."""
    plain = isinstance(value, str) and value.isidentifier() and not iskeyword(value)
    return repr(value) if isinstance(value, str) and not plain else value


def _listed(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _listed(one) for name, one in value.items()}
    return [_listed(one) for one in value] if isinstance(value, tuple) else value


def _shown(value: Any) -> str:
    if isinstance(value, Mapping | tuple):
        return ", ".join(_words(value)) or "(none)"
    return "(none)" if value is None else str(value)
