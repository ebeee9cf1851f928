"""What a run is asked to do: everything that its results depend on, in one record."""

import os
import shlex
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

import numpy as np

from stillome.exceptions import FileError, InputError
from stillome.methods.registry import METHODS
from stillome.run.removed import check_apart

# Field of the settings → option of the command line, where they are not called the same.
_OPTIONS = {
    "confounds": "confound",
    "other_confounds": "confound",
    "baselines": "baseline",
    "form": "format",
    "subjects": "subject",
}
_SEVERAL = (
    *("connectomes", "motion", "traits", "trait", "confounds", "keep", "baselines"),
    *("subjects", "truth", "other_confounds"),
)
NO_BASELINE = "none"


@dataclass(frozen=True)
class RunSettings:
    """What `stillome run` is asked to do; the number of workers is no part of it.

    Parameters
    ----------
    connectomes, motion : tuple of str
        Files, folders or patterns, as for `read_connectomes` and `read_motion`.
    traits : tuple of str
        Tables of subjects, as for `read_traits`.
    trait : tuple of str
        Columns of them to predict.
    confounds : tuple of str
        Columns of motion to remove; by default the first measure of `CONFOUND_ORDER` that is
        there. Names that motion does not have are looked for in `traits`.
    keep : tuple of str
        Columns of `traits` (age, sex) that go with motion and must not be removed with it.
    group : str, optional
        Column of `traits` with families or sites, which are never divided.
    method : str
        A name in `METHODS`.
    baselines : tuple of str
        Methods to compare it with.
    reference : tuple of float or str
        The motion to adjust to, one value for each measure in its unit; 0 stands for all. Or
        words that name confounds: "rms_mm=0.1", "site=B".
    invariance_weight : float or "auto", optional
        As for `InvFA`; by default the method's own.
    seed : int
    form : {"relmat", "same"}
        How adjusted connectomes are written.
    labels, lengths, atlas, measure, symmetrize, session : str, optional
        As for `read_cohort`.
    subjects : tuple of str
        Ids of those wanted; by default everybody.
    truth : tuple of str
        Motion-free connectomes of the same subjects, of a simulation.
    other_confounds : tuple of str
        Columns of `traits` (site, scanner) to remove with motion; those among `confounds` that
        motion does not have come to stand here.

    Raises
    ------
    InputError
        If something cannot be meant.

    Examples
    --------
    >>> settings = RunSettings(connectomes=("counts",), motion=("motion.tsv",))
    >>> print(command_line(settings, "out"))
    stillome run --connectomes counts --motion motion.tsv --out out
    """

    connectomes: tuple[str, ...]
    motion: tuple[str, ...]
    traits: tuple[str, ...] = ()
    trait: tuple[str, ...] = ()
    confounds: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    group: str | None = None
    method: str = "inv-fa"
    baselines: tuple[str, ...] = ("edgewise",)
    reference: tuple[float | str, ...] = (0.0,)
    invariance_weight: float | str | None = None
    seed: int = 0
    form: str = "relmat"
    labels: str | None = None
    lengths: str | None = None
    atlas: str | None = None
    measure: str | None = None
    symmetrize: str | None = None
    session: str | None = None
    subjects: tuple[str, ...] = ()
    truth: tuple[str, ...] = ()
    other_confounds: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in _SEVERAL:
            values = tuple(os.fspath(value) for value in getattr(self, name))
            object.__setattr__(self, name, tuple(dict.fromkeys(values)))
        for name in (self.method, *self.baselines):
            if name not in METHODS:
                raise InputError(f"There is no method {name!r}; choose among {', '.join(METHODS)}.")
        others = tuple(name for name in self.baselines if name != self.method)
        object.__setattr__(self, "baselines", others)
        self._check_columns()
        self._check_numbers()

    def _check_columns(self) -> None:
        if not self.connectomes or not self.motion:
            raise InputError("A run needs connectomes and motion; name the files of both.")
        columns = bool(self.trait or self.keep or self.group or self.other_confounds)
        if columns and not self.traits:
            raise InputError(
                "A trait, a column to keep or a group was named, but no table of subjects. "
                "Give it with --traits."
            )
        if self.traits and not columns and not self.confounds:
            raise InputError(
                f"{self.traits[0]}: no column of it was chosen. Name what to predict with --trait."
            )
        twice = set(self.trait) & set(self.keep)
        if twice:
            raise InputError(f"{twice.pop()!r} cannot be both predicted and kept; choose one.")
        removed = (*self.confounds, *self.other_confounds)
        check_apart(removed, trait=self.trait, keep=self.keep, group=self.group)

    def _check_numbers(self) -> None:
        if isinstance(self.seed, bool) or not isinstance(self.seed, int) or self.seed < 0:
            raise InputError(f"seed={self.seed!r}; expected a whole number of at least 0.")
        numbers = [one for one in self.reference if not isinstance(one, str)]
        if not self.reference or not np.isfinite(numbers).all():
            raise InputError(f"reference={self.reference!r}; expected finite numbers.")
        weight = self.invariance_weight
        known = weight is None or weight == "auto"
        if not known and not (isinstance(weight, float | int) and 0 <= weight <= 1):
            raise InputError(f"invariance_weight={weight!r}; expected 0 to 1, or 'auto'.")
        if self.form not in ("relmat", "same"):
            raise InputError(f"format={self.form!r}; expected 'relmat' or 'same'.")


def to_json(settings: RunSettings) -> dict[str, Any]:
    """Return settings as plain values, lists instead of tuples."""
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in asdict(settings).items()
    }


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
    values: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in content.items()
    }
    try:
        return RunSettings(**values)
    except (TypeError, InputError) as error:
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
    for field in fields(RunSettings):
        now, before = getattr(asked, field.name), getattr(earlier, field.name)
        if now != before:
            raise InputError(
                f"{place} was begun with {option_of(field.name)} {_shown(before)}, not "
                f"{_shown(now)}. Continue with the same settings, or run into a new folder."
            )


def command_line(settings: RunSettings, out: str | os.PathLike[str]) -> str:
    """Return the command that asks for this run; what is left to its default is left out."""
    words = ["stillome", "run"]
    for field in fields(RunSettings):
        value = getattr(settings, field.name)
        if value == field.default:
            continue
        if field.name == "baselines" and not value:
            value = (NO_BASELINE,)
        for single in value if isinstance(value, tuple) else (value,):
            words += [option_of(field.name), f"{single:g}" if isinstance(single, float) else single]
    return shlex.join([str(word) for word in (*words, "--out", os.fspath(out))])


def option_of(name: str) -> str:
    """Return the option of a setting.

    Examples
    --------
    >>> option_of("confounds"), option_of("invariance_weight")
    ('--confound', '--invariance-weight')
    """
    return "--" + _OPTIONS.get(name, name).replace("_", "-")


def _shown(value: Any) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or "(none)"
    return "(none)" if value is None else str(value)
